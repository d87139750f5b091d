"""All that README, docs/evaluation.md and strengths.json print of the strengths, measured anew.

    python tools/bundled/measure.py prepare measured     # with inkblur installed: writes table.npz
    INKBLUR_DATA=data python tools/bundled/measure.py run measured --processes 16
    python tools/bundled/measure.py store measured       # with inkblur installed

`run` works in a checkout on a machine that has numpy, scipy and scikit-learn and nothing else: it
reads the table from the folder and draws from NumPy's generator where `cryptography` is missing,
which is good enough for measuring. It needs reuters-c50 (5.2 MB), pan18-fanfiction (.5 MB) and
english-novels (1.2 MB) of the data folder. A run that was stopped goes on. Left out: mechanisms
other than the staircase, epsilons below 1 and above 3.5, and half of the repetitions on PAN 2018
(`strengths.py` and `tracing.py` measure them, over hours).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import sys
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir
from types import ModuleType
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import numpy as np  # noqa: E402

TABLE = "INKBLUR_MEASURED_TABLE"  # worker processes read it
EPSILONS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
REPETITIONS = 2  # of the four on PAN 2018, each of ten draws
RESULTS = "results.jsonl"


class NumPyStream:
    """Stands in for the cipher's keystream: random, and no secret."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        seed = hashlib.blake2b(key + nonce, digest_size=32).digest()
        self._drawn = np.random.Generator(np.random.Philox(int.from_bytes(seed[:16])))

    def encryptor(self) -> NumPyStream:
        """Itself."""
        return self

    def update(self, zeros: bytes) -> bytes:
        """So many random bytes."""
        return self._drawn.bytes(len(zeros))

    def update_into(self, zeros: Any, out: Any) -> int:
        """The same, into a buffer."""
        out[:] = self._drawn.bytes(len(zeros))
        return len(zeros)


def stand_in() -> None:
    """Modules that `import inkblur` looks for, where they are not installed."""
    if importlib.util.find_spec("cryptography") is None:
        top = "cryptography.hazmat.primitives.ciphers"
        names = [top[:place] for place, sign in enumerate(top) if sign == "."] + [top]
        for name in names:
            sys.modules[name] = ModuleType(name)
        ciphers: Any = sys.modules[top]
        ciphers.Cipher = lambda algorithm, mode: NumPyStream(*algorithm)
        ciphers.CipherContext = NumPyStream
        algorithms: Any = ModuleType(f"{top}.algorithms")
        algorithms.ChaCha20 = lambda key, nonce: (key, nonce)
        sys.modules[f"{top}.algorithms"] = algorithms
    if importlib.util.find_spec("pyarrow") is None:
        for name in ("pyarrow", "pyarrow.csv", "pyarrow.compute", "pyarrow.parquet"):
            nothing: Any = ModuleType(name)
            nothing.__getattr__ = lambda _: Exception  # its errors are named where it is imported
            sys.modules[name] = nothing
    if importlib.util.find_spec("platformdirs") is None:
        folders: Any = ModuleType("platformdirs")
        folders.user_cache_path = folders.user_data_path = lambda *_, **__: Path(gettempdir())
        sys.modules["platformdirs"] = folders


stand_in()
import inkblur  # noqa: E402
from inkblur.embeddings.table import Embedding  # noqa: E402


@cache
def measured_table(path: str) -> Embedding:
    """The table that `prepare` wrote."""
    held = np.load(path)
    words = held["words"].tobytes().decode().split("\n")
    return Embedding(words, held["vectors"], name="bundled", counts=held["counts"])


def use_measured_table() -> None:
    """In place of the bundled file, which pyarrow reads."""
    library: Any = inkblur
    library.load_embedding = partial(measured_table, os.environ[TABLE])


if TABLE in os.environ:
    use_measured_table()

import kept_lines  # noqa: E402
import strengths  # noqa: E402  (they load the table through inkblur)
import tracing  # noqa: E402

import inkblur.mechanisms.strengths as stored  # noqa: E402


def prepare(options: argparse.Namespace) -> None:
    """Write the bundled table as arrays."""
    table = inkblur.load_embedding()
    options.folder.mkdir(exist_ok=True)
    words = np.frombuffer("\n".join(table.words).encode(), dtype=np.uint8)
    counts = np.asarray(table.counts)
    np.savez_compressed(
        options.folder / "table.npz", words=words, vectors=table.vectors, counts=counts
    )


def measured(job: tuple[Any, ...]) -> dict[str, Any]:
    """What the tool that a job begins with makes of the rest of it."""
    return TOOLS[job[0]].measured(job[1:])  # type: ignore[no-any-return]


TOOLS: dict[str, Any] = {"tracing": tracing, "strengths": strengths}


def run(options: argparse.Namespace) -> None:
    """Measure what is missing; the longest jobs begin first."""
    os.environ[TABLE] = str((options.folder / "table.npz").resolve())
    use_measured_table()
    assert stored.measured_strengths("staircase", inkblur.load_embedding()), "another table"
    asked = argparse.Namespace(
        mechanisms=["staircase", "untouched"],
        collections=list(strengths.COLLECTIONS),
        attacks=["authors", "original"],
        epsilons=[],
        repetitions=None,
    )
    traced = tracing.jobs(argparse.Namespace(**{**vars(asked), "mechanisms": ["staircase"]}))
    chances = [
        job for job in strengths.jobs(asked) if job[1] in (0.0, *EPSILONS) and job[3] < REPETITIONS
    ]
    jobs = [("tracing", *job) for job in traced] + [("strengths", *job) for job in chances]
    kept_lines.measure(options.folder / RESULTS, jobs, options.processes, measured)


def store(options: argparse.Namespace) -> None:
    """Choose and judge the strengths, write strengths.json, and print the tables."""
    for name in ("strengths", "tracing"):
        own = options.folder / f"{name}.jsonl"
        lines = kept_lines.lines(options.folder / RESULTS)
        mine = [{**line, "job": line["job"][1:]} for line in lines if line["job"][0] == name]
        own.write_text("".join(json.dumps(line) + "\n" for line in mine), encoding="utf-8")
        TOOLS[name].store(argparse.Namespace(results=str(own)))


def main() -> None:
    """Parse and run."""
    made = argparse.ArgumentParser(description=__doc__)
    parts = made.add_subparsers(required=True)
    for step in (prepare, run, store):
        part = parts.add_parser(step.__name__, help=step.__doc__)
        part.add_argument("folder", type=Path)
        part.set_defaults(step=step)
        if step is run:
            part.add_argument("--processes", type=int, default=1)
    options = made.parse_args()
    options.step(options)


if __name__ == "__main__":
    main()
