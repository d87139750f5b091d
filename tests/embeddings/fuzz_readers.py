"""Mutated files through one reader, in a process of its own with little memory.

    python -m tests.embeddings.fuzz_readers FORMAT COUNT SEED FOLDER

Every mutation must be read or refused with Inkblur's own error in one line. Prints how many were
read and how many refused. Used by test_mutated_files.py.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from inkblur import load_embedding
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.word_lists import read_frequencies
from inkblur.errors import InkblurError
from tests.embeddings.vector_files import as_binary, as_text, packed, sample

MEMORY = 1 << 30  # bytes that reading may take on top of what the imports map
SECONDS = 20  # a mutation that takes longer hangs
SPLICES = (b"\0", b"\xff\xff\xff\x7f", b"9" * 9, b" ", b"\n", b"nan", b"{}", b"\x80\x04", b"-1")


def write_ink(path: Path) -> None:
    words, vectors = sample(20, 4)
    names = [word.decode() for word in words]
    write_store(path, Embedding(names, vectors, name="x", counts=range(20, 0, -1)))


def write_npy(path: Path) -> None:
    words, vectors = sample(20, 4)
    np.save(path, vectors)
    path.with_name("x.vocab.txt").write_bytes(b"\n".join(words) + b"\n")


def text_writer(*, header: bool) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        packed(path, as_text(*sample(20, 4), header=header))

    return write


def write_binary(path: Path) -> None:
    path.write_bytes(as_binary(*sample(20, 4)))


def write_counts(path: Path) -> None:
    path.write_text("the 90\nof 45\nto 30\n", encoding="utf-8")


FORMATS: dict[str, tuple[str, Callable[[Path], None], Callable[[Path], object]]] = {
    "ink": ("x.ink", write_ink, load_embedding),
    "glove": ("x.txt", text_writer(header=False), load_embedding),
    "word2vec": ("x.vec", text_writer(header=True), load_embedding),
    "binary": ("x.bin", write_binary, load_embedding),
    "gzip": ("x.gz", text_writer(header=True), load_embedding),
    "npy": ("x.npy", write_npy, load_embedding),
    "counts": ("x.txt", write_counts, read_frequencies),
}


def mutated(whole: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes: bits, bytes, cuts, doubled or dropped pieces, splices."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(data) + 1))
        length = int(rng.integers(1, 9))
        match int(rng.integers(0, 7)):
            case 0 if at < len(data):
                data[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                data[at : at + length] = rng.bytes(length)
            case 2:
                del data[at:]
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + 64]
            case 5:
                piece = SPLICES[int(rng.integers(0, len(SPLICES)))]
                data[at : at + len(piece)] = piece
            case _:
                piece = SPLICES[int(rng.integers(0, len(SPLICES)))]
                data[at:at] = piece
    return bytes(data)


def mapped() -> int:
    """Bytes of address space that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(kind: str, count: int, seed: int, folder: Path) -> None:
    name, write, read = FORMATS[kind]
    path = folder / name
    write(path)
    whole = path.read_bytes()
    read(path)  # brings in what the reader imports
    limit = mapped() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    rng = np.random.default_rng(seed)
    outcome = {"read": 0, "refused": 0}
    for _ in range(count):
        content = mutated(whole, rng)
        path.unlink()  # a new inode each time, and no write into a mapped file
        path.write_bytes(content)
        signal.alarm(SECONDS)
        try:
            read(path)
            outcome["read"] += 1
        except InkblurError as error:
            if "\n" in str(error):
                raise AssertionError(f"not one line: {error}") from error
            outcome["refused"] += 1
        except BaseException:
            (folder / "culprit").write_bytes(content)
            raise
    print(outcome["read"], outcome["refused"])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
