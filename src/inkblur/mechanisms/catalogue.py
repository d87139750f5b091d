"""The catalogue: a name, what it promises in one line, its parameters, and how it is made.

One entry here gives a mechanism its command-line options, the checks of their values, the names of
its releases, the keys of its stored strengths, its laws and its place in experiments. Entries name
their class and import it when one is made, so that reading the catalogue is quick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from inkblur.errors import ParameterError
from inkblur.types import Bounding, Metric, real

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.mechanisms.base import WordMechanism


Value = float | int | str | bool | None

LAMBDA = 0.5  # mahalanobis: halfway between round noise and the vocabulary's own shape


@dataclass(frozen=True, slots=True)
class Parameter:
    """One keyword argument of a mechanism besides epsilon.

    >>> strictness = Parameter("strictness", 1.0, "How strict.", low=0.0, high=2.0)
    >>> strictness.checked(2)
    2.0
    >>> strictness.checked(3)
    Traceback (most recent call last):
    inkblur.errors.ParameterError: strictness must lie between 0 and 2, got 3
    """

    name: str  # the constructor's keyword
    default: Value  # its type is the parameter's; None: a number that the mechanism chooses
    help: str  # one sentence, for the command line
    label: str = ""  # what people call it, where that is no Python name: lambda
    low: float = -math.inf  # of a number, included
    high: float = math.inf
    choices: tuple[str, ...] = ()  # of a text
    tried: tuple[Value, ...] = ()  # values that the laws run over; the default alone if empty
    principal: bool = False  # always named, and compared by audits: what the mechanism is about
    consent: bool = False  # a permission to run: changes no output, so no name or key has it

    @property
    def title(self) -> str:
        """What messages and names of releases call it."""
        return self.label or self.name

    @property
    def kind(self) -> type:
        """bool, int, float or str."""
        return float if self.default is None else type(self.default)

    def checked(self, value: Any) -> Value:
        """The value in the parameter's type, or an error that says what is allowed."""
        if value is None and self.default is None:
            return None
        if self.kind is bool:
            if not isinstance(value, bool):
                raise ParameterError(f"{self.title} must be True or False, got {value!r}")
            return value
        if self.kind is str:
            text = value.value if isinstance(value, Enum) else value
            if not isinstance(text, str) or (self.choices and text not in self.choices):
                allowed = ", ".join(self.choices) or "any text"
                raise ParameterError(f"unknown {self.title} {text!r}; choose one of: {allowed}")
            return text
        number = real(value, self.title)
        if not self.low <= number <= self.high:  # NaN fails here too
            allowed = f"lie between {self.low:g} and {self.high:g}"
            if self.high == math.inf:
                allowed = f"be at least {self.low:g}"
            elif self.low == -math.inf:
                allowed = f"be at most {self.high:g}"
            raise ParameterError(f"{self.title} must {allowed}, got {value}")
        if self.kind is not int:
            return number
        if not number.is_integer():
            raise ParameterError(f"{self.title} must be a whole number, got {value!r}")
        return int(value)

    def parsed(self, text: str) -> Value:
        """The value that a text spells, as on the command line."""
        if self.kind is bool:
            if text not in ("true", "false"):
                raise ParameterError(f"{self.title} must be true or false, got {text!r}")
            return text == "true"
        if self.kind is str:
            return self.checked(text)
        try:
            return self.checked(self.kind(text))
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(f"{self.title} must be a number, got {text!r}") from None


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
        return parameter in [known.name for known in self.parameters]

    def complete(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """A checked value for every parameter: the given ones, defaults for the rest.

        >>> find("mahalanobis").complete({})
        {'lam': 0.5}
        """
        names = [p.name for p in self.parameters]
        for name in given:
            if name not in names:
                known = ", ".join(("epsilon", *names))
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


CATALOGUE: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mahalanobis",
            Metric.MAHALANOBIS,
            "epsilon x regularized Mahalanobis distance; noise shaped like the vocabulary",
            "Mahalanobis paper, Algorithm 2",
            "inkblur.mechanisms.mahalanobis:Mahalanobis",
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
            "inkblur.mechanisms.laplace:Laplace",
        ),
        Entry(
            "component-laplace",
            Metric.MANHATTAN,
            "epsilon x Manhattan distance; noise of scale 1/epsilon on each component",
            "thesis, Algorithm 2",
            "inkblur.mechanisms.component:ComponentLaplace",
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
            "inkblur.mechanisms.staircase.mechanism:make_staircase",
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
            "none; runs only with accept_no_guarantee=true",
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
