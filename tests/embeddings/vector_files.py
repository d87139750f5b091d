"""Writers for the formats that Inkblur only reads: what other programs would have written."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inkblur.types import Vectors


def as_text(
    words: Sequence[bytes],
    vectors: Vectors,
    *,
    header: bool = False,
    separator: bytes = b" ",
    end: bytes = b"\n",
) -> bytes:
    lines = [f"{len(words)} {vectors.shape[1]}".encode()] if header else []
    for word, row in zip(words, vectors, strict=True):
        # nine digits tell any float32 from its neighbors
        lines.append(separator.join([word, *(f"{float(x):.9g}".encode() for x in row)]))
    return b"".join(line + end for line in lines)


def as_binary(words: Sequence[bytes], vectors: Vectors, *, newline: bytes = b"\n") -> bytes:
    parts = [f"{len(words)} {vectors.shape[1]}\n".encode()]
    for word, row in zip(words, vectors, strict=True):
        parts += [word, b" ", np.asarray(row, dtype="<f4").tobytes(), newline]
    return b"".join(parts)


def packed(path: Path, content: bytes) -> Path:
    """Write `content` as the path's suffix says."""
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def sample(count: int = 5, dimension: int = 3, seed: int = 7) -> tuple[list[bytes], Vectors]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return [f"w{i}".encode() for i in range(count)], vectors
