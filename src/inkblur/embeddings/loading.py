"""Vector files of other programs: their format, the words that are kept, importing them as `.ink`.

- The same word twice: the first wins, the others are dropped and counted.
- A word that is not UTF-8 can stand in no text and may not be written into one, so it is left out
  and counted (Google News has a few). Nothing is replaced, so two words can never become one. Where
  more than one word in a hundred is like that, the file has another encoding: an error.
- A limit means the file's first so many words (dropped ones not counted); a vocabulary then picks
  among those.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from inkblur.embeddings.store import BUNDLED, SUFFIX, Progress, find, load_embedding, write_store
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.text import read_text
from inkblur.embeddings.vector_files import ByteSource, header_of, read_binary, read_npy
from inkblur.embeddings.word_lists import public_words
from inkblur.errors import EmbeddingError, OutputError
from inkblur.types import Vectors, choose, counted

_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))
_NUMBER_BYTES = b"0123456789+-.eEnaifNAIF \t\r"
_SUFFIXES = (".txt", ".vec", ".bin", ".npy", SUFFIX)
_TOLERATED = 100  # one word in so many may be not UTF-8
_FIRST_ROWS = 1 << 12


class EmbeddingFormat(Enum):
    """The formats that are read; the value is what `--format` takes."""

    INK = "ink"  # Inkblur's own store
    GLOVE = "glove"  # text, no header
    WORD2VEC = "word2vec"  # text, header "words dimension"
    FASTTEXT = "fasttext"  # the same, as fastText's .vec files
    WORD2VEC_BINARY = "word2vec-binary"
    NPY = "npy"  # with a word list beside it


def read_vectors(
    path: Path,
    format: EmbeddingFormat | str | None,
    limit: int | None,
    vocabulary: str | Path | Iterable[str] | None,
    name: str | None,
    on_progress: Progress | None,
) -> Embedding:
    """The table of a file in any format but our own; see :func:`inkblur.load_embedding`."""
    wanted, wanted_from = (None, "") if vocabulary is None else public_words(vocabulary)
    builder = _TableBuilder(str(path), limit, wanted, wanted_from)
    with ByteSource(path, on_progress) as source:
        kind = sniff(source) if format is None else choose(EmbeddingFormat, format, "format")
        if kind is EmbeddingFormat.NPY:
            if source.is_packed:
                raise EmbeddingError(f"{path} is packed with gzip; unpack it first")
            chunks = read_npy(path)
        elif kind is EmbeddingFormat.WORD2VEC_BINARY:
            chunks = read_binary(source)
        else:
            chunks = read_text(source, header=kind is not EmbeddingFormat.GLOVE)
        for words, vectors in chunks:
            builder.add(words, vectors)
            if builder.is_full:
                break
    plain = path.name.removesuffix(".gz") or path.name
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix) or plain
    return builder.finish(name or plain, {"source": path.name, "format": kind.value})


def import_embedding(
    source: str | os.PathLike[str],
    dest: str | Path,
    *,
    limit: int | None = None,
    vocabulary: str | Path | Iterable[str] | None = None,
    format: str | None = None,
    name: str | None = None,
    frequencies: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Embedding:
    """Read `source` as :func:`load_embedding` does and write it to `dest`, an `.ink` file.

    What stands at `dest` is replaced, at the end and at once; a failed import leaves it as it was.
    """
    dest = Path(dest)
    check_dest(dest, source)
    embedding = load_embedding(
        source,
        limit=limit,
        vocabulary=vocabulary,
        format=format,
        name=name,
        frequencies=frequencies,
        on_progress=on_progress,
    )
    write_store(dest, embedding)
    return embedding


@dataclass
class _TableBuilder:
    """Grows one float32 array in place, so that the table is never in memory twice."""

    origin: str  # the file, as shown in errors
    limit: int | None
    wanted: frozenset[str] | None
    wanted_from: str
    duplicates: int = 0
    not_utf8: int = 0
    _first_not_utf8: str = ""
    _words: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _rows: Vectors | None = None

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached, so that reading can stop."""
        return self.limit is not None and len(self._seen) >= self.limit

    def add(self, words: Sequence[bytes], vectors: Vectors) -> None:
        """Take the words that belong into the table, with their vectors."""
        kept: list[int] = []
        start = len(self._words)
        for row, raw in enumerate(words):
            if self.is_full:
                break
            try:
                word = raw.decode()
            except UnicodeDecodeError:
                if not self.not_utf8:
                    self._first_not_utf8 = f"{raw!r} after {len(self._seen)} words"
                self.not_utf8 += 1
                continue
            if word in self._seen:
                self.duplicates += 1
                continue
            self._seen.add(word)
            if self.wanted is None or word in self.wanted:
                kept.append(row)
                self._words.append(word)
        if not kept:
            return
        count = len(self._words)
        if self._rows is None:
            self._rows = np.empty((max(count, _FIRST_ROWS), vectors.shape[1]), dtype=np.float32)
        elif count > len(self._rows):
            # realloc moves pages instead of copying them, and untouched pages cost nothing
            size = max(count, len(self._rows) * 3 // 2)
            self._rows.resize((size, vectors.shape[1]), refcheck=False)
        self._rows[start:count] = vectors if len(kept) == len(words) else vectors[kept]

    def finish(self, name: str, provenance: dict[str, Any]) -> Embedding:
        """The table, or an error where too little is left of the file."""
        read = len(self._seen) + self.duplicates + self.not_utf8
        if self.not_utf8 * _TOLERATED > read:
            raise EmbeddingError(
                f"{self.not_utf8} of the first {read} words in {self.origin} are not UTF-8 (first: "
                f"{self._first_not_utf8}); convert the file, e.g. `iconv -f latin1 -t utf-8`"
            )
        if len(self._words) < 2 and self.wanted is not None:
            raise EmbeddingError(
                f"only {len(self._words)} of the {counted(len(self.wanted), 'word')} in "
                f"{self.wanted_from} are in {self.origin}; at least 2 are needed (is the list in "
                "the same case?)"
            )
        if self._rows is None or len(self._words) < 2:
            raise EmbeddingError(
                f"{self.origin} gives {counted(len(self._words), 'usable word')}; an embedding "
                "needs at least 2 (with one word there is nothing to choose from)"
            )
        self._rows.resize((len(self._words), self._rows.shape[1]), refcheck=False)
        provenance |= {"duplicates_dropped": self.duplicates, "not_utf8_skipped": self.not_utf8}
        if self.limit is not None:
            provenance["limit"] = self.limit
        if self.wanted is not None:
            provenance["vocabulary"] = self.wanted_from
        return Embedding.checked_before(tuple(self._words), self._rows, name, provenance)


def sniff(source: ByteSource) -> EmbeddingFormat:
    """The format of `source` by its first bytes, nothing consumed."""
    probe = source.peek()
    if not probe.strip():
        raise EmbeddingError(f"{source.path} is empty; download it again")
    if probe.startswith(b"\x93NUMPY"):
        return EmbeddingFormat.NPY
    if probe.startswith(_FASTTEXT_MODEL):
        raise EmbeddingError(
            f"{source.path} is a fastText model, not its vectors; use the .vec file that lies "
            "beside it"
        )
    if probe[:1] == b"\x80" and probe[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        raise EmbeddingError(
            f"{source.path} is a Python pickle, which is never opened here; load it with the "
            "library that wrote it and make `inkblur.Embedding(words, vectors, name=...)` of it"
        )
    header = header_of(probe)
    if header is not None:
        body = probe.split(b"\n", 1)[1] if b"\n" in probe else b""
        if _looks_binary(body, header[1]):
            return EmbeddingFormat.WORD2VEC_BINARY
        return (
            EmbeddingFormat.FASTTEXT if ".vec" in source.path.suffixes else EmbeddingFormat.WORD2VEC
        )
    if b"\0" in probe:
        raise EmbeddingError(
            f"{source.path} is in an unknown format (binary, without a word2vec "
            "header); `inkblur embeddings import --help` lists the formats"
        )
    return EmbeddingFormat.GLOVE


def _looks_binary(body: bytes, dimension: int) -> bool:
    """Whether float32 bytes follow the first word, rather than the text of numbers."""
    _, _, rest = body.lstrip(b"\n").partition(b" ")
    line = rest.split(b"\n", 1)[0]
    if len(line.split()) == dimension and not line.strip(_NUMBER_BYTES):
        return False  # a line of text, whatever odd bytes later words hold
    return any(byte in body for byte in _CONTROL)


def check_dest(dest: Path, source: str | os.PathLike[str]) -> None:
    """Find out before the work whether an `.ink` file can be written to `dest`."""
    if dest.suffix != SUFFIX:
        raise OutputError(f"the destination must end in {SUFFIX}, got {dest.name}")
    if dest.is_dir():
        raise OutputError(f"{dest} is a directory; name a file in it")
    if not dest.parent.is_dir():
        raise OutputError(f"no such directory: {dest.parent}; make it first")
    if not os.access(dest.parent, os.W_OK):
        raise OutputError(f"cannot write into {dest.parent}: permission denied")
    if source != BUNDLED and dest.exists() and dest.samefile(find(source)):
        raise OutputError(f"{dest} is the source itself; choose another destination")


def available(directory: str | Path = ".") -> list[str]:
    """Names that `load_embedding` takes: the bundled one, then every `.ink` file of a directory."""
    directory = Path(directory)
    if not directory.is_dir():
        raise EmbeddingError(f"no such directory: {directory}")
    here = directory == Path()
    names = [BUNDLED]
    for path in sorted(directory.glob("*" + SUFFIX)):
        is_plain = here and path.stem != BUNDLED
        names.append(path.stem if is_plain else f"./{path}" if here else str(path))
    return names
