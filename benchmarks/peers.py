"""Other programs that do the same, where they are installed: each adapted to the same question.

They are measured as they are; nothing of theirs is improved or left out. What they promise differs:

* faiss IndexFlatL2 is an exact search in float32, and a search alone;
* mldp-text searches approximately (an inverted file, half of its cells) and takes the square root
  of its covariance anew for every word;
* pypantera normalizes its noise again *after* shaping it, which voids the paper's proof. Its
  package is named `src`, whatever the distribution is called.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from inkblur import Embedding
from inkblur.evaluation import Array, Ids

FAISS = "faiss IndexFlatL2"
_CELLS = 100  # of mldp-text's index, which cannot hold fewer words
ReplaceWords = Callable[[Sequence[str]], object]


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that replaces words."""

    make: Callable[[Embedding, float, float], ReplaceWords | None]  # table, epsilon, lambda
    words: int  # in one turn: they are slow, and one of them holds a table for each word


def installed(distribution: str) -> bool:
    """Whether a distribution is there; nothing is imported."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def missing() -> list[str]:
    """The peers that are not installed here."""
    return [name for name in ("faiss-cpu", "mldp-text", "pypantera") if not installed(name)]


def blas_kernels() -> list[str]:
    """For which processor each loaded OpenBLAS works.

    One that is older than the processor takes kernels of 2004 ("Prescott") and runs at a quarter of
    the speed, which flatters everyone else: OPENBLAS_CORETYPE=SKYLAKEX (or HASWELL) helps it.
    """
    found = (
        f"{entry['internal_api']} {entry['version']} ({entry['architecture']})"
        for entry in threadpool_info()
        if entry.get("architecture")
    )
    return sorted(set(found))


def old_kernels() -> bool:
    """Whether some OpenBLAS loaded here does not know this processor: its user is slowed down."""
    return any("(Prescott)" in kernel for kernel in blas_kernels())


def faiss_flat(vectors: NDArray[np.float32]) -> Callable[[Array], Ids] | None:
    """IndexFlatL2: float32, exact but for its rounding."""
    if not installed("faiss-cpu"):
        return None
    index = importlib.import_module("faiss").IndexFlatL2(vectors.shape[1])
    index.add(vectors)

    def search(queries: Array) -> Ids:
        ids: Ids = index.search(queries.astype(np.float32), 1)[1][:, 0]
        return ids

    return search


def mldp_text(table: Embedding, epsilon: float, lam: float) -> ReplaceWords | None:
    """Its Mahalanobis mechanism with its own defaults, word by word as it offers it."""
    if not installed("mldp-text") or not installed("gensim") or len(table) < _CELLS:
        return None
    with contextlib.redirect_stderr(io.StringIO()):  # it tries to fetch WordNet when imported
        package = importlib.import_module("mldp_text")
    vectors: Any = importlib.import_module("gensim.models").KeyedVectors(table.dimension)
    vectors.add_vectors(list(table.words), np.array(table.vectors))
    mechanism = package.Mahalanobis(
        epsilon, embedding_matrix=vectors, lambd=lam, dim=table.dimension
    )
    return lambda words: [mechanism.replace_word(word) for word in words]


def pypantera(table: Embedding, epsilon: float, lam: float) -> ReplaceWords | None:
    """Its Mahalanobis mechanism, given our table in place of a file."""
    if not installed("pypantera"):
        return None
    module = importlib.import_module("src.EmbeddingPerturbationMechanism.mahalanobis")
    vocabulary = importlib.import_module("src.utils.vocab").Vocab
    reader = vocabulary.loadParallel

    def hold(self: Any, path: str) -> None:
        self.embeddings = dict(zip(table.words, table.vectors, strict=True))

    vocabulary.loadParallel = hold
    try:
        mechanism = module.Mahalanobis({"embPath": "", "epsilon": epsilon, "lam": lam})
    finally:
        vocabulary.loadParallel = reader
    return lambda words: mechanism.processText(mechanism.noisyEmb(words))


MECHANISMS = {
    "mldp-text mahalanobis": Peer(mldp_text, words=8),
    "pypantera mahalanobis": Peer(pypantera, words=2),
}
