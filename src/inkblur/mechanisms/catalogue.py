"""The catalogue: a name, what it promises in one line, and how it is made.

Adding a mechanism to the command line, the laws and the experiments takes one entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.perturbation import ComponentLaplace, Laplace, Mahalanobis
from inkblur.types import Metric


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism of the catalogue."""

    name: str
    metric: Metric
    promise: str  # one line for `inkblur mechanisms`
    source: str  # where it is described
    make: Callable[..., WordMechanism]  # make(embedding, epsilon=..., **options)
    options: tuple[str, ...] = ()  # keyword options beyond epsilon
    raced: tuple[Mapping[str, Any], ...] = ({},)  # the options it takes part in experiments with

    @property
    def private(self) -> bool:
        """Whether it proves anything."""
        return self.metric is not Metric.NONE


CATALOGUE: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mahalanobis",
            Metric.MAHALANOBIS,
            "epsilon x regularised Mahalanobis distance; noise shaped like the vocabulary",
            "Mahalanobis paper, Algorithm 2",
            Mahalanobis,
            ("lam",),
            ({"lam": 0.5}, {"lam": 1.0}),
        ),
        Entry(
            "laplace",
            Metric.EUCLIDEAN,
            "epsilon x Euclidean distance; the same noise in every direction",
            "Earth Mover's paper, Algorithm 2",
            Laplace,
        ),
        Entry(
            "component-laplace",
            Metric.MANHATTAN,
            "epsilon x Manhattan distance; noise of scale 1/epsilon on each component",
            "thesis, Algorithm 2",
            ComponentLaplace,
        ),
        Entry(
            "exponential",
            Metric.DISCRETE,
            "at most epsilon between any two words; weights the whole vocabulary by similarity",
            "SynTF, Algorithm 1 and section 3.4",
            Exponential,
            ("bigram", "bounding"),
        ),
        Entry(
            "angular-laplace",
            Metric.NONE,
            "no guarantee; runs only when that is accepted explicitly",
            "thesis, Algorithm 1",
            AngularLaplace,
            ("accept_no_guarantee",),
            ({"accept_no_guarantee": True},),
        ),
    )
}


def make_mechanism(
    name: str, embedding: Embedding, *, epsilon: float, **options: Any
) -> WordMechanism:
    """A mechanism by its catalogue name; options it does not have are refused.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> make_mechanism("laplace", table, epsilon=2.0)
    Laplace(Embedding('toy', 2 words x 2), epsilon=2.0)
    """
    entry = find(name)
    for option in options:
        if option not in entry.options:
            raise ParameterError(f"{name} has no option {option}; it takes {_listed(entry)}")
    return entry.make(embedding, epsilon=epsilon, **options)


def find(name: str) -> Entry:
    """The catalogue's entry of this name, or an error that lists the names."""
    if name not in CATALOGUE:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _listed(entry: Entry) -> str:
    return ", ".join(("epsilon", *entry.options))
