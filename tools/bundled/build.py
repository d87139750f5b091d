"""Build the bundled embedding: word list -> model -> principal axes -> 8 bits -> `.ink` file.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python tools/bundled/build.py SOURCES OUTPUT

SOURCES is the folder that README.md fills. The same sources, package versions and processor give
the same file, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import encoder
import numpy as np
import wordlist
from numpy.typing import NDArray

from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.word_lists import zipf_counts

WORDS = 56_700  # with 200 dimensions and counts, 12.2 MB
DIMENSION = 200
FITTED_ON = 20_000  # the commonest words, which running text is made of, place the axes
_LARGEST_CODE = 127

Floats = NDArray[np.float64]


def reduce(vectors: Floats, dimension: int, fitted_on: int) -> Floats:
    """Coordinates (words, dimension) on the principal axes of the first `fitted_on` rows.

    Their mean is subtracted from every row. An axis is known only up to its sign: the one
    whose largest component is positive is taken.
    """
    mean = vectors[:fitted_on].mean(axis=0)
    centered = vectors[:fitted_on] - mean
    _, axes = np.linalg.eigh(centered.T @ centered)  # ascending
    axes = axes[:, ::-1][:, :dimension]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(dimension)])
    reduced: Floats = (vectors - mean) @ axes
    return reduced


def quantize(vectors: Floats) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Codes in [-127, 127] and a multiplier a dimension, which its largest value sets."""
    scale = (np.abs(vectors).max(axis=0) / _LARGEST_CODE).astype(np.float32)
    codes = np.clip(np.rint(vectors / scale), -_LARGEST_CODE, _LARGEST_CODE)
    return codes.astype(np.int8), scale


def provenance() -> dict[str, Any]:
    """What the file says about its own making; PROVENANCE.md beside it says more."""
    return {
        "model": "all-MiniLM-L6-v2 (Apache-2.0)",
        "model_sha256": encoder.WEIGHTS_SHA256,
        "reduction": f"mean and principal axes of the {FITTED_ON} commonest words",
        "order": "commonest word first",
        "counts": "Zipf's law by the words' order, 1 / (rank + 2.7)",
        "word_lists": [f"{s.name} {s.version} ({s.license})" for s in wordlist.SOURCES],
        "left_out": "obscenities, slurs and pornographic slang: tools/bundled/left_out.txt",
        "script": "tools/bundled/build.py",
    }


def main(arguments: list[str]) -> None:
    """Build the file and print its figures."""
    parser = argparse.ArgumentParser(description="Build the bundled embedding.")
    parser.add_argument("sources", type=Path, help="folder of unpacked sources (README.md)")
    parser.add_argument("output", type=Path, help="the .ink file to write")
    chosen = parser.parse_args(arguments)
    words = wordlist.commonest(chosen.sources, WORDS)
    vectors = reduce(encoder.encode(chosen.sources, words), DIMENSION, FITTED_ON)
    codes, scale = quantize(vectors)
    decoded = codes.astype(np.float32) * scale
    embedding = Embedding(
        words,
        decoded,
        name="bundled",
        provenance=provenance(),
        counts=zipf_counts(len(words)),
    )
    write_store(chosen.output, embedding, quantized=(codes, scale))
    error = np.linalg.norm(decoded - vectors, axis=1) / np.linalg.norm(vectors, axis=1)
    print(f"{len(words)} words x {DIMENSION}, {chosen.output.stat().st_size} bytes")
    print(f"relative rounding error: mean {error.mean():.5f}, largest {error.max():.5f}")
    print(f"same codes as another word: {len(codes) - len(np.unique(codes, axis=0))}")
    print(f"table sha256 {embedding.sha256}")
    print(f"file sha256  {hashlib.sha256(chosen.output.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main(sys.argv[1:])
