"""Building a pool from public texts: cleaned, encoded, classified, put in order.

In a pool each text stands once, without what points at somebody: a released text was written by a
stranger. Addresses, long numbers and names of people in it are masked; this is a net for what has a
form, not a proof that nobody can be recognized.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

import numpy as np

from inkblur.blas import one_thread
from inkblur.documents.analysis import folded
from inkblur.documents.policies import is_name
from inkblur.documents.tokens import TokenClass, may_have_address, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError, needs
from inkblur.pools import classifier
from inkblur.pools.encoder import (
    MASKED,
    TextEncoder,
    TextPoints,
    WordEncoder,
    center_of,
    directions,
    on_sphere,
    points_of,
)
from inkblur.pools.pool import Pool
from inkblur.types import Ids, choose, counted, is_missing

LEAST = 2 * classifier.FOLDS  # texts of a label
_CELL = 2048  # texts in a cell, about
_STUDIED = 100_000  # texts that the cells are learned from
_ONE_CELL = 16 * _CELL  # labels of at most so many texts are one cell: the order is exact there
_LEAST_WORDS = 3
_LONG_NUMBER = re.compile(r"\+?\d(?:[ ().-]{0,2}\d){4,}")  # years and prices stay


class Identifiers(Enum):
    """What happens to a text that points at somebody."""

    MASK = "mask"
    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Texts that may stand in a pool, where they stood, and how many others were left out."""

    texts: tuple[str, ...]
    rows: tuple[int, ...]
    left_out: Counter[str]  # by reason
    masked: int  # texts in which something was masked


def clean(texts: Iterable[str], identifiers: Identifiers = Identifiers.MASK) -> Cleaned:
    """White space made even, identifiers masked, duplicates and short texts left out.

    >>> cleaned = clean(["Ask  Maria at m@x.org today", "ask Ann at a@x.org TODAY", "Hi"])
    >>> cleaned.texts, dict(cleaned.left_out)
    (('Ask [name] at [address] today',), {'duplicate': 1, 'too short': 1})
    """
    kept: list[str] = []
    rows: list[int] = []
    seen: set[bytes] = set()  # fingerprints: a million texts are to be built in 2 GB
    left_out: Counter[str] = Counter()
    masked = 0
    for row, text in enumerate(texts):
        plain = " ".join(text.encode(errors="replace").decode().split())  # no lone surrogates
        shown = plain if identifiers is Identifiers.KEEP else mask(plain)
        words = (t.kind is TokenClass.WORD for t in tokenize(MASKED.sub(" ", shown)))
        if sum(words) < _LEAST_WORDS:
            left_out["too short"] += 1
        elif shown != plain and identifiers is Identifiers.DROP:
            left_out["identifier"] += 1
        elif (same := sha256(shown.lower().encode()).digest()[:16]) in seen:
            left_out["duplicate"] += 1
        else:
            seen.add(same)
            kept.append(shown)
            rows.append(row)
            masked += shown != plain
    return Cleaned(tuple(kept), tuple(rows), left_out, masked)


def mask(text: str) -> str:
    """The text with [address], [number] and [name] in place of what they stand for.

    >>> mask("Call Maria Garcia, 0800 123-456, in 2024: WWW.EXAMPLE.ORG")
    'Call [name] [name], [number], in 2024: [address]'
    """
    if may_have_address(text):
        text = _replaced(text, TokenClass.ADDRESS)
    text = _LONG_NUMBER.sub("[number]", text)
    return _replaced(text, TokenClass.WORD)


def _replaced(text: str, kind: TokenClass) -> str:
    address = kind is TokenClass.ADDRESS
    out, end = [], 0
    for token in tokenize(text):
        if token.kind is kind and (address or is_name(folded(token.text))):
            out += [text[end : token.start], "[address]" if address else "[name]"]
            end = token.end
    return "".join([*out, text[end:]])


