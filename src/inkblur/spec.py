"""The description of a release: everything that decides what comes out, except text and key.

A `ReleaseSpec` is a plain value: what is drawn (its `law`), which columns of a table mean what, how
a file is read, and what was consented to. Its JSON repeats the release.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from difflib import get_close_matches
from enum import Enum
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from inkblur.documents.policies import TOKEN_CLASSES, TokenPolicies, Treatment
from inkblur.errors import InputError, ParameterError
from inkblur.mechanisms.catalogue import CATALOGUE, Value, find, make_mechanism
from inkblur.types import (
    Metric,
    Morphology,
    Piece,
    ReleaseKind,
    Strength,
    Weighting,
    choose,
    fraction,
    positive,
    text_length,
)

if TYPE_CHECKING:  # a spec is read and checked without them; its methods import what they use
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.embeddings.table import Embedding
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.pools.mechanism import PoolPrivatizer, PoolStaircase

MECHANISM = "staircase"  # where none is named, except:
_USUAL = {ReleaseKind.TF: "exponential"}
POOL_EPSILONS = (2.0, 4.0, 6.0)  # for a text, where none is given
_CHOICES: dict[str, type[Enum]] = {  # fields whose text names a member
    "release": ReleaseKind,
    "unit": Piece,
    "strength": Strength,
    "morphology": Morphology,
    "weighting": Weighting,
}
# What draws nothing: which columns mean what, how a file is read, and consents.
_NOT_DRAWN = (
    *("columns", "keep_columns", "keep_order", "id_column", "person_column"),
    *("no_header", "delimiter", "encoding", "format"),
    *("accept_weak", "skip_public"),
)
# Settings that left, and what earlier versions wrote into a report where they were not used.
_LEFT: Mapping[str, Value] = {
    "base": "frequency",
    "language_model": "",
    "names_tagger": False,
    "consistent": False,
    "quoting": "minimal",
}
_ALIKE = 0.75  # names this similar may be one misspelled; at 0.6, `limit=` would be `delimiter=`


@dataclass(frozen=True, slots=True)
class ReleaseSpec:
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

    mechanism: str = ""  # "": staircase, or exponential for tf
    epsilon: float | None = None  # the loss per unit of distance, for a word or for a pool's text
    _: KW_ONLY
    strength: str | None = None  # light, medium or strong
    level: float | None = None  # the loss allowed within `radius`: epsilon = level / radius
    radius: float | None = None
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)
    release: str = "sequence"  # or bag, or tf
    # Words that every text is cut or filled to; "exact": none; None: the next of a list of sizes.
    length: int | str | None = None
    unit: str | None = None  # what one draw replaces, word or text; None: as `pool` says
    pool: str | None = None  # public texts that take the place of texts
    pool_sha256: str | None = None  # the pool must have this fingerprint
    order: str | None = None  # what was chosen on the pool, label or meaning: a repeat draws alike
    keep_meaning: float | None = None  # of a pool: from 0 (a text's label first) to 1 (its meaning)
    encoder: str | None = None  # the folder of the transformer that the pool was built with
    keep: tuple[str, ...] = ()  # classes of tokens that are copied; each is in the guarantee
    drop: tuple[str, ...] = ()  # classes that are left out
    names: str = "null"  # of people: null, blur (like any word) or keep
    morphology: str | None = None  # tf: lemma, lower or as-is
    weighting: str | None = None  # tf: tf, or tf-idf over a reference
    reference: str | None = None  # tf: a public corpus, one text a line, for the vocabulary
    wordnet: bool = False  # tf: WordNet's synonyms join the vocabulary
    embedding: str | None = None  # word vectors; None: bundled
    embedding_sha256: str | None = None  # the vectors must have this fingerprint
    vocabulary: str | None = None  # only the words of this public list, one a line
    # Which columns mean what, and how a file is read.
    columns: tuple[str, ...] = ("text",)
    keep_columns: tuple[str, ...] = ()  # copied unchanged; no other is
    keep_order: bool = False  # of the rows of a file, which else come out in random order
    id_column: str | None = None
    person_column: str | None = None
    no_header: bool = False  # csv, tsv: the first line is a record; columns are named 1, 2, 3
    delimiter: str | None = None  # csv, tsv
    encoding: str = "utf-8"
    format: str | None = None  # None: by the file's name
    # Consents.
    accept_weak: bool = False  # more than 95 % of the words may stay unchanged
    skip_public: bool = False  # records of a public corpus are left out, and do not refuse the file

    def __post_init__(self) -> None:
        self._check_types()
        self._set("unit", self.unit or ("word" if self.pool is None else "text"))
        for name, kind in _CHOICES.items():
            given = getattr(self, name)
            if given is not None or name == "release":
                self._set(name, choose(kind, given, name).value)
        usual = _USUAL.get(self.kind, MECHANISM) if self.pool is None else MECHANISM
        self._set("mechanism", self.mechanism or usual)
        complete = find(self.mechanism).complete(self.parameters)
        self._set("parameters", MappingProxyType(complete))
        self._check_strength()
        for name in ("epsilon", "level", "radius"):
            if getattr(self, name) is not None:
                self._set(name, positive(getattr(self, name), name))
        self._set("length", text_length(self.length))
        self._set("names", self.policies.names.value)  # refuses unknown classes now, too
        # One order, so that two specs of one release are equal.
        for name in ("keep", "drop"):
            given = getattr(self, name)
            self._set(name, tuple(kind for kind in TOKEN_CLASSES if kind in given))
        for name in ("columns", "keep_columns"):
            self._set(name, tuple(getattr(self, name)))
        if not self.columns:
            raise ParameterError("no text column given; give at least one in `columns=`")
        for name in ("embedding", "vocabulary", "reference", "pool", "encoder"):
            path = getattr(self, name)
            self._set(name, None if path is None else str(path))
        if self.keep_meaning is not None:
            self._set("keep_meaning", fraction(self.keep_meaning, "keep_meaning"))
        if self.kind is ReleaseKind.TF:
            self._check_tf()
        elif self.morphology or self.weighting or self.reference or self.wordnet:
            raise ParameterError(
                "`morphology=`, `weighting=`, `reference=` and `wordnet=` belong to the tf release"
            )
        if self.unit == Piece.TEXT.value:
            self._check_pool()
        elif (self.pool, self.keep_meaning, self.order, self.encoder) != (None,) * 4:
            raise ParameterError(
                '`pool=`, `keep_meaning=`, `order=` and `encoder=` go with `unit="text"`'
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_types(self) -> None:
        """A value of another type, from JSON, is refused: the text "false" would be true."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type == "bool" and not isinstance(value, bool):
                raise ParameterError(f"{each.name} must be true or false, got {value!r}")
            if str(each.type).startswith("tuple") and (
                isinstance(value, str)
                or not isinstance(value, Collection)
                or not all(isinstance(name, str) for name in value)
            ):
                raise ParameterError(f"{each.name} must be a list of names, got {value!r}")
            missing = value is None and each.type != "str"
            if str(each.type).startswith("str") and not (
                missing or isinstance(value, str | Enum | os.PathLike)
            ):
                raise ParameterError(f"{each.name} must be a text, got {value!r}")

    def _check_strength(self) -> None:
        """How strong is said once, and in a way that the mechanism understands."""
        if (self.level is None) != (self.radius is None):
            raise ParameterError("`level=` and `radius=` go together")
        given = [n for n in ("epsilon", "strength", "level") if getattr(self, n) is not None]
        if len(given) > 1:
            raise ParameterError(f"give only one of {' and '.join(f'`{n}=`' for n in given)}")
        if not given:
            raise ParameterError(
                "choose how strong: `strength=` light, medium or strong; `epsilon=`; or `level=` "
                "with `radius=`"
            )
        if self.level is not None and find(self.mechanism).metric in (Metric.DISCRETE, Metric.NONE):
            raise ParameterError(
                f"`level=` and `radius=` need a mechanism that measures distances, and "
                f"{self.mechanism} does not: its loss is the same within every radius; give "
                "`epsilon=` or `strength=`"
            )

    def _check_tf(self) -> None:
        if not isinstance(self.length, int):
            raise ParameterError("a tf release needs `length=`: how many terms every vector holds")
        if self.keep or self.drop:
            raise ParameterError(
                "a tf release drops everything but words; leave out `keep=` and `drop=`"
            )
        if self.names == Treatment.KEEP.value:
            raise ParameterError("a tf release copies no names: use `names=null` or `names=blur`")

    def _check_pool(self) -> None:
        """A pool replaces whole texts: options about words are refused."""
        if self.order not in (None, "label", "meaning"):
            raise ParameterError(f"`order=` is label or meaning, not {self.order!r}")
        if self.pool is None:
            raise ParameterError("a text is replaced by one of a pool: give `pool=`")
        if self.mechanism != MECHANISM or self.kind is not ReleaseKind.SEQUENCE:
            raise ParameterError(
                f"a pool is drawn from by the {MECHANISM} mechanism: leave out `mechanism=` "
                "and `release=`"
            )
        if self.epsilon is None:
            raise ParameterError(
                "`strength=` is calibrated on words; give `epsilon=` for a text, such as 6"
            )
        if self.keep or self.drop or self.names != Treatment.NULL.value:
            raise ParameterError(
                "nothing of a text passes through a pool: leave out `keep=`, `drop=` and `names=`"
            )
        for parameter, _ in find(self.mechanism).distinguishing(self.parameters):
            if parameter.name != "tau":
                raise ParameterError(f"`{parameter.name}=` is for words: a pool has no use for it")
        if self.length is not None:
            raise ParameterError(
                "a whole text is one draw and shows no length: leave out `length=`"
            )

    @property
    def shuffles(self) -> bool:
        """Whether the rows of a file come out in random order: where no written id ties them to
        anything, their order would.
        """
        return not (self.keep_order or self.id_column in self.keep_columns)

    @property
    def kind(self) -> ReleaseKind:
        """What is released."""
        return ReleaseKind(self.release)

    @property
    def policies(self) -> TokenPolicies:
        """What happens to each class of token."""
        return TokenPolicies.of(keep=self.keep, drop=self.drop, names=self.names)

    @property
    def law(self) -> ReleaseSpec:
        """The same draws, with columns, reading and consents as usual: specs of one law share it.

        >>> one, other = (ReleaseSpec(epsilon=3.0, columns=(name,)) for name in ("a", "b"))
        >>> one.law == other.law
        True
        """
        usual: dict[str, Any] = {f.name: f.default for f in fields(self) if f.name in _NOT_DRAWN}
        return replace(self, **usual)

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
        _refuse_misspelled(own)
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
        from inkblur.embeddings.store import load_embedding

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

    def mechanism_on(self, table: Embedding, words: Embedding | None = None) -> WordMechanism:
        """The word mechanism over these vectors, or over some of their `words`; a strength is
        looked up for the whole table.
        """
        from inkblur.mechanisms.strengths import epsilon_for, epsilon_from_level

        epsilon = self.epsilon
        if self.strength is not None:
            strength = Strength(self.strength)
            epsilon = epsilon_for(strength, self.mechanism, table, **self.parameters)
        elif epsilon is None:
            epsilon = epsilon_from_level(self.level or math.nan, self.radius or math.nan)
        over = table if words is None else words
        return make_mechanism(self.mechanism, over, epsilon=epsilon, **self.parameters)

    def privatizer(self, table: Embedding | None = None) -> Any:
        """What draws, on the word vectors that it names or on these: a `Privatizer`, or a
        `PoolPrivatizer` where it names a pool, or `SyntheticVectors` of a tf release.
        """
        table = self.table() if table is None else table
        if self.pool is not None:
            return self._pool_privatizer(self.pool, table)
        if self.kind is ReleaseKind.TF:
            return self._synthetic_vectors(table)
        from inkblur.documents.privatizer import Privatizer

        return Privatizer(
            self.mechanism_on(table),
            release=self.release,
            policies=self.policies,
            length=self.length,
        )

    def _pool_privatizer(self, path: str, table: Embedding) -> PoolPrivatizer:
        from inkblur.pools.encoder import TransformerEncoder
        from inkblur.pools.mechanism import PoolPrivatizer, PoolStaircase
        from inkblur.pools.pool import open_pool

        pool = open_pool(path)
        if self.pool_sha256 is not None and pool.sha256 != self.pool_sha256:
            raise InputError(
                f"{path} is not the pool of this spec: its fingerprint is {pool.sha256}, the "
                f"spec has {self.pool_sha256}"
            )
        tau = self.parameters.get("tau")
        mechanism = PoolStaircase(
            pool,
            table,
            epsilon=self.epsilon or math.nan,  # a pool has no strengths: it is given
            tau=None if tau is None else float(tau),
            keep_meaning=self.keep_meaning,
            order=self.order,
            encoder=None if self.encoder is None else TransformerEncoder(self.encoder),
        )
        return PoolPrivatizer(mechanism)

    def _synthetic_vectors(self, table: Embedding) -> SyntheticVectors:
        from inkblur.documents.tf_vector import SyntheticVectors
        from inkblur.documents.vectorizer import Vectorizer
        from inkblur.files.doors import texts_of_file
        from inkblur.mechanisms.base import DiscreteMechanism

        vectorizer = Vectorizer(
            table,
            morphology=self.morphology or Morphology.LOWER,
            weighting=self.weighting or Weighting.TF,
            reference=None if self.reference is None else texts_of_file(self.reference),
            synonyms=self.wordnet,
            names=self.names,
        )
        mechanism = self.mechanism_on(table, vectorizer.embedding)
        if not isinstance(mechanism, DiscreteMechanism):
            raise ParameterError(
                'a tf release needs `mechanism="staircase"` or `mechanism="exponential"`, '
                f"not {mechanism.name}"
            )
        assert isinstance(self.length, int)
        return SyntheticVectors(mechanism, vectorizer, self.length)

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
        body = _without_what_left(body)
        known = [f.name for f in fields(cls)]
        for key in body:
            if key not in known:
                raise ParameterError(f"unknown key {key!r} in the spec; known: {', '.join(known)}")
        parameters = body.get("parameters", {})
        if not isinstance(parameters, dict):
            raise ParameterError("the spec's parameters must be a JSON object")
        return cls(**{**body, "parameters": _without_what_left(parameters)})

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
    if not (axes.get("epsilon") or axes.get("strength")):
        raise ParameterError("no epsilon given; give at least one, such as 10")
    used = {name: list(values) for name, values in axes.items() if values}
    made = [
        ReleaseSpec.of(mechanism=mechanism, **dict(zip(used, values, strict=True)), **fixed)
        for values in product(*used.values())
    ]
    if len(set(made)) != len(made):
        raise ParameterError("the grid names a setting twice")
    return tuple(made)


