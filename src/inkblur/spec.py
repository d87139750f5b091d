"""The description of a release: everything that decides what comes out, except text and key.

A `ReleaseSpec` is a plain value. The command line's options, evaluation's settings and grids, the
copies that worker processes make and the report's JSON are derived from its fields, so a field
added here, with its help, is an option of `inkblur privatize` and a key of the JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from enum import Enum
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from inkblur.documents.policies import TOKEN_CLASSES, TokenPolicies, Treatment
from inkblur.errors import InputError, ParameterError
from inkblur.mechanisms.catalogue import find, make_mechanism
from inkblur.mechanisms.parameters import Value
from inkblur.spec_fields import (
    POOL_MECHANISM,
    ReleaseFields,
    check_kind,
    check_strength,
    check_types,
    refuse_misspelled,
    without_what_left,
)
from inkblur.types import (
    Morphology,
    Piece,
    ReleaseKind,
    Strength,
    Weighting,
    choose,
    fixed_length,
    fraction,
    positive,
)

if TYPE_CHECKING:  # a spec is read and checked without them; its methods import what they use
    from inkblur.documents.privatizer import Privatizer
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.embeddings.table import Embedding
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.pools.mechanism import PoolStaircase
    from inkblur.pools.privatizer import PoolPrivatizer

MECHANISM = "staircase"  # where none is named, except:
_USUAL = {ReleaseKind.TF: "exponential"}
_CHOICES: dict[str, type[Enum]] = {  # fields whose text names a member
    "release": ReleaseKind,
    "unit": Piece,
    "strength": Strength,
    "morphology": Morphology,
    "weighting": Weighting,
}


def options_of_a_spec() -> tuple[Field[Any], ...]:
    """The fields that have an option on the command line."""
    return tuple(f for f in fields(ReleaseSpec) if "help" in f.metadata)


@dataclass(frozen=True, slots=True)
class ReleaseSpec(ReleaseFields):
    """A mechanism with its parameters, and how it is lifted to the texts of a file.

    How strong is given in one of three ways: `epsilon`; `strength`, an epsilon whose risk was
    measured; or `level` with `radius`. Parameters left out take the catalogue's defaults, so
    two specs of one release are equal.

    >>> spec = ReleaseSpec("mahalanobis", 10.0, length=50)
    >>> spec.name
    'mahalanobis, epsilon 10, lambda 0.5, length 50'
    >>> ReleaseSpec.from_json(spec.to_json()) == spec
    True
    """

    def __post_init__(self) -> None:
        check_types(self)
        for name, kind in _CHOICES.items():
            given = getattr(self, name)
            if given is not None or name in ("release", "unit"):
                self._set(name, choose(kind, given, name).value)
        usual = _USUAL.get(self.kind, MECHANISM) if self.unit == "word" else POOL_MECHANISM
        self._set("mechanism", self.mechanism or usual)
        complete = find(self.mechanism).complete(self.parameters)
        self._set("parameters", MappingProxyType(complete))
        check_strength(self)
        for name in ("epsilon", "level", "radius"):
            if getattr(self, name) is not None:
                self._set(name, positive(getattr(self, name), name))
        if self.length is not None:
            self._set("length", fixed_length(self.length))
        for name in ("keep", "drop", "columns", "keep_columns"):
            self._set(name, tuple(getattr(self, name)))
        self._set("names", self.policies.names.value)  # refuses unknown classes now, too
        # One order, so that two specs of one release are equal.
        for name in ("keep", "drop"):
            given = getattr(self, name)
            self._set(name, tuple(kind for kind in TOKEN_CLASSES if kind in given))
        if not self.columns:
            raise ParameterError("no text column given; give at least one in `columns=`")
        for name in ("embedding", "vocabulary", "reference", "pool", "encoder"):
            path = getattr(self, name)
            self._set(name, None if path is None else str(path))
        if self.keep_meaning is not None:
            self._set("keep_meaning", fraction(self.keep_meaning, "keep_meaning"))
        check_kind(self)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def kind(self) -> ReleaseKind:
        """What is released."""
        return ReleaseKind(self.release)

    @property
    def known_epsilon(self) -> float:
        """Epsilon, of a spec that has it as a number."""
        if self.epsilon is None:
            raise ParameterError(f"{self.name} has no epsilon until it is resolved")
        return self.epsilon

    @property
    def policies(self) -> TokenPolicies:
        """What happens to each class of token."""
        return TokenPolicies.of(keep=self.keep, drop=self.drop, names=self.names)

    @property
    def name(self) -> str:
        """A short name of what was set: what tables and plots call this release."""
        return ", ".join([self.mechanism, self._strength(), *self._features()])

    @property
    def family(self) -> str:
        """The name without the strength: what the points of one curve share.

        >>> ReleaseSpec("mahalanobis", 10.0).family
        'mahalanobis, lambda 0.5'
        """
        return ", ".join([self.mechanism, *self._features()])

    def _strength(self) -> str:
        if self.epsilon is not None:
            return f"epsilon {self.epsilon:g}"
        if self.strength is not None:
            return self.strength
        return f"level {self.level:g} within {self.radius:g}"

    def _features(self) -> list[str]:
        parts = [
            f"{parameter.title} {_shown(value)}"
            for parameter, value in find(self.mechanism).distinguishing(self.parameters)
        ]
        if self.kind is not ReleaseKind.SEQUENCE:
            parts.append(self.release)
        if self.pool is not None:
            parts.append(f"{self.unit}s of {Path(self.pool).name}")
        if self.keep_meaning is not None:
            parts.append(f"keep meaning {self.keep_meaning:g}")
        if self.length is not None:
            parts.append(f"length {self.length}")
        if self.morphology is not None:
            parts.append(self.morphology)
        if self.weighting is not None:
            parts.append(self.weighting)
        if self.reference is not None:
            parts.append(f"words of {Path(self.reference).name}")
        parts += [f"keep {name}" for name in self.keep]
        parts += [f"drop {name}" for name in self.drop]
        if self.names != Treatment.NULL.value:
            parts.append(f"names {self.names}")
        return parts

    @classmethod
    def of(cls, **described: Any) -> ReleaseSpec:
        """A spec from fields and parameters of its mechanism side by side.

        >>> ReleaseSpec.of(epsilon=8.0, tau=0.01).name
        'staircase, epsilon 8, tau 0.01'
        """
        known = {f.name for f in fields(cls)}
        own = {name: value for name, value in described.items() if name not in known}
        plain = {name: value for name, value in described.items() if name in known}
        beside = plain.pop("parameters", {})
        if not isinstance(beside, Mapping):
            raise ParameterError("`parameters=` must be a mapping of names to values")
        for name in own.keys() & beside.keys():
            raise ParameterError(f"`{name}=` is given twice: beside `parameters=` and in it")
        refuse_misspelled(own)
        return cls(**plain, parameters={**own, **beside})

    def varied(self, **changes: Any) -> ReleaseSpec:
        """The same release with other values of fields or of the mechanism's parameters.

        >>> ReleaseSpec("mahalanobis", 10.0).varied(epsilon=5, lam=1).name
        'mahalanobis, epsilon 5, lambda 1'
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "parameters"}
        own = {} if "parameters" in changes else self.parameters
        return ReleaseSpec.of(**{**plain, **own, **changes})

    def table(self) -> Embedding:
        """The public word vectors that it names, checked against `embedding_sha256`."""
        from inkblur.embeddings.loading import load_embedding

        table = load_embedding(
            self.embedding, vocabulary=None if self.vocabulary is None else Path(self.vocabulary)
        )
        if self.embedding_sha256 is not None and table.sha256 != self.embedding_sha256:
            raise InputError(
                f"{table.name} is not the table of this spec: its fingerprint is {table.sha256}, "
                f"the spec has {self.embedding_sha256}; use the same file and vocabulary"
            )
        return table

    def resolved(self, table: Embedding, mechanism: WordMechanism | PoolStaircase) -> ReleaseSpec:
        """The same release with the epsilon and parameters of `mechanism`, made from this spec, and
        the table's fingerprint: what a report keeps, and what a worker process is sent.
        """
        from inkblur.pools.mechanism import PoolStaircase

        own = mechanism.parameters
        return replace(
            self,
            epsilon=float(own["epsilon"]),
            parameters={name: own.get(name, value) for name, value in self.parameters.items()},
            strength=None,
            level=None,
            radius=None,
            embedding_sha256=table.sha256,
            pool_sha256=mechanism.pool.sha256 if isinstance(mechanism, PoolStaircase) else None,
            order=mechanism.order.value if isinstance(mechanism, PoolStaircase) else None,
        )

    def _epsilon_on(self, table: Embedding) -> float:
        from inkblur.mechanisms.calibration import epsilon_from_level
        from inkblur.mechanisms.strengths import epsilon_for

        if self.epsilon is not None:
            return self.epsilon
        if self.strength is not None:
            return epsilon_for(Strength(self.strength), self.mechanism, table, **self.parameters)
        return epsilon_from_level(self.level or math.nan, self.radius or math.nan)

    def mechanism_on(self, table: Embedding, words: Embedding | None = None) -> WordMechanism:
        """The word mechanism over these vectors, or over some of their `words`; a strength is
        looked up for the whole table.
        """
        epsilon = self._epsilon_on(table)
        over = table if words is None else words
        return make_mechanism(self.mechanism, over, epsilon=epsilon, **self.parameters)

    def releaser(self, table: Embedding) -> Privatizer | PoolPrivatizer:
        """What releases texts, word by word or through a pool."""
        return self.privatizer(table) if self.pool is None else self.pool_privatizer(table)

    def pool_privatizer(self, table: Embedding) -> PoolPrivatizer:
        """What releases texts through the pool that it names, checked against `pool_sha256`."""
        from inkblur.pools.mechanism import PoolStaircase
        from inkblur.pools.privatizer import PoolPrivatizer
        from inkblur.pools.store import open_pool
        from inkblur.pools.transformer import TransformerEncoder

        if self.pool is None or self.epsilon is None:
            raise ParameterError(f"{self.name} names no pool: give `pool=`")
        pool = open_pool(self.pool)
        if self.pool_sha256 is not None and pool.sha256 != self.pool_sha256:
            raise InputError(
                f"{self.pool} is not the pool of this spec: its fingerprint is {pool.sha256}, the "
                f"spec has {self.pool_sha256}"
            )
        tau = self.parameters.get("tau")
        mechanism = PoolStaircase(
            pool,
            table,
            epsilon=self.epsilon,
            tau=None if tau is None else float(tau),
            keep_meaning=self.keep_meaning,
            order=self.order,
            encoder=None if self.encoder is None else TransformerEncoder(self.encoder),
        )
        return PoolPrivatizer(mechanism)

    def privatizer(self, table: Embedding) -> Privatizer:
        """What releases texts word by word; for sequences and bags."""
        from inkblur.documents.privatizer import Privatizer

        if self.pool is not None:
            raise ParameterError("this works word by word: leave out `unit=` and `pool=`")
        return Privatizer(
            self.mechanism_on(table),
            release=self.release,
            policies=self.policies,
            length=self.length,
        )

    def synthetic_vectors(
        self, table: Embedding, reference: Sequence[str] | None = None
    ) -> SyntheticVectors:
        """What releases term-frequency vectors; `reference` holds the texts of that corpus."""
        from inkblur.documents.tf_vector import SyntheticVectors
        from inkblur.documents.vectorizer import Vectorizer
        from inkblur.mechanisms.base import DiscreteMechanism

        vectorizer = Vectorizer(
            table,
            morphology=self.morphology or Morphology.LOWER,
            weighting=self.weighting or Weighting.TF,
            reference=reference,
            synonyms=self.wordnet,
            names=self.names,
        )
        mechanism = self.mechanism_on(table, vectorizer.embedding)
        if not isinstance(mechanism, DiscreteMechanism):
            raise ParameterError(
                'a tf release needs `mechanism="staircase"` or `mechanism="exponential"`, '
                f"not {mechanism.name}"
            )
        return SyntheticVectors(mechanism, vectorizer, self.length or 0)

    def to_json(self) -> dict[str, Any]:
        """Every value that is set; :meth:`from_json` reads it back.

        >>> ReleaseSpec("laplace", 2.0).to_json()["epsilon"]
        2.0
        """
        body = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        unset: tuple[Any, ...] = ([], {})
        return {
            name: value
            for name, value in body.items()
            if value is not None and value is not False and value not in unset
        }

    @classmethod
    def from_json(cls, body: Any) -> ReleaseSpec:
        """The spec that :meth:`to_json` wrote; a key it does not know is refused."""
        if not isinstance(body, dict):
            raise ParameterError('a spec is a JSON object, such as {"epsilon": 10}')
        body = without_what_left(body)
        known = [f.name for f in fields(cls)]
        for key in body:
            if key not in known:
                raise ParameterError(f"unknown key {key!r} in the spec; known: {', '.join(known)}")
        parameters = body.get("parameters", {})
        if not isinstance(parameters, dict):
            raise ParameterError("the spec's parameters must be a JSON object")
        return cls(**{**body, "parameters": without_what_left(parameters)})

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy for another process is made from the JSON."""
        return ReleaseSpec.from_json, (self.to_json(),)


def grid(
    mechanism: str, axes: Mapping[str, Sequence[Any]], **fixed: Any
) -> tuple[ReleaseSpec, ...]:
    """Every combination of the values of `axes`, which are fields or the mechanism's parameters;
    the last axis changes fastest, and an empty one keeps its default.

    >>> [spec.name for spec in grid("mahalanobis", {"epsilon": [5], "lam": [0, 1]})]
    ['mahalanobis, epsilon 5, lambda 0', 'mahalanobis, epsilon 5, lambda 1']
    """
    if not axes.get("epsilon"):
        raise ParameterError("no epsilon given; give at least one, such as 10")
    used = {name: list(values) for name, values in axes.items() if values}
    made = [
        ReleaseSpec.of(mechanism=mechanism, **dict(zip(used, values, strict=True)), **fixed)
        for values in product(*used.values())
    ]
    if len(set(made)) != len(made):
        raise ParameterError("the grid names a setting twice")
    return tuple(made)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
