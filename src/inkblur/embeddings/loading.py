"""Vector files of other programs: their format, and the words of them that are kept.

- The same word twice: the first wins, the others are dropped and counted.
- A word that is not UTF-8 can stand in no text and may not be written into one, so it is left out
  and counted (Google News has a few). Nothing is replaced, so two words can never become one. Where
  more than one word in a hundred is like that, the file has another encoding: an error.
- A limit means the file's first so many words (dropped ones not counted); a vocabulary then picks
  among those.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path

import numpy as np

from inkblur.embeddings.store import BUNDLED, SUFFIX, Progress, find
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
    format: str | None,
    limit: int | None,
    vocabulary: str | Path | Iterable[str] | None,
    name: str | None,
    on_progress: Progress | None,
) -> Embedding:
    """The table of a file in any format but our own; see :func:`inkblur.load_embedding`."""
    wanted, wanted_from = (None, "") if vocabulary is None else public_words(vocabulary)
    words: list[str] = []
    rows = np.empty((0, 0), dtype=np.float32)  # grown in place: the table is never there twice
    seen: set[str] = set()
    duplicates, not_utf8, first_not_utf8 = 0, 0, ""
    with ByteSource(path, on_progress) as source:
        kind = sniff(source) if format is None else choose(EmbeddingFormat, format, "format")
        for found, vectors in _chunks(source, kind):
            kept: list[int] = []
            for row, raw in enumerate(found):
                if len(seen) == limit:
                    break
                try:
                    word = raw.decode()
                except UnicodeDecodeError:
                    first_not_utf8 = first_not_utf8 or f"{raw!r} after {len(seen)} words"
                    not_utf8 += 1
                    continue
                if word in seen:
                    duplicates += 1
                    continue
                seen.add(word)
                if wanted is None or word in wanted:
                    kept.append(row)
                    words.append(word)
            if len(words) > len(rows):
                # realloc moves pages instead of copying them, and untouched pages cost nothing
                size = max(len(words), len(rows) * 3 // 2, _FIRST_ROWS)
                rows.resize((size, vectors.shape[1]), refcheck=False)
            if kept:
                rows[len(words) - len(kept) : len(words)] = vectors[kept]
            if len(seen) == limit:
                break
    read = len(seen) + duplicates + not_utf8
    if not_utf8 * _TOLERATED > read:
        raise EmbeddingError(
            f"{not_utf8} of the first {read} words in {path} are not UTF-8 (first: "
            f"{first_not_utf8}); convert the file, e.g. `iconv -f latin1 -t utf-8`"
        )
    if len(words) < 2 and wanted is not None:
        raise EmbeddingError(
            f"only {len(words)} of the {counted(len(wanted), 'word')} in {wanted_from} are in "
            f"{path}; at least 2 are needed (is the list in the same case?)"
        )
    if len(words) < 2:
        raise EmbeddingError(
            f"{path} gives {counted(len(words), 'usable word')}; an embedding needs at least 2 "
            "(with one word there is nothing to choose from)"
        )
    rows.resize((len(words), rows.shape[1]), refcheck=False)
    provenance = {
        "source": path.name,
        "format": kind.value,
        "duplicates_dropped": duplicates,
        "not_utf8_skipped": not_utf8,
        **({} if limit is None else {"limit": limit}),
        **({} if wanted is None else {"vocabulary": wanted_from}),
    }
    plain = path.name.removesuffix(".gz") or path.name
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix) or plain
    return Embedding.checked_before(tuple(words), rows, name or plain, provenance)


def _chunks(source: ByteSource, kind: EmbeddingFormat) -> Iterator[tuple[Sequence[bytes], Vectors]]:
    if kind is EmbeddingFormat.WORD2VEC_BINARY:
        return read_binary(source)
    if kind is not EmbeddingFormat.NPY:
        return read_text(source, header=kind is not EmbeddingFormat.GLOVE)
    if source.is_packed:
        raise EmbeddingError(f"{source.path} is packed with gzip; unpack it first")
    return read_npy(source.path)


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