def build_pool(
    texts: Sequence[str],
    embedding: Embedding,
    *,
    labels: Sequence[str | int] | None = None,
    name: str = "pool",
    license: str = "",
    identifiers: Identifiers | str = Identifiers.MASK,
    exact: bool = False,
    encoder: TextEncoder | None = None,
    source: Mapping[str, Any] | None = None,
) -> Pool:
    """A pool of these public texts, encoded with this embedding.

    The texts must have been published, and must not be those to be protected. `labels` name what a
    release should keep first; a classifier for them is fitted on the pool (extra `sklearn`). In
    large labels nearness is judged by cells first, unless it is to be `exact`: then every draw
    looks at all texts of its label, which wants a GPU. `encoder` takes the place of the embedding's
    words, such as :class:`inkblur.pools.encoder.TransformerEncoder`.
    """
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise ParameterError(f"text {place} is a {type(text).__name__}, expected a string")
    for place, label in enumerate(() if labels is None else labels):
        if is_missing(label):
            raise ParameterError(f"label {place} is missing; leave such texts out")
    given = None if labels is None else [str(label) for label in labels]  # by place, not by index
    if given is not None and len(given) != len(texts):
        raise ParameterError(
            f"{counted(len(texts), 'text needs', 'texts need')} as many labels, got {len(given)}"
        )
    masking = choose(Identifiers, identifiers, "identifiers")
    cleaned = clean(texts, masking)
    encoder = WordEncoder(embedding) if encoder is None else encoder
    with one_thread():  # many small products
        towards = directions(encoder, cleaned.texts)
    known = np.flatnonzero(towards.any(axis=1))
    if len(known) < LEAST:
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in cleaned.left_out.items())
        raise InputError(
            f"{name}: {counted(len(known), 'text is', 'texts are')} left after cleaning, at least "
            f"{LEAST} are needed ({left_out or 'none was left out'}); give more public texts"
        )
    kept = [cleaned.texts[row] for row in known]
    if len(known) < len(towards):
        towards = towards[known]
    numbers: Ids = np.zeros(len(kept), dtype=np.int64)
    names: tuple[str, ...] = ("",)
    if given is not None:
        numbers, names = _numbered([given[cleaned.rows[row]] for row in known], name)
    center = center_of(towards)
    points = points_of(towards, center)
    del towards  # a million texts are to be built in 2 GB
    model, guessed = None, numbers
    if labels is not None:
        model, guessed = classifier.fit(kept, points, numbers)
    parts: list[Ids] = []  # texts by label and cell
    cell_labels: list[int] = []
    for label in range(len(names)):
        rows = np.flatnonzero(numbers == label)
        found = [rows] if exact else _cells(points, rows)
        parts += found
        cell_labels += [label] * len(found)
    order = np.concatenate(parts)
    middles = [points[part].sum(axis=0, dtype=np.int64) for part in parts]
    return Pool(
        texts=[kept[row] for row in order],
        points=points[order],
        center=center,
        cells=np.cumsum([0, *map(len, parts)]),
        cell_points=on_sphere(np.stack(middles)).astype(np.int16),
        cell_labels=np.array(cell_labels),
        label_names=names,
        given=guessed[order],
        classifier=model,
        encoder=encoder.name,
        provenance={
            "name": name,
            "license": license,
            "identifiers": masking.value,
            "texts_given": len(texts),
            "left_out": dict(cleaned.left_out),
            "masked": cleaned.masked,
            **(source or {}),
        },
    )


def _numbered(labels: Sequence[str], name: str) -> tuple[Ids, tuple[str, ...]]:
    """Labels as numbers, in order of their names."""
    found = Counter(labels)
    if len(found) < 2:
        raise InputError(
            f"{name}: all texts have the label {next(iter(found))!r}, which keeps nothing apart; "
            "build the pool without labels"
        )
    label, least = min(found.items(), key=lambda item: (item[1], item[0]))
    if least < LEAST:
        raise InputError(
            f"{name}: the label {label!r} has {counted(least, 'text')} after cleaning, at least "
            f"{LEAST} are needed; give more, or leave this label out"
        )
    names = tuple(sorted(found))
    places = {label: number for number, label in enumerate(names)}
    return np.array([places[label] for label in labels], dtype=np.int64), names


def _cells(points: TextPoints, rows: Ids) -> list[Ids]:
    if len(rows) <= _ONE_CELL:
        return [rows]
    with needs(f"a pool of more than {_ONE_CELL:,} texts needs scikit-learn", "sklearn"):
        from sklearn.cluster import MiniBatchKMeans
    model = MiniBatchKMeans(len(rows) // _CELL, batch_size=8192, n_init=1, random_state=0)
    model.fit(points[rows[:: -(-len(rows) // _STUDIED)]].astype(np.float32))
    blocks = range(0, len(rows), _CELL)
    cell = np.concatenate(
        [model.predict(points[rows[start : start + _CELL]].astype(np.float32)) for start in blocks]
    )
    return [found for c in range(model.n_clusters) if len(found := rows[cell == c])]
