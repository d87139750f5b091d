"""Settings together with the word vectors they run on: as they are, or adapted to labels.

The adapted vectors are `[alpha x vector ; beta x profile]` (:mod:`inkblur.adaptation.adapt`). Alpha
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
from inkblur.evaluation.tuning.four_way_split import FourWaySplit
from inkblur.spec import ReleaseSpec
from inkblur.types import positive

BETA = 3.0  # the weight of profiles; see above
_ADAPTED = ("alpha", "beta", "smoothing")  # keys of a candidate besides its spec's
SMOOTHING = 10.0  # texts for each label that every word is given in advance


@dataclass(frozen=True, slots=True)
class AdaptedBy:
    """How word vectors are adapted to labels, beta being 3."""

    alpha: float  # weight of the word vectors, above 0
    smoothing: float  # texts for each label, above 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A release and its metric."""

    setting: ReleaseSpec
    adapted: AdaptedBy | None = None  # None: the word vectors as they are

    @property
    def name(self) -> str:
        """A short name of what was set.

        >>> Candidate(ReleaseSpec("laplace", 8.0), AdaptedBy(0.1, 10.0)).name
        'laplace, epsilon 8, alpha 0.1, smoothing 10'
        """
        if self.adapted is None:
            return self.setting.name
        kind = f"alpha {self.adapted.alpha:g}, smoothing {self.adapted.smoothing:g}"
        return f"{self.setting.name}, {kind}"

    def to_json(self) -> dict[str, Any]:
        """What was set; :meth:`from_json` reads it back."""
        if self.adapted is None:
            return self.setting.to_json()
        kind = {"alpha": self.adapted.alpha, "beta": BETA, "smoothing": self.adapted.smoothing}
        return {**self.setting.to_json(), **kind}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Candidate:
        """The candidate that :meth:`to_json` wrote."""
        kind = AdaptedBy(body["alpha"], body["smoothing"]) if "alpha" in body else None
        own = {name: value for name, value in body.items() if name not in _ADAPTED}
        return cls(ReleaseSpec.from_json(own), kind)


def adapted_grid(
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
    kinds = [
        AdaptedBy(positive(alpha, "alpha"), positive(smoothing, "smoothing"))
        for alpha in alphas or [float(f"{usual_alpha(base):.3g}")]
        for smoothing in smoothings or [SMOOTHING]
    ]
    if len(set(kinds)) != len(kinds):
        raise ParameterError("the grid names an alpha or a smoothing twice")
    return tuple(Candidate(setting, adapted) for adapted in kinds for setting in settings)


class Metrics:
    """The embedding of each adaptation, learned from the teaching part; the last one is kept."""

    def __init__(self, base: Embedding, parts: FourWaySplit) -> None:
        self._base, self._parts = base, parts
        self.taught = len(parts.taught)
        self._kept: tuple[AdaptedBy, Embedding] | None = None

    def of(self, adapted_by: AdaptedBy | None) -> Embedding:
        """The embedding to release with."""
        if adapted_by is None:
            return self._base
        if self._kept is None or self._kept[0] != adapted_by:
            self._kept = None  # free the memory before the next one takes as much
            adapted = adapt_embedding(
                self._base,
                self._parts.taught,
                {"label": self._parts.taught_labels},
                alpha=adapted_by.alpha,
                beta=BETA,
                smoothing=adapted_by.smoothing,
            )
            self._kept = adapted_by, adapted
        return self._kept[1]
