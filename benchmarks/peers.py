"""Other programs that do the same, each adapted to the same question.

They are measured as they are; nothing of theirs is improved or left out. What they promise differs:

* faiss IndexFlatL2 is an exact search in float32, and a search alone;
* mldp-text searches approximately (an inverted file, half of its cells) and takes the square root
  of its covariance anew for every word;
* pypantera normalizes its noise again *after* shaping it, which voids the paper's proof. Its
  package is named `src`, whatever the distribution is called.

The last two run in environments of their own: mldp-text needs NumPy below 2, with which Inkblur's
other libraries do not start, and a package named `src` belongs in nobody else's environment.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from benchmarks.peer_process import Peer, Unavailable
from inkblur.evaluation import Array, Ids

FAISS = "faiss IndexFlatL2"
MECHANISMS = {
    "mldp-text mahalanobis": Peer("mldp-text", "0.1.2", words=8, fewest=100),
    "pypantera mahalanobis": Peer("pypantera", "1.0.2", words=2),
}


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


def faiss_flat(vectors: NDArray[np.float32]) -> Callable[[Array], Ids]:
    """IndexFlatL2: float32, exact but for its rounding."""
    if importlib.util.find_spec("faiss") is None:
        raise Unavailable("faiss-cpu is not installed; `pip install '.[bench]'` brings it")
    index = importlib.import_module("faiss").IndexFlatL2(vectors.shape[1])
    index.add(vectors)

    def search(queries: Array) -> Ids:
        ids: Ids = index.search(queries.astype(np.float32), 1)[1][:, 0]
        return ids

    return search
