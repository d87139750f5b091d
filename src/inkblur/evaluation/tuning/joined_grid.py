"""Settings together with the metric they run in: plain word vectors, or joined with profiles.

The joined vectors are `[alpha x vector ; beta x profile]` (:mod:`inkblur.adaptation.adapt`). Alpha
and beta twice as large with half the epsilon are the same release, for every vector mechanism: the
distances double and what a unit of distance costs halves. So beta is fixed, and a grid of alpha and
epsilon holds every choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inkblur.adaptation.adapt import adapt_embedding, usual_alpha
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.tuning.four_way_split import Parts
from inkblur.spec import ReleaseSpec
from inkblur.types import positive

BETA = 3.0  # the weight of profiles; see above
_JOINED = ("alpha", "beta", "smoothing")  # keys of a candidate besides its spec's
SMOOTHING = 10.0  # texts for each label that every word is given in advance


@dataclass(frozen=True, slots=True)
class Joining:
    """How word vectors are joined with label profiles, beta being 3."""

    alpha: float  # weight of the word vectors, above 0
    smoothing: float  # texts for each label, above 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A release and its metric."""

    setting: ReleaseSpec
    joining: Joining | None = None  # None: the word vectors as they are

    @property
    def name(self) -> str:
        """A short name of what was set.

        >>> Candidate(ReleaseSpec("laplace", 8.0), Joining(0.1, 10.0)).name
        'laplace, epsilon 8, alpha 0.1, smoothing 10'
        """
        if self.joining is None:
            return self.setting.name
        joined = f"alpha {self.joining.alpha:g}, smoothing {self.joining.smoothing:g}"
        return f"{self.setting.name}, {joined}"

    @property
    def family(self) -> str:
        """The name without epsilon: what a line of a plot joins."""
        parts = self.name.split(", ")
        return ", ".join(part for part in parts if not part.startswith("epsilon "))

    def to_json(self) -> dict[str, Any]:
        """What was set; :meth:`from_json` reads it back."""
        if self.joining is None:
            return self.setting.to_json()
        joined = {"alpha": self.joining.alpha, "beta": BETA, "smoothing": self.joining.smoothing}
        return {**self.setting.to_json(), **joined}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Candidate:
        """The candidate that :meth:`to_json` wrote."""
        joined = Joining(body["alpha"], body["smoothing"]) if "alpha" in body else None
        own = {name: value for name, value in body.items() if name not in _JOINED}
        return cls(ReleaseSpec.from_json(own), joined)


def joined_grid(
    settings: Sequence[ReleaseSpec],
    base: Embedding,
    *,
    alphas: Sequence[float] = (),
    smoothings: Sequence[float] = (),
) -> tuple[Candidate, ...]:
    """Every setting in every metric; in the plain one where neither alpha nor smoothing is given.

    Smoothings alone take the alpha that :func:`adapt_embedding` takes, rounded to three digits so
    that it can be typed; alphas alone take a smoothing of 10.
    """
    if not alphas and not smoothings:
        return tuple(Candidate(setting) for setting in settings)
    joinings = [
        Joining(positive(alpha, "alpha"), positive(smoothing, "smoothing"))
        for alpha in alphas or [float(f"{usual_alpha(base):.3g}")]
        for smoothing in smoothings or [SMOOTHING]
    ]
    if len(set(joinings)) != len(joinings):
        raise ParameterError("the grid names an alpha or a smoothing twice")
    return tuple(Candidate(setting, joining) for joining in joinings for setting in settings)


class Metrics:
    """The embedding of each joining, learned from the part that teaches; the last one is kept."""

    def __init__(self, base: Embedding, parts: Parts) -> None:
        self._base, self._parts = base, parts
        self._kept: tuple[Joining, Embedding] | None = None

    def of(self, joining: Joining | None) -> Embedding:
        """The embedding to release with."""
        if joining is None:
            return self._base
        if self._kept is None or self._kept[0] != joining:
            self._kept = None  # free the memory before the next one takes as much
            adapted = adapt_embedding(
                self._base,
                self._parts.taught,
                {"label": self._parts.taught_labels},
                alpha=joining.alpha,
                beta=BETA,
                smoothing=joining.smoothing,
            )
            self._kept = joining, adapted
        return self._kept[1]
