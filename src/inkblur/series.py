"""Texts that are in memory already: a list, an array or a column in, the same kind out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.errors import ParameterError, PrivacyError
from inkblur.files.records import Batch, Rows
from inkblur.files.summary import Fate
from inkblur.guarantees import Guarantee
from inkblur.ledger import Ledger
from inkblur.own import prepare_own
from inkblur.release import (
    ROWS,
    ColumnLook,
    Columns,
    Limits,
    described_spec,
    prepare,
    warn_of,
)
from inkblur.rng import Rng, secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record, counted, is_missing, names_rows

T = TypeVar("T")
Text = str | None


@dataclass(frozen=True, slots=True)
class PrivateTexts(Generic[T]):
    """Released texts, and what is promised about them."""

    texts: T  # the kind that was given: list, pandas or polars Series, Arrow array
    guarantee: Guarantee
    spec: Any  # a ReleaseSpec that repeats the release; None where what drew was brought

    def __repr__(self) -> str:
        """A few lines: how many texts, and the promise."""
        return f"<{counted(len(self.texts), 'released text')}: {self.guarantee.sentence()}>"  # type: ignore[arg-type]


def privatize(
    texts: T,
    strength: str | None = None,
    *,
    spec: ReleaseSpec | None = None,
    privatizer: Any = None,
    ids: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    rng: Rng | None = None,
    ledger: Ledger | str | Path | bool = True,
    limits: Limits | None = None,
    **described: Any,
) -> PrivateTexts[T]:
    """Release texts that are in memory; the result has `.texts` and their `.guarantee`.

    `texts` is a list, tuple, NumPy array, pandas or polars Series, or Arrow array or chunked array;
    the result's texts are of the same kind, with the same index, name or chunks. Missing values
    stay missing, unless `length` is fixed or a text is one draw (`unit="text"`): then a missing
    text comes out like an empty one, so that it does not show.

    The release is described by a `spec`, or by `strength` and the fields of
    :class:`inkblur.ReleaseSpec` and parameters of its mechanism; or what draws is given, a
    `privatizer` of one's own (:class:`inkblur.own.OwnPrivatizer`). `rng` draws the noise: a fresh
    secret key if it is left out. With a key that is used again, `ids` name the texts, one id a
    text; if they are left out, a text's content and the number of its occurrences so far do, as in
    a file.

    Every release is entered in a `ledger`: a path, a `postgresql://` URL, True for the user's own,
    False for none. `limits` are the budgets it keeps to, all texts or none; a person's needs
    `people`, one for each text, and a record's needs `ids`.

    The index of a pandas Series comes out with the texts, so it must be named in `keep_columns`
    (`index` if it has no name) unless it only numbers the rows (a RangeIndex).

    >>> import inkblur
    >>> release = inkblur.privatize(["The doctor was angry.", None], strength="medium")
    >>> [len(text.split()) for text in release.texts]
    [8, 8]
    >>> release.guarantee.private
    True
    >>> inkblur.privatize(["So was I."], mechanism="laplace", epsilon=60.0, length=5).spec.name
    'laplace, epsilon 60, length 5'
    """
    if privatizer is None:
        prepared = prepare(described_spec(spec, strength, described), rng)
    else:
        key = secure_rng() if rng is None else rng
        prepared = prepare_own(privatizer, key, strength=strength, spec=spec, **described)
    if isinstance(prepared.privatizer, SyntheticVectors):
        raise ParameterError('vectors are no texts: use inkblur.TextPrivatizer(release="tf")')
    if names_rows(texts):
        _check_index(texts, () if prepared.spec is None else prepared.spec.keep_columns)
    rows, back = _opened(texts)
    names = _beside(ids, "ids", len(rows))
    if names is not None and None in names:
        raise ParameterError("some of the ids are missing: name every text")
    if names is not None and len(set(names)) != len(names):
        raise ParameterError(f"ids must be {len(rows):,} different names, one for each text")
    owners = _beside(people, "people", len(rows)) or [None] * len(rows)
    hides_length = prepared.privatizer.hides_length
    given = [
        Record(name or "", row or "", f"text {place}", person)
        for place, (name, row, person) in enumerate(
            zip(names or [""] * len(rows), rows, owners, strict=True)
        )
        if row is not None or hides_length
    ]
    with prepared.charged_to(ledger, limits, ids=ids, option="`ids=`") as release:
        columns = Columns(id=None if ids is None else "ids")
        stream = release.stream(columns)
        checked = stream.check(Batch(tuple(given)))
        if limits:
            stream.charge(checked)  # before anything is drawn
        drawn = stream.draw(checked)
        released = iter(drawn.texts(stream.charge(drawn)))
        out = [next(released) if row is not None or hides_length else None for row in rows]
    promised = release.guarantee(Fate(columns.texts))
    if names_rows(texts):
        promised = promised.passing(["the index, copied as is"])
    return PrivateTexts(back(out), promised, release.spec)


def _beside(names: Any, what: str, count: int) -> list[str | None] | None:
    """What stands beside the texts, a name for each; None where one is missing."""
    if names is None:
        return None
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise ParameterError(f"{what} must be a list of names, one for each text, not {names!r}")
    listed = [None if is_missing(name) else str(name) for name in names]
    if len(listed) != count:
        raise ParameterError(f"{what} must be {counted(count, 'name')}, one for each text")
    return listed


def _opened(texts: Any) -> tuple[list[Text], Callable[[list[Text]], Any]]:
    """The texts as a list, None where missing, and what makes the same kind of a list again.

    A library is looked for in what was given, and is so imported already: none is loaded here.
    """
    if isinstance(texts, (str, bytes)):
        raise ParameterError("give a list of texts, not one text")
    library = type(texts).__module__.split(".")[0]
    if isinstance(texts, (list, tuple)):
        return _checked(texts), list if isinstance(texts, list) else tuple
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise ParameterError(f"an array of texts has one dimension, this one has {texts.ndim}")
        return _checked(texts.tolist()), lambda out: np.array(out, dtype=object)
    if library == "pandas" and type(texts).__name__ == "Series":
        return _checked(texts.tolist()), lambda out: _pandas(texts, out)
    if library == "polars" and type(texts).__name__ == "Series":
        polars = sys.modules["polars"]
        return _checked(texts.to_list()), lambda out: polars.Series(texts.name, out, polars.String)
    if library == "pyarrow" and hasattr(texts, "to_pylist") and hasattr(texts, "type"):
        return _checked(texts.to_pylist()), lambda out: _arrow(texts, out)
    raise ParameterError(
        "texts must be a list, tuple, NumPy array, pandas or polars Series or Arrow array, got "
        f"{type(texts).__module__}.{type(texts).__name__}; of a table, give one column"
    )


def _checked(values: Sequence[Any]) -> list[Text]:
    rows: list[Text] = []
    for place, value in enumerate(values):
        if isinstance(value, str):
            rows.append(str(value))
        elif is_missing(value):
            rows.append(None)
        else:
            raise ParameterError(f"text {place} is of type {type(value).__name__}, not str")
    return rows


def _check_index(texts: Any, keep: Sequence[str]) -> None:
    """Refuse a pandas Series with an index that nobody named; warn of what a named one tells.

    Left out it cannot be: the texts would be put back into other rows of the frame they are from.
    """
    index, first = texts.index, texts.iloc[:ROWS]
    usual = ["index"] if index.nlevels == 1 else [f"level_{n}" for n in range(index.nlevels)]
    levels = [str(one if own is None else own) for own, one in zip(index.names, usual, strict=True)]
    unnamed = [name for name in levels if name not in keep]
    if unnamed:
        raise PrivacyError(
            f"the index of the Series ({', '.join(map(repr, unnamed))}) would be copied beside the "
            f"texts: leave it out with `texts.reset_index(drop=True)`, or copy it knowingly with "
            f"`keep_columns={levels}`"
        )
    rows = first.index if index.nlevels > 1 else zip(first.index, strict=True)
    records = [Record("", text or "") for text in _checked(first.tolist())]
    cells = Rows([dict(zip(levels, map(str, row), strict=True)) for row in rows])
    look = ColumnLook()
    look.read(Batch(tuple(records), cells))
    warn_of(look.telling)


def _pandas(like: Any, out: list[Text]) -> Any:
    pandas = sys.modules["pandas"]
    kept = like.dtype if isinstance(like.dtype, pandas.StringDtype) else object
    index = like.index
    # Levels and categories may be those of rows that somebody left out before. The same labels, so
    # that texts can be put back into the frame they came from.
    if isinstance(index, pandas.MultiIndex):
        index = index.remove_unused_levels()
        index = index.set_levels(
            [
                level.astype(level.categories.dtype)
                if isinstance(level, pandas.CategoricalIndex)
                else level
                for level in index.levels
            ]
        )
    elif isinstance(index, pandas.CategoricalIndex):
        index = index.astype(object)
    return pandas.Series(out, index=index, name=like.name, dtype=kept)


def _arrow(like: Any, out: list[Text]) -> Any:
    pyarrow = sys.modules["pyarrow"]
    kinds = (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view())
    kind = like.type if like.type in kinds else pyarrow.string()
    if not isinstance(like, pyarrow.ChunkedArray):
        return pyarrow.array(out, kind)
    ends = np.cumsum([0, *(len(chunk) for chunk in like.chunks)]).tolist()
    parts = [out[start:end] for start, end in pairwise(ends)]
    return pyarrow.chunked_array([pyarrow.array(part, kind) for part in parts], kind)
