"""Which format a file of word vectors has, detected from its content, and the reader for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from inkblur.embeddings.stream import ByteSource, header_of
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors

COMPRESSED = (".gz", ".bz2", ".zip")
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))
_NUMBER_BYTES = b"0123456789+-.eEnaifNAIF \t\r"


class EmbeddingFormat(Enum):
    """The formats that are read; the value is what `--format` takes."""

    INK = "ink"  # Inkblur's own store
    GLOVE = "glove"  # text, no header
    WORD2VEC = "word2vec"  # text, header "words dimension"
    FASTTEXT = "fasttext"  # the same, as fastText's .vec files
    WORD2VEC_BINARY = "word2vec-binary"
    NPY = "npy"  # with a word list beside it


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
            "library that wrote it and pass the KeyedVectors object to load_embedding()"
        )
    return None


def _looks_binary(body: bytes, dimension: int) -> bool:
    """Whether float32 bytes follow the first word, rather than the text of numbers."""
    _, _, rest = body.lstrip(b"\n").partition(b" ")
    line = rest.split(b"\n", 1)[0]
    if len(line.split()) == dimension and not line.strip(_NUMBER_BYTES):
        return False  # a line of text, whatever odd bytes later words hold
    return any(byte in body for byte in _CONTROL)