def read_spec(text: str) -> ReleaseSpec:
    """The spec in a JSON text: its own, or that of a report which holds it under "spec".

    >>> read_spec('{"spec": {"mechanism": "laplace", "epsilon": 2.0}}').name
    'laplace, epsilon 2'
    """
    try:
        body = json.loads(text, object_pairs_hook=each_key_once)
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"the spec is not JSON ({error}); give the report of a run, or its spec"
        ) from None
    if isinstance(body, dict) and "spec" in body:
        body = body["spec"]
    return ReleaseSpec.from_json(body)


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that is there twice, Python would take the last without a word."""
    body = dict(pairs)
    if len(body) != len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ParameterError(f"the spec has the key {twice!r} twice; remove one")
    return body


def _without_what_left(named: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as an earlier version wrote them; refused where one that left was used."""
    for name, unused in _LEFT.items():
        if named.get(name, unused) != unused:
            raise ParameterError(
                f"{name}={named[name]!r} names something that left this program: make the release "
                "again without it"
            )
    return {name: value for name, value in named.items() if name not in _LEFT}


def _refuse_misspelled(names: Iterable[str]) -> None:
    """Names that are not fields are parameters of the mechanism, which refuses those it has not:
    whoever misspells a field is told its name here, before that.
    """
    own = {parameter.name for entry in CATALOGUE.values() for parameter in entry.parameters}
    known = [*(f.name for f in fields(ReleaseSpec)), *sorted(own)]
    for name in names:
        meant = get_close_matches(name, known, n=1, cutoff=_ALIKE)
        if meant and name not in own:
            raise ParameterError(f"`{name}=` is unknown; did you mean `{meant[0]}=`?")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
