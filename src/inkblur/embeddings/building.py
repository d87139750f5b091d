"""Collects what a reader yields into one table: the rules about words that all formats share.

- The same word twice: the first wins, the others are dropped and counted.
- A word that is not UTF-8 can stand in no text and may not be written into one, so it is left out
  and counted (Google News has a few). Nothing is replaced, so two words can never become one. Where
  more than one word in a hundred is like that, the file has another encoding: an error.
- A limit means the file's first so many words (dropped ones not counted); a vocabulary then picks
  among those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors, counted

_TOLERATED = 100  # one word in so many may be not UTF-8
_FIRST_ROWS = 1 << 12


@dataclass
class TableBuilder:
    """Grows one float32 array in place, so that the table is never in memory twice."""

    origin: str  # the file, as shown in errors
    limit: int | None = None
    wanted: frozenset[str] | None = None
    wanted_from: str = "the vocabulary"
    duplicates: int = 0
    not_utf8: int = 0
    _first_not_utf8: str = ""
    _words: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _rows: Vectors | None = None

    @property
    def full(self) -> bool:
        """Whether the limit is reached, so that reading can stop."""
        return self.limit is not None and len(self._seen) >= self.limit

    def add(self, words: Sequence[bytes | str], vectors: Vectors) -> None:
        """Take the words that belong into the table, with their vectors."""
        kept: list[int] = []
        start = len(self._words)
        for row, raw in enumerate(words):
            if self.full:
                break
            word = _text(raw)
            if word is None:
                if not self.not_utf8:
                    self._first_not_utf8 = f"{raw!r} after {len(self._seen)} words"
                self.not_utf8 += 1
            elif word in self._seen:
                self.duplicates += 1
            else:
                self._seen.add(word)
                if self.wanted is None or word in self.wanted:
                    kept.append(row)
                    self._words.append(word)
        if not kept:
            return
        rows = self._room(len(self._words), vectors.shape[1])
        if len(kept) == len(words):
            rows[start : len(self._words)] = vectors
        else:
            rows[start : len(self._words)] = vectors[kept]

    def add_all(self, chunks: Iterable[tuple[Sequence[bytes | str], Vectors]]) -> None:
        """Take chunk after chunk until there are no more, or the limit is reached."""
        for words, vectors in chunks:
            self.add(words, vectors)
            if self.full:
                return

    def _room(self, count: int, dimension: int) -> Vectors:
        if self._rows is None:
            self._rows = np.empty((max(count, _FIRST_ROWS), dimension), dtype=np.float32)
        elif count > len(self._rows):
            # realloc moves pages instead of copying them, and untouched pages cost nothing
            self._rows.resize((max(count, len(self._rows) * 3 // 2), dimension), refcheck=False)
        return self._rows

    def finish(self, *, name: str, provenance: Mapping[str, Any]) -> Embedding:
        """The table, or an error where too little is left of the file."""
        read = len(self._seen) + self.duplicates + self.not_utf8
        if self.not_utf8 * _TOLERATED > read:
            raise EmbeddingError(
                f"{self.not_utf8} of the first {read} words in {self.origin} are not UTF-8 (first: "
                f"{self._first_not_utf8}); convert the file, e.g. `iconv -f latin1 -t utf-8`"
            )
        if self._rows is None or len(self._words) < 2:
            raise EmbeddingError(self._too_few())
        self._rows.resize((len(self._words), self._rows.shape[1]), refcheck=False)
        counts = {"duplicates_dropped": self.duplicates, "not_utf8_skipped": self.not_utf8}
        limits: dict[str, Any] = {}
        if self.limit is not None:
            limits["limit"] = self.limit
        if self.wanted is not None:
            limits["vocabulary"] = self.wanted_from
        provenance = {**counts, **provenance, **limits}
        return Embedding._trusted(tuple(self._words), self._rows, name=name, provenance=provenance)

    def _too_few(self) -> str:
        if self.wanted is not None:
            return (
                f"only {len(self._words)} of the {counted(len(self.wanted), 'word')} in "
                f"{self.wanted_from} are in {self.origin}; at least 2 are needed (is the list in "
                "the same case?)"
            )
        return (
            f"{self.origin} gives {counted(len(self._words), 'usable word')}; an embedding needs "
            "at least 2 (with one word there is nothing to choose from)"
        )


def _text(raw: bytes | str) -> str | None:
    try:
        if isinstance(raw, bytes):
            return raw.decode()
        raw.encode()  # lone surrogates are no text either
    except UnicodeError:
        return None
    return raw
