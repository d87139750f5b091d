"""Which fields of a release's description go together; a combination without sense is refused."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import fields
from enum import Enum

from inkblur.documents.policies import Treatment
from inkblur.errors import ParameterError
from inkblur.mechanisms.catalogue import find
from inkblur.spec_fields import ReleaseFields
from inkblur.types import Metric, Piece, ReleaseKind

POOL_MECHANISM = "staircase"
POOL_EPSILONS = (2.0, 4.0, 6.0)  # for a text or a sentence, where none is given


def check_types(spec: ReleaseFields) -> None:
    """A value of another type, from JSON, is refused: the text "false" would be true."""
    for field in fields(spec):
        value = getattr(spec, field.name)
        if field.type == "bool" and not isinstance(value, bool):
            raise ParameterError(f"{field.name} must be true or false, got {value!r}")
        if str(field.type).startswith("tuple") and (
            isinstance(value, str)
            or not isinstance(value, Collection)
            or not all(isinstance(name, str) for name in value)
        ):
            raise ParameterError(f"{field.name} must be a list of names, got {value!r}")
        missing = value is None and field.type != "str"
        if str(field.type).startswith("str") and not (
            missing or isinstance(value, str | Enum | os.PathLike)
        ):
            raise ParameterError(f"{field.name} must be a text, got {value!r}")


def check_strength(spec: ReleaseFields) -> None:
    """How strong is said once, and in a way that the mechanism understands."""
    if (spec.level is None) != (spec.radius is None):
        raise ParameterError("`level=` and `radius=` go together")
    given = [n for n in ("epsilon", "strength", "level") if getattr(spec, n) is not None]
    if len(given) > 1:
        raise ParameterError(f"give only one of {' and '.join(f'`{n}=`' for n in given)}")
    if not given:
        raise ParameterError(
            'choose how strong: `strength="light"`, medium or strong; `epsilon=`; or '
            "`level=` with `radius=`"
        )
    if spec.level is not None and find(spec.mechanism).metric in (Metric.DISCRETE, Metric.NONE):
        raise ParameterError(
            f"`level=` and `radius=` need a mechanism that measures distances, and "
            f"{spec.mechanism} does not: its loss is the same within every radius; give "
            "`epsilon=` or `strength=`"
        )


def check_kind(spec: ReleaseFields) -> None:
    """Options of one kind of release are refused for the others."""
    if spec.consistent and ReleaseKind(spec.release) is not ReleaseKind.SEQUENCE:
        raise ParameterError(f"only a sequence can be `consistent=`, not a {spec.release}")
    if ReleaseKind(spec.release) is ReleaseKind.TF:
        if spec.length is None:
            raise ParameterError("a tf release needs `length=`: how many terms every vector holds")
        if spec.keep or spec.drop:
            raise ParameterError(
                "a tf release drops everything but words; leave out `keep=` and `drop=`"
            )
        if spec.names == Treatment.KEEP.value or spec.names_tagger:
            raise ParameterError(
                "a tf release copies no names and reads no order of words: use "
                "`names=null` or `names=blur`, and leave out `names_tagger=`"
            )
    elif spec.morphology or spec.weighting or spec.reference or spec.wordnet:
        raise ParameterError(
            "`morphology=`, `weighting=`, `reference=` and `wordnet=` belong to the tf release"
        )
    _check_unit(spec)


def _check_unit(spec: ReleaseFields) -> None:
    """A pool replaces whole pieces: options about words are refused."""
    if spec.unit == Piece.WORD.value:
        pooled = (spec.pool, spec.keep_meaning, spec.order, spec.encoder)
        if any(each is not None for each in pooled):
            raise ParameterError(
                "`pool=`, `keep_meaning=`, `order=` and `encoder=` go with "
                '`unit="text"` or `unit="sentence"`'
            )
        return
    if spec.order not in (None, "label", "meaning"):
        raise ParameterError(f"`order=` is label or meaning, not {spec.order!r}")
    if spec.pool is None:
        raise ParameterError(f"a {spec.unit} is replaced by one of a pool: give `pool=`")
    if spec.mechanism != POOL_MECHANISM or ReleaseKind(spec.release) is not ReleaseKind.SEQUENCE:
        raise ParameterError(
            f"a pool is drawn from by the {POOL_MECHANISM} mechanism: leave out `mechanism=` "
            "and `release=`"
        )
    if spec.epsilon is None:
        raise ParameterError(
            f"`strength=` is calibrated on words; give `epsilon=` for a {spec.unit}, such as 6"
        )
    named = spec.names != Treatment.NULL.value or spec.names_tagger
    if spec.keep or spec.drop or spec.consistent or named:
        raise ParameterError(
            "nothing of a text passes through a pool: leave out `keep=`, `drop=`, `names=`, "
            "`names_tagger=` and `consistent=`"
        )
    for parameter, _ in find(spec.mechanism).distinguishing(spec.parameters):
        if parameter.name != "tau":
            raise ParameterError(f"`{parameter.name}=` is for words: a pool has no use for it")
    if spec.unit == Piece.TEXT.value and spec.length is not None:
        raise ParameterError("a whole text is one draw and shows no length: leave out `length=`")
