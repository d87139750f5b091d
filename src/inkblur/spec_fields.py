"""The fields of a release's description, each with the help of its command-line option, and which
of them go together.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from difflib import get_close_matches
from enum import Enum
from functools import partial
from typing import Any

from inkblur.documents.policies import Treatment
from inkblur.errors import ParameterError
from inkblur.mechanisms.catalogue import CATALOGUE, find
from inkblur.mechanisms.parameters import Value
from inkblur.types import Metric, Piece, ReleaseKind

POOL_MECHANISM = "staircase"
POOL_EPSILONS = (2.0, 4.0, 6.0)  # for a text, where none is given
# Settings that left, and what earlier versions wrote into a report where they were not used.
_LEFT: Mapping[str, Value] = {
    "base": "frequency",
    "language_model": "",
    "names_tagger": False,
    "consistent": False,
    "quoting": "minimal",
}
_ALIKE = 0.75  # names this similar may be one misspelled; at 0.6, `limit=` would be `delimiter=`


def option(group: str, default: Any, help: str, *flags: str) -> Any:
    """A field that is also an option of the command line, shown in this group of its help; `flags`
    where its name is not the flag.

    A tuple is an option that may be given several times.
    """
    return field(default=default, metadata={"help": help, "flags": flags, "group": group})


_strength = partial(option, "How strong")
_kind = partial(option, "What is released")
_pool = partial(option, "Whole texts from a pool")
_token = partial(option, "Words, names and punctuation")
_tf = partial(option, "Only for --release tf")
_vectors = partial(option, "Word vectors")
_file = partial(option, "Columns and formats")


@dataclass(frozen=True, slots=True)
class ReleaseFields:
    """What can be said about a release; :class:`inkblur.ReleaseSpec` checks and uses it."""

    mechanism: str = _strength("", "A name from `inkblur mechanisms`.", "--mechanism", "-m")
    epsilon: float | None = _strength(
        None,
        "Privacy loss per unit of distance (per word where words have no distance; per text "
        "with --pool), above 0.",
        "--epsilon",
        "-e",
    )
    _: KW_ONLY
    strength: str | None = _strength(
        None,
        "light, medium or strong: by their words, the strongest attack tried attributes at most "
        "50, 25 or 10 % of the texts to their author, above chance, on public test texts. How long "
        "a text is can add to that; --length hides it.",
    )
    level: float | None = _strength(None, "With --radius: the loss allowed within that distance.")
    radius: float | None = _strength(None, "With --level: the distance; epsilon = level / radius.")
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)
    release: str = _kind("sequence", "What to release: sequence, bag or tf (default: sequence).")
    length: int | None = _kind(None, "Cut or pad every text to this many words.")
    unit: str = _pool(
        "word",
        "What one draw replaces: word, or text, which needs --pool (default: word).",
    )
    pool: str | None = _pool(
        None, "Public texts (`inkblur pool build`) that take the place of texts."
    )
    pool_sha256: str | None = None  # the pool must have this fingerprint
    order: str | None = None  # what was chosen on the pool, label or meaning: a repeat draws alike
    keep_meaning: float | None = _pool(
        None,
        "With --pool: what to keep first, from 0 (the label of a text) to 1 (its meaning); "
        "default: 0.5. In a pool without labels, less meaning reveals less about the author.",
    )
    encoder: str | None = _pool(
        None,
        "With --pool: the folder of the sentence transformer that the pool was built with.",
    )
    keep: tuple[str, ...] = _token(
        (),
        "Copy this kind of token unchanged: stop-words, unknown, numbers, addresses or "
        "punctuation; sentence-ends writes a full stop where a sentence ended. "
        "Repeat for several. The guarantee lists each.",
    )
    drop: tuple[str, ...] = _token((), "Leave this kind of token out. Repeat for several.")
    names: str = _token(
        "null",
        "Names of people: null (replaced by a word that does not depend on the name), "
        "blur (treated like any word) or keep (default: null).",
    )
    accept_weak: bool = _strength(
        False, "Allow a setting at which more than 95% of the words stay unchanged."
    )
    morphology: str | None = _tf(None, "For tf: lemma, lower or as-is (default: lower).")
    weighting: str | None = _tf(
        None, "For tf: tf or tf-idf, which needs --reference (default: tf)."
    )
    reference: str | None = _tf(
        None, "For tf: a public corpus, one text per line, to take the vocabulary from."
    )
    wordnet: bool = _tf(False, "For tf: add WordNet's synonyms to the vocabulary.")
    embedding: str | None = _vectors(None, "A file of word vectors (default: bundled).")
    embedding_sha256: str | None = None  # the vectors must have this fingerprint
    vocabulary: str | None = _vectors(None, "Use only the words of this public list, one per line.")
    columns: tuple[str, ...] = _file(
        ("text",),
        "Column that holds the text; repeat for several (default: text).",
        "--column",
    )
    keep_columns: tuple[str, ...] = _file(
        (),
        "Copy this column unchanged; repeat for several. No other is copied, ids included.",
        "--keep-column",
    )
    id_column: str | None = _file(
        None, "Column that identifies each record (default: by its content)."
    )
    person_column: str | None = _file(
        None, "Column that says which person each record belongs to, for the ledger."
    )
    no_header: bool = _file(
        False, "For csv and tsv: the first line is a record; columns are named 1, 2, 3."
    )
    delimiter: str | None = _file(
        None, "For csv and tsv: what separates cells, such as ';' or tab."
    )
    skip_public: bool = _vectors(
        False,
        "Leave out records that are part of an adapted embedding's public corpus, "
        "instead of refusing the file.",
    )
    encoding: str = _file("utf-8", "Text encoding of the input (default: utf-8).")
    format: str | None = _file(
        None, "txt, csv, tsv, jsonl or parquet (default: by the file's name)."
    )


def check_types(spec: ReleaseFields) -> None:
    """A value of another type, from JSON, is refused: the text "false" would be true."""
    for each in fields(spec):
        value = getattr(spec, each.name)
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


def check_strength(spec: ReleaseFields) -> None:
    """How strong is said once, and in a way that the mechanism understands."""
    if (spec.level is None) != (spec.radius is None):
        raise ParameterError("`level=` and `radius=` go together")
    given = [n for n in ("epsilon", "strength", "level") if getattr(spec, n) is not None]
    if len(given) > 1:
        raise ParameterError(f"give only one of {' and '.join(f'`{n}=`' for n in given)}")
    if not given:
        raise ParameterError(
            "choose how strong: `strength=` light, medium or strong; `epsilon=`; or `level=` with "
            "`radius=`"
        )
    if spec.level is not None and find(spec.mechanism).metric in (Metric.DISCRETE, Metric.NONE):
        raise ParameterError(
            f"`level=` and `radius=` need a mechanism that measures distances, and "
            f"{spec.mechanism} does not: its loss is the same within every radius; give "
            "`epsilon=` or `strength=`"
        )


def check_kind(spec: ReleaseFields) -> None:
    """Options of one kind of release are refused for the others."""
    if ReleaseKind(spec.release) is ReleaseKind.TF:
        if spec.length is None:
            raise ParameterError("a tf release needs `length=`: how many terms every vector holds")
        if spec.keep or spec.drop:
            raise ParameterError(
                "a tf release drops everything but words; leave out `keep=` and `drop=`"
            )
        if spec.names == Treatment.KEEP.value:
            raise ParameterError("a tf release copies no names: use `names=null` or `names=blur`")
    elif spec.morphology or spec.weighting or spec.reference or spec.wordnet:
        raise ParameterError(
            "`morphology=`, `weighting=`, `reference=` and `wordnet=` belong to the tf release"
        )
    _check_unit(spec)


def _check_unit(spec: ReleaseFields) -> None:
    """A pool replaces whole texts: options about words are refused."""
    if spec.unit == Piece.WORD.value:
        pooled = (spec.pool, spec.keep_meaning, spec.order, spec.encoder)
        if any(each is not None for each in pooled):
            raise ParameterError(
                '`pool=`, `keep_meaning=`, `order=` and `encoder=` go with `unit="text"`'
            )
        return
    if spec.order not in (None, "label", "meaning"):
        raise ParameterError(f"`order=` is label or meaning, not {spec.order!r}")
    if spec.pool is None:
        raise ParameterError("a text is replaced by one of a pool: give `pool=`")
    if spec.mechanism != POOL_MECHANISM or ReleaseKind(spec.release) is not ReleaseKind.SEQUENCE:
        raise ParameterError(
            f"a pool is drawn from by the {POOL_MECHANISM} mechanism: leave out `mechanism=` "
            "and `release=`"
        )
    if spec.epsilon is None:
        raise ParameterError(
            "`strength=` is calibrated on words; give `epsilon=` for a text, such as 6"
        )
    if spec.keep or spec.drop or spec.names != Treatment.NULL.value:
        raise ParameterError(
            "nothing of a text passes through a pool: leave out `keep=`, `drop=` and `names=`"
        )
    for parameter, _ in find(spec.mechanism).distinguishing(spec.parameters):
        if parameter.name != "tau":
            raise ParameterError(f"`{parameter.name}=` is for words: a pool has no use for it")
    if spec.length is not None:
        raise ParameterError("a whole text is one draw and shows no length: leave out `length=`")


def without_what_left(named: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as an earlier version wrote them; refused where one that left was used."""
    for name, unused in _LEFT.items():
        if named.get(name, unused) != unused:
            raise ParameterError(
                f"{name}={named[name]!r} names something that left this program: make the release "
                "again without it"
            )
    return {name: value for name, value in named.items() if name not in _LEFT}


def refuse_misspelled(names: Iterable[str]) -> None:
    """Names that are not fields are parameters of the mechanism, which refuses those it has not:
    whoever misspells a field is told its name here, before that.
    """
    own = {parameter.name for entry in CATALOGUE.values() for parameter in entry.parameters}
    known = [*(f.name for f in fields(ReleaseFields)), *sorted(own)]
    for name in names:
        meant = get_close_matches(name, known, n=1, cutoff=_ALIKE)
        if meant and name not in own:
            raise ParameterError(f"`{name}=` is unknown; did you mean `{meant[0]}=`?")
