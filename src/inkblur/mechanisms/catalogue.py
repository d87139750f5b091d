"""The catalogue: a name, what it promises in one line, its parameters, and how it is made.

One entry here gives a mechanism its command-line options, its laws and its place in experiments.
Entries name their class and import it when one is made, so that reading the catalogue is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from inkblur.errors import ParameterError
from inkblur.mechanisms.parameters import LAMBDA, Parameter, Value
from inkblur.types import Bounding, Metric

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.mechanisms.base import WordMechanism


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism of the catalogue."""

    name: str
    metric: Metric
    promise: str  # one line for `inkblur mechanisms`
    source: str  # where it is described
    maker: str | Callable[..., WordMechanism]  # a class, or where it is: "module:Class"
    parameters: tuple[Parameter, ...] = ()  # keywords beyond epsilon

    @property
    def make(self) -> Callable[..., WordMechanism]:
        """Makes one: `make(embedding, epsilon=..., **parameters)`. Imports its module.

        >>> find("laplace").make.__name__
        'Laplace'
        """
        return resolve_name(self.maker) if isinstance(self.maker, str) else self.maker

    @property
    def private(self) -> bool:
        """Whether it proves anything."""
        return self.metric is not Metric.NONE

    def has(self, parameter: str) -> bool:
        """Whether it has a parameter of this name."""
        return any(known.name == parameter for known in self.parameters)

    def complete(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """A checked value for every parameter: the given ones, defaults for the rest.

        >>> find("mahalanobis").complete({})
        {'lam': 0.5}
        """
        for name in given:
            if not self.has(name):
                known = ", ".join(("epsilon", *(p.name for p in self.parameters)))
                raise ParameterError(f"{self.name} has no parameter {name}; it takes {known}")
        return {p.name: p.checked(given.get(p.name, p.default)) for p in self.parameters}

    def distinguishing(self, given: Mapping[str, Any]) -> list[tuple[Parameter, Value]]:
        """The parameters that tell two releases apart: principal ones, and what is not default."""
        values = self.complete(given)
        return [
            (p, values[p.name])
            for p in self.parameters
            if not p.consent and (p.principal or values[p.name] != p.default)
        ]

    def key(self, given: Mapping[str, Any]) -> str:
        """The mechanism and its parameters in one line: how stored strengths are found.

        >>> find("mahalanobis").key({})
        'mahalanobis lam=0.5'
        """
        named = sorted((p.name, value) for p, value in self.distinguishing(given))
        return " ".join([self.name, *(f"{name}={value}" for name, value in named)])

    def variants(self) -> list[dict[str, Value]]:
        """Every combination of the values that the parameters are tried with."""
        values = [p.tried or (p.default,) for p in self.parameters]
        names = [p.name for p in self.parameters]
        return [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]


CATALOGUE: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mahalanobis",
            Metric.MAHALANOBIS,
            "epsilon x regularized Mahalanobis distance; noise shaped like the vocabulary",
            "Mahalanobis paper, Algorithm 2",
            "inkblur.mechanisms.perturbation:Mahalanobis",
            (
                Parameter(
                    "lam",
                    LAMBDA,
                    "Shape of the noise: 0 is round, 1 follows the vocabulary.",
                    label="lambda",
                    low=0.0,
                    high=1.0,
                    tried=(0.0, LAMBDA, 1.0),
                    principal=True,
                ),
            ),
        ),
        Entry(
            "laplace",
            Metric.EUCLIDEAN,
            "epsilon x Euclidean distance; the same noise in every direction",
            "Earth Mover's paper, Algorithm 2",
            "inkblur.mechanisms.perturbation:Laplace",
        ),
        Entry(
            "component-laplace",
            Metric.MANHATTAN,
            "epsilon x Manhattan distance; noise of scale 1/epsilon on each component",
            "thesis, Algorithm 2",
            "inkblur.mechanisms.perturbation:ComponentLaplace",
        ),
        Entry(
            "exponential",
            Metric.DISCRETE,
            "at most epsilon between any two words; weights the whole vocabulary by similarity",
            "SynTF, Algorithm 1 and section 3.4",
            "inkblur.mechanisms.exponential:Exponential",
            (
                Parameter(
                    "bigram",
                    0.0,
                    "How strongly replacements with a similar spelling are avoided, from 0 to 1.",
                    low=0.0,
                    high=1.0,
                    tried=(0.0, 0.3),
                ),
                Parameter(
                    "bounding",
                    Bounding.CLIP.value,
                    "How similarities are brought into [0, 1]: clip or rescale.",
                    choices=tuple(member.value for member in Bounding),
                    tried=tuple(member.value for member in Bounding),
                ),
            ),
        ),
        Entry(
            "staircase",
            Metric.DISCRETE,
            "at most epsilon between any two words; near words have e^epsilon times their weight",
            "docs/staircase.md",
            "inkblur.mechanisms.staircase.by_label:make_staircase",
            (
                Parameter(
                    "tau",
                    None,
                    "Share of the vocabulary, by public word frequency, that counts as near.",
                    low=0.0,
                    high=1.0,
                    tried=(None, 0.05),
                ),
                Parameter(
                    "frequency_power",
                    None,
                    "How strongly common words are preferred, from 0 (not at all) to 1.",
                    low=0.0,
                    high=1.0,
                ),
                Parameter(
                    "near",
                    "vector",
                    "What makes words near: vector (the nearest ones) or label (all that speak for "
                    "the same label; for adapted word vectors).",
                    choices=("vector", "label"),
                ),
            ),
        ),
        Entry(
            "angular-laplace",
            Metric.NONE,
            "none; runs only with --accept-no-guarantee",
            "thesis, Algorithm 1",
            "inkblur.mechanisms.angular:AngularLaplace",
            (
                Parameter(
                    "accept_no_guarantee",
                    False,
                    "Run a mechanism that has no privacy guarantee.",
                    tried=(True,),
                    consent=True,
                ),
            ),
        ),
    )
}


def make_mechanism(
    name: str, embedding: Embedding, *, epsilon: float, **parameters: Any
) -> WordMechanism:
    """A mechanism by its catalogue name; the values are checked against its parameters.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> make_mechanism("laplace", table, epsilon=2.0)
    Laplace(Embedding('toy', 2 words x 2), epsilon=2.0)
    """
    entry = find(name)
    return entry.make(embedding, epsilon=epsilon, **entry.complete(parameters))


def find(name: str) -> Entry:
    """The catalogue's entry of this name, or an error that lists the names."""
    if name not in CATALOGUE:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]
