"""The first line of word2vec and fastText files: how many words, how many dimensions."""

from __future__ import annotations

from inkblur.embeddings.stream import ByteSource
from inkblur.errors import EmbeddingError

BOM = b"\xef\xbb\xbf"  # some editors put it before the first character of UTF-8 text
LARGEST_DIMENSION = 1 << 14  # word vectors have some hundreds; a wrong number here costs gigabytes
_LENGTH = 64


def header_of(probe: bytes) -> tuple[int, int] | None:
    r"""(words, dimension) where the first line is a header.

    >>> header_of(b"400000 300\nthe 0.1"), header_of(b"the 0.1 0.2\n")
    ((400000, 300), None)
    """
    line = probe.removeprefix(BOM)[:_LENGTH].split(b"\n", 1)[0]
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def check_dimension(dimension: int, where: str) -> None:
    """Refuse a dimension that no word vectors have, before memory is taken for it."""
    if dimension > LARGEST_DIMENSION:
        raise EmbeddingError(
            f"{where} gives vectors of {dimension} numbers, more than {LARGEST_DIMENSION}; "
            "is this a file of word vectors?"
        )


def checked_header(source: ByteSource) -> tuple[int, int]:
    """Read the header off `source`, or say that there is none."""
    header = header_of(source.peek(_LENGTH + len(BOM)))
    if header is None:
        raise EmbeddingError(
            f"line 1 of {source.path} is not a word2vec header (two whole numbers, words and "
            'dimension); GloVe files have none: try `format="glove"`'
        )
    words, dimension = header
    if words < 1 or dimension < 1:
        raise EmbeddingError(f"line 1 of {source.path} promises {words} words x {dimension}")
    check_dimension(dimension, f"line 1 of {source.path}")
    line = source.peek(_LENGTH + len(BOM)).split(b"\n", 1)[0]
    source.read(len(line) + 1)
    return header
