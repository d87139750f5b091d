"""Public lists of words: a vocabulary, word counts (`word count` lines, or words in rank order)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from inkblur.embeddings.table import Embedding, PublicCounts
from inkblur.embeddings.vector_files import lines_of
from inkblur.errors import EmbeddingError
from inkblur.types import counted

ZIPF_SHIFT = 2.7  # Zipf and Mandelbrot: the word of rank r has a share proportional to 1/(r + 2.7)
LAST_WORD = 100  # units of the rarest ranked word, so that rounding moves no count by over 1 %
_LARGEST_COUNT = (1 << 62) - 1


def zipf_counts(size: int) -> PublicCounts:
    """Units of the words at ranks 1 to `size` by Zipf's law; the last has `LAST_WORD` of them.

    >>> zipf_counts(3).tolist()
    [154, 121, 100]
    """
    ranks = np.arange(1, size + 1)
    counts: PublicCounts = np.rint(LAST_WORD * (size + ZIPF_SHIFT) / (ranks + ZIPF_SHIFT)).astype(
        np.int64
    )
    return counts


def with_frequencies(table: Embedding, path: Path) -> Embedding:
    """`table` with the counts of a public file; a word that the file lacks has one unit."""
    listed = read_frequencies(path)
    found = sum(word in listed for word in table.words)
    if found < 2:
        raise EmbeddingError(
            f"only {found} of the {len(table)} words of {table.name} are in {path}; "
            "is the list in the same language and case?"
        )
    counts = np.array([listed.get(word, 1) for word in table.words], dtype=np.int64)
    provenance = {**table.provenance, "counts": path.name}
    return table._with(provenance=provenance, counts=counts)


def read_frequencies(path: Path) -> dict[str, int]:
    """Counts by word: those of the file, or Zipf's law where it only has words, commonest first.

    The first line that is not empty decides which. A word that stands again adds to its count in a
    file of counts; in a list of words its first rank holds.
    """
    counts: dict[str, int] = {}
    with_counts: bool | None = None
    for number, line in enumerate(_text_lines(path), start=1):
        fields = line.split()
        if not fields:
            continue
        if with_counts is None:
            with_counts = len(fields) > 1
        at = f"line {number} of {path}"
        if len(fields) != (2 if with_counts else 1):
            expected = "`word count`" if with_counts else "one word, as line 1 has"
            raise EmbeddingError(f"{at} has {counted(len(fields), 'field')}, expected {expected}")
        if not with_counts:
            counts.setdefault(fields[0], 1)
            continue
        if not (fields[1].isascii() and fields[1].isdigit() and len(fields[1]) < 20):
            raise EmbeddingError(f"{at}: the count is not a whole number")
        total = counts.get(fields[0], 0) + int(fields[1])
        if not 1 <= total <= _LARGEST_COUNT:
            raise EmbeddingError(f"{at}: a count must be from 1 to 2^62")
        counts[fields[0]] = total
    if not counts:
        raise EmbeddingError(
            f"{path} holds no word; it needs `word count` lines, or a word per line"
        )
    if not with_counts:
        return dict(zip(counts, zipf_counts(len(counts)).tolist(), strict=True))
    return counts


def public_words(vocabulary: str | Path | Iterable[str]) -> tuple[frozenset[str], str]:
    """The words of a public list (a file, one word per line, or any iterable) and where it is from.

    Space around a word and empty lines do not count; a word may stand twice.
    """
    if not isinstance(vocabulary, str | Path):
        words = frozenset(vocabulary)
        if not words:
            raise EmbeddingError("the vocabulary is empty; it needs at least 2 words")
        return words, f"a list of {counted(len(words), 'word')}"
    path = Path(vocabulary)
    words = frozenset(word for line in _text_lines(path) if (word := line.strip()))
    if not words:
        raise EmbeddingError(f"{path} holds no word; a vocabulary has one word per line")
    return words, path.name


def _text_lines(path: Path) -> list[str]:
    """The lines of a word list in UTF-8."""
    found = []
    for number, line in enumerate(lines_of(path), start=1):
        try:
            found.append(line.decode())
        except UnicodeDecodeError as error:
            raise EmbeddingError(
                f"line {number} of {path} is not UTF-8 (byte {error.start} of the line); "
                "convert the list, e.g. `iconv -f latin1 -t utf-8`"
            ) from None
    return found
