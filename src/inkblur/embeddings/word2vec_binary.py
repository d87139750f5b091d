"""word2vec's binary files: a header line, then `word`, a space and little-endian float32 numbers.

Some writers put a newline (or `\\r\\n`) before each word, some do not: it is skipped. Nothing may
follow the last vector but such newlines.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inkblur.embeddings.stream import BLOCK, ByteSource, checked_header
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors, counted

_LONGEST_WORD = 1 << 16


def read_binary(source: ByteSource) -> Iterator[tuple[list[bytes], Vectors]]:
    """Words and vectors, some megabytes at a time."""
    promised, dimension = checked_header(source)
    width = 4 * dimension
    data, base, done = b"", source.offset, 0  # base: where in the file `data` begins
    while done < promised:
        more = source.read(max(BLOCK, width + _LONGEST_WORD))
        data += more
        words, rows, used = _whole_entries(data, width, promised - done)
        for index, word in enumerate(words):
            if not word:
                raise EmbeddingError(
                    f"{source.path}: vector {done + index + 1} has no word (before byte "
                    f"{base + used}); the file is damaged, or not word2vec binary"
                )
        vectors = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(words), dimension)
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            wrong = int(np.flatnonzero(~finite)[0])
            raise EmbeddingError(
                f"{source.path}: the vector of word {done + wrong + 1} "
                f"({words[wrong].decode('utf-8', 'backslashreplace')!r}) is not finite; "
                "the file is damaged, or its header gives a wrong dimension"
            )
        done += len(words)
        data, base = data[used:], base + used
        if not more and done < promised:
            raise EmbeddingError(
                f"{source.path} is cut short: it ends at byte {source.offset}, inside word "
                f"{done + 1} of the {promised} its header promises; download it again"
            )
        if not words and len(data) > width + _LONGEST_WORD:
            raise EmbeddingError(
                f"{source.path}: no word of plausible length at byte {base}; "
                "the file is damaged, or its header gives a wrong dimension"
            )
        yield words, vectors.astype(np.float32, copy=False)
    while rest := (data + source.read(BLOCK)):
        data = b""
        if rest.strip(b"\n\r"):
            raise EmbeddingError(
                f"{source.path}: its header promises {counted(promised, 'word')}, but more bytes "
                "follow after the last; correct the header or download the file again"
            )


def _whole_entries(data: bytes, width: int, most: int) -> tuple[list[bytes], list[bytes], int]:
    """Up to `most` entries that lie whole in `data`, and how many bytes they take."""
    words: list[bytes] = []
    rows: list[bytes] = []
    at = 0
    while len(words) < most:
        start = at
        while data[start : start + 1] in (b"\n", b"\r"):
            start += 1
        space = data.find(b" ", start)
        if space < 0 or space + 1 + width > len(data):
            break
        words.append(data[start:space])
        at = space + 1 + width
        rows.append(data[space + 1 : at])
    return words, rows, at
