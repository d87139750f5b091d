"""The doors: `load_embedding` gives a table, `import_embedding` makes an `.ink` file of one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from pathlib import Path

from inkblur.embeddings.arrays import public_words
from inkblur.embeddings.building import TableBuilder
from inkblur.embeddings.frequencies import with_frequencies
from inkblur.embeddings.stream import ByteSource, Progress, header_of
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError, OutputError, ParameterError
from inkblur.types import Vectors, choose, whole

COMPRESSED = (".gz", ".bz2", ".zip")
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))
_NUMBER_BYTES = b"0123456789+-.eEnaifNAIF \t\r"
BUNDLED = "bundled"
SUFFIX = ".ink"
_SUFFIXES = (*COMPRESSED, ".txt", ".vec", ".bin", ".npy", SUFFIX)

VectorSource = str | os.PathLike[str]
Vocabulary = str | Path | Iterable[str]


class EmbeddingFormat(Enum):
    """The formats that are read; the value is what `--format` takes."""

    INK = "ink"  # Inkblur's own store
    GLOVE = "glove"  # text, no header
    WORD2VEC = "word2vec"  # text, header "words dimension"
    FASTTEXT = "fasttext"  # the same, as fastText's .vec files
    WORD2VEC_BINARY = "word2vec-binary"
    NPY = "npy"  # with a word list beside it


def load_embedding(
    source: VectorSource | None = None,
    *,
    limit: int | None = None,
    vocabulary: Vocabulary | None = None,
    format: EmbeddingFormat | str | None = None,
    name: str | None = None,
    frequencies: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Embedding:
    """Word vectors from wherever they are.

    `source` is nothing or "bundled" (the embedding shipped with Inkblur), a path, or the name of an
    `.ink` file in the current directory. Paths may be `.ink` files (memory-mapped, at once),
    word2vec text or binary, GloVe, fastText `.vec` (each also as .gz, .bz2 or .zip) or `.npy` with
    a word list beside it. The content shows the format, unless `format` names it.

    `limit` takes the first so many words; `vocabulary` (a file, one word per line, or the words)
    keeps only those. **The vocabulary must be public**: one taken from the text that is to be
    protected would leak it.

    `frequencies` is a public file of `word count` lines, or of words with the commonest first
    (counted by Zipf's law): it becomes the table's :attr:`~inkblur.Embedding.counts`.
    """
    table = _read(source, _builder(limit, vocabulary), format, name, on_progress)
    return table if frequencies is None else with_frequencies(table, Path(frequencies))


def _builder(limit: int | None, vocabulary: Vocabulary | None) -> TableBuilder:
    if limit is not None:
        limit = whole(limit, "limit")
    wanted, wanted_from = (None, "") if vocabulary is None else public_words(vocabulary)
    return TableBuilder("", limit, wanted, wanted_from)


def _read(
    source: VectorSource | None,
    builder: TableBuilder,
    format: EmbeddingFormat | str | None,
    name: str | None,
    on_progress: Progress | None,
) -> Embedding:
    if source is None or source == BUNDLED:
        if (
            format is not None
            and choose(EmbeddingFormat, format, "format") is not EmbeddingFormat.INK
        ):
            raise ParameterError("the bundled embedding has its own format; name a file to read")
        return _narrowed(_bundled(), builder, name)
    if not isinstance(source, str | os.PathLike):
        raise ParameterError(
            f"cannot load vectors from a {type(source).__name__}; give a path. "
            "`inkblur.Embedding(words, vectors, name=...)` takes arrays"
        )
    path = find(source)
    with ByteSource(path, on_progress) as stream:
        kind = sniff(stream) if format is None else choose(EmbeddingFormat, format, "format")
        if kind is EmbeddingFormat.INK:
            if stream.packed:
                raise EmbeddingError(f"{path} is packed with {stream.packed}; unpack it first")
            return _narrowed(_opened(path), builder, name)
        builder.origin = str(path)
        builder.add_all(read_chunks(stream, kind))
    provenance = {"source": path.name, "format": kind.value}
    return builder.finish(name=name or plain_name(path), provenance=provenance)


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    path: Path
    embedding: Embedding
    duplicates: int  # words dropped because they stood earlier in the file
    not_utf8: int  # words left out because they are no text
    seconds: float


def import_embedding(
    source: VectorSource,
    dest: str | Path,
    *,
    limit: int | None = None,
    vocabulary: Vocabulary | None = None,
    format: EmbeddingFormat | str | None = None,
    name: str | None = None,
    frequencies: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Imported:
    """Read `source` as :func:`load_embedding` does and write it to `dest`, an `.ink` file.

    What stands at `dest` is replaced, at the end and at once; a failed import leaves it as it was.
    """
    dest = Path(dest)
    check_dest(dest, source)
    began = time.perf_counter()
    builder = _builder(limit, vocabulary)
    embedding = _read(source, builder, format, name, on_progress)
    if frequencies is not None:
        embedding = with_frequencies(embedding, Path(frequencies))
    from inkblur.embeddings.store import write_store

    write_store(dest, embedding)
    return Imported(
        dest,
        embedding,
        duplicates=builder.duplicates,
        not_utf8=builder.not_utf8,
        seconds=time.perf_counter() - began,
    )


def find(source: str | os.PathLike[str]) -> Path:
    """The file that is meant: a path, or the name of an `.ink` file in the current directory."""
    path = Path(source)
    if path.exists() and not path.is_dir():
        return path
    named = path.with_name(path.name + SUFFIX) if path.name else path
    if named.is_file():
        return named
    if path.is_dir():
        raise EmbeddingError(
            f"{path} is a directory; name the file of word vectors inside it "
            f"(`inkblur embeddings list {path}` shows what is there)"
        )
    raise EmbeddingError(
        f"no such file or embedding: {path}; `inkblur embeddings list` shows what there is"
    )


def plain_name(path: Path) -> str:
    """A file's name without the suffixes that tell only its format.

    >>> plain_name(Path("vectors/glove.6B.300d.txt.gz"))
    'glove.6B.300d'
    """
    name = path.name
    for suffixes in (COMPRESSED, _SUFFIXES):
        for suffix in suffixes:
            if name.endswith(suffix) and name != suffix:
                name = name.removesuffix(suffix)
                break
    return name


def _bundled() -> Embedding:
    resource = resources.files("inkblur.embeddings").joinpath("data", BUNDLED + SUFFIX)
    if not resource.is_file():
        raise EmbeddingError(
            "the bundled embedding is missing from this installation; reinstall inkblur, "
            "or name a file of word vectors"
        )
    with resources.as_file(resource) as path:
        return _opened(path)


def _opened(path: Path) -> Embedding:
    from inkblur.embeddings.store import open_store  # brings pyarrow, so only when needed

    return open_store(path)


def _narrowed(table: Embedding, builder: TableBuilder, name: str | None) -> Embedding:
    if builder.limit is not None:
        table = table.first(builder.limit)
        table = table._with(provenance={**table.provenance, "limit": builder.limit})
    if builder.wanted is not None:
        table = table.restricted(builder.wanted, origin=builder.wanted_from)
    if name is None or name == table.name:
        return table
    return table._with(name=name, sha256=table.sha256)


def check_dest(dest: Path, source: VectorSource) -> None:
    """Find out before the work whether an `.ink` file can be written to `dest`."""
    if dest.suffix != SUFFIX:
        raise OutputError(f"the destination must end in {SUFFIX}, got {dest.name}")
    if dest.is_dir():
        raise OutputError(f"{dest} is a directory; name a file in it")
    if not dest.parent.is_dir():
        raise OutputError(f"no such directory: {dest.parent}; make it first")
    if not os.access(dest.parent, os.W_OK):
        raise OutputError(f"cannot write into {dest.parent}: permission denied")
    if not isinstance(source, str | os.PathLike) or source == BUNDLED:
        return
    if dest.exists() and dest.samefile(find(source)):
        raise OutputError(f"{dest} is the source itself; choose another destination")


def sniff(source: ByteSource) -> EmbeddingFormat:
    """The format of `source` by its first bytes, nothing consumed."""
    probe = source.peek()
    if not probe.strip():
        raise EmbeddingError(f"{source.path} is empty; download it again")
    kind = _by_magic(probe, source)
    if kind is not None:
        return kind
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


def read_chunks(
    source: ByteSource, kind: EmbeddingFormat
) -> Iterator[tuple[Sequence[bytes], Vectors]]:
    """Words and vectors of a file in any format but our own store."""
    if kind is EmbeddingFormat.NPY:
        if source.packed:
            raise EmbeddingError(f"{source.path} is packed with {source.packed}; unpack it first")
        from inkblur.embeddings.arrays import read_npy

        return read_npy(source.path)
    if kind is EmbeddingFormat.WORD2VEC_BINARY:
        from inkblur.embeddings.word2vec_binary import read_binary

        return read_binary(source)
    from inkblur.embeddings.text import read_text

    return read_text(source, header=kind is not EmbeddingFormat.GLOVE)


def _by_magic(probe: bytes, source: ByteSource) -> EmbeddingFormat | None:
    if probe.startswith(b"ARROW1\0\0"):
        return EmbeddingFormat.INK
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
    return None


def _looks_binary(body: bytes, dimension: int) -> bool:
    """Whether float32 bytes follow the first word, rather than the text of numbers."""
    _, _, rest = body.lstrip(b"\n").partition(b" ")
    line = rest.split(b"\n", 1)[0]
    if len(line.split()) == dimension and not line.strip(_NUMBER_BYTES):
        return False  # a line of text, whatever odd bytes later words hold
    return any(byte in body for byte in _CONTROL)
