"""A peer's own process, in its own environment: nothing here may import Inkblur.

    python peer_worker.py PEER FOLDER EPSILON LAMBDA

FOLDER holds `words.json` and `vectors.npy`. The first line that is printed says that the peer is
ready. After that every line of input is a JSON list of words to replace, and the answer a JSON
object: what came out, the seconds that took by the clock and by the processor, and how much memory
was used at most.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PeerVectors = NDArray[np.float32]
ReplaceWords = Callable[[Sequence[str]], object]


def mldp_text(words: list[str], vectors: PeerVectors, epsilon: float, lam: float) -> ReplaceWords:
    """Its Mahalanobis mechanism with its own defaults, word by word as it offers it."""
    with contextlib.redirect_stderr(io.StringIO()):  # it tries to fetch WordNet when imported
        package = importlib.import_module("mldp_text")
    table: Any = importlib.import_module("gensim.models").KeyedVectors(vectors.shape[1])
    table.add_vectors(words, vectors)
    mechanism = package.Mahalanobis(
        epsilon, embedding_matrix=table, lambd=lam, dim=vectors.shape[1]
    )
    return lambda texts: [mechanism.replace_word(word) for word in texts]


def pypantera(words: list[str], vectors: PeerVectors, epsilon: float, lam: float) -> ReplaceWords:
    """Its Mahalanobis mechanism, given our table in place of a file."""
    module = importlib.import_module("src.EmbeddingPerturbationMechanism.mahalanobis")
    vocabulary = importlib.import_module("src.utils.vocab").Vocab

    def hold(self: Any, path: str) -> None:
        self.embeddings = dict(zip(words, vectors, strict=True))

    vocabulary.loadParallel = hold
    mechanism = module.Mahalanobis({"embPath": "", "epsilon": epsilon, "lam": lam})
    return lambda texts: mechanism.processText(mechanism.noisyEmb(texts))


MAKERS = {"mldp-text": mldp_text, "pypantera": pypantera}


def peak() -> int:
    """Bytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(name: str, folder: Path, epsilon: float, lam: float) -> None:
    """Answer line by line until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer prints must not mix with the answers
    words: list[str] = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    vectors: PeerVectors = np.load(folder / "vectors.npy", allow_pickle=False)
    before = peak()
    replace = MAKERS[name](words, vectors, epsilon, lam)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        asked: list[str] = json.loads(line)
        clock, processor = time.perf_counter(), time.process_time()
        out = replace(asked)
        answer = {
            "out": out if isinstance(out, str) else " ".join(map(str, out)),  # type: ignore[call-overload]
            "wall": time.perf_counter() - clock,
            "cpu": time.process_time() - processor,
            "memory": peak() - before,
        }
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
