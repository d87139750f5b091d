"""What can be said of an embedding in a few numbers, and which ones are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inkblur.embeddings.loading import BUNDLED, SUFFIX, load_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError

_ROWS = 1 << 14


def summarize(embedding: Embedding) -> dict[str, Any]:
    """Size, fingerprint and Euclidean lengths of the vectors, in bounded memory."""
    parts = [
        np.linalg.norm(embedding.vectors[start : start + _ROWS].astype(np.float64), axis=1)
        for start in range(0, len(embedding), _ROWS)
    ]
    norms = np.concatenate(parts)
    return {
        "name": embedding.name,
        "words": len(embedding),
        "dimension": embedding.dimension,
        "sha256": embedding.sha256,
        "norm_mean": float(norms.mean()),
        "norm_sd": float(norms.std()),
        "provenance": embedding.provenance,
    }


def verify(embedding: Embedding) -> None:
    """Compute the fingerprint afresh; an error where it is not the one stored with the table."""
    fresh = embedding._with().sha256
    if fresh != embedding.sha256:
        raise EmbeddingError(
            f"{embedding.name} is damaged: its content has the fingerprint {fresh}, "
            f"but {embedding.sha256} was stored with it; import it again"
        )


@dataclass(frozen=True)
class Listed:
    """One embedding that can be loaded by name, or the reason why it cannot."""

    name: str  # what load_embedding takes
    words: int = 0
    dimension: int = 0
    problem: str = ""


def available(directory: str | Path = ".") -> list[Listed]:
    """The bundled embedding, then every `.ink` file of a directory."""
    directory = Path(directory)
    if not directory.is_dir():
        raise EmbeddingError(f"no such directory: {directory}")
    here = directory == Path()
    names = [BUNDLED]
    for path in sorted(directory.glob("*" + SUFFIX)):
        plain = here and path.stem != BUNDLED
        names.append(path.stem if plain else f"./{path}" if here else str(path))
    return [_listed(name) for name in names]


def _listed(name: str) -> Listed:
    try:
        table = load_embedding(name)
    except EmbeddingError as error:
        return Listed(name, problem=str(error))
    return Listed(name, len(table), table.dimension)
