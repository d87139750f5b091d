"""Word vectors that are an array already: `.npy` beside a word list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.stream import BOM, check_dimension
from inkblur.errors import MALFORMED, EmbeddingError
from inkblur.types import Vectors, counted

LIST_SUFFIXES = (".vocab.txt", ".words.txt", ".txt")  # beside X.npy: X.vocab.txt, ...
_ROWS = 1 << 13
# A .npy header is a Python literal: numpy raises whatever its parser does.
_MALFORMED = (*MALFORMED, MemoryError, TokenError, UserWarning)


def read_npy(path: Path) -> Iterator[tuple[Sequence[bytes], Vectors]]:
    """Words and vectors of `X.npy` and the word list beside it; pickled arrays are refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that numpy has to mend is a damaged one
            table = np.load(path, mmap_mode="r", allow_pickle=False)
    except _MALFORMED as error:
        raise EmbeddingError(
            f"{path} is not a readable .npy table of numbers ({error!s:.80}); "
            "write it again with numpy.save from a float32 array"
        ) from None
    except OSError as error:
        raise EmbeddingError(f"cannot read {path}: {error.strerror or error}") from None
    yield from _chunks(_listed_words(word_list_beside(path)), table, str(path))


def word_list_beside(path: Path) -> Path:
    """The word list that belongs to `X.npy`: X.vocab.txt, X.words.txt or X.txt."""
    stem = path.name.removesuffix(".npy")
    candidates = [path.with_name(stem + suffix) for suffix in LIST_SUFFIXES]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = ", ".join(candidate.name for candidate in candidates)
    raise EmbeddingError(f"{path} needs a word list beside it, one word per line: one of {names}")


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
    found = set()
    for number, line in enumerate(_lines(path), start=1):
        try:
            word = line.decode().strip()
        except UnicodeDecodeError as error:
            raise EmbeddingError(
                f"line {number} of {path} is not UTF-8 (byte {error.start} of the line); "
                "convert the list, e.g. `iconv -f latin1 -t utf-8`"
            ) from None
        if word:
            found.add(word)
    if not found:
        raise EmbeddingError(f"{path} holds no word; a vocabulary has one word per line")
    return frozenset(found), path.name


def _listed_words(path: Path) -> list[bytes]:
    words = _lines(path)
    for number, word in enumerate(words, start=1):
        if not word:
            raise EmbeddingError(f"line {number} of {path} is empty, expected a word")
    return words


def _lines(path: Path) -> list[bytes]:
    try:
        content = path.read_bytes().removeprefix(BOM)
    except FileNotFoundError:
        raise EmbeddingError(f"no such word list: {path}") from None
    except OSError as error:
        raise EmbeddingError(f"cannot read {path}: {error.strerror or error}") from None
    if not content:
        return []
    return [line.removesuffix(b"\r") for line in content.removesuffix(b"\n").split(b"\n")]


def _chunks(
    words: list[bytes], table: NDArray[Any], origin: str
) -> Iterator[tuple[Sequence[bytes], Vectors]]:
    if table.ndim != 2 or table.shape[1] < 1:
        raise EmbeddingError(
            f"{origin} has an array of shape {table.shape}, expected (words, dimension)"
        )
    check_dimension(table.shape[1], origin)
    if table.dtype.kind != "f":
        raise EmbeddingError(
            f"{origin} holds {table.dtype} values, expected floating-point numbers; "
            "convert it with .astype('float32')"
        )
    if len(words) != len(table):
        raise EmbeddingError(
            f"{origin} has {counted(len(table), 'vector')}, but its list has "
            f"{counted(len(words), 'word')}; they must match line by line"
        )
    for start in range(0, len(words), _ROWS):
        with np.errstate(over="ignore"):  # a float64 too large for float32 is caught just below
            rows = np.asarray(table[start : start + _ROWS]).astype(np.float32)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            wrong = start + int(np.flatnonzero(~finite)[0])
            raise EmbeddingError(
                f"{origin}: the vector of {words[wrong]!r} (row {wrong}) is not finite in float32"
            )
        yield words[start : start + _ROWS], rows
