r"""Word vectors as text: word2vec and fastText (`.vec`) with a header line, GloVe without.

The rules, where files in the wild disagree:

- A first line of exactly two whole numbers is a header, "words dimension". It is held to both: more
  or fewer lines than it promises is an error.
- Without a header the dimension is what most of the first lines have.
- Fields are separated by one space (or one tab); one separator at the end of a line is ignored, as
  are empty lines. Lines end in `\n` or `\r\n`.
- A word may hold spaces (GloVe 840B has a few, such as `. . .`): the last `dimension` fields are
  the numbers, and everything before them is the word. A *number* in the middle of such a word means
  a line with too many numbers, and is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from inkblur.embeddings.numbers import NumberLines, dimension_of
from inkblur.embeddings.stream import BOM, ByteSource, check_dimension, checked_header
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors

_SAMPLED_LINES = 100


def separator_of(probe: bytes) -> bytes:
    """A tab where tabs are the commoner separator in the first line, a space otherwise."""
    line = probe.split(b"\n", 1)[0]
    return b"\t" if line.count(b"\t") > line.count(b" ") else b" "


def first_lines(probe: bytes) -> list[bytes]:
    """The first whole lines of a probe (its only one, where it holds no line end)."""
    lines = probe.split(b"\n")
    whole = lines[:-1] or lines
    return [line.removesuffix(b"\r") for line in whole[:_SAMPLED_LINES] if line.strip()]


def read_text(source: ByteSource, *, header: bool) -> Iterator[tuple[list[bytes], Vectors]]:
    """Words and vectors, a block of lines at a time."""
    promised, line_number = None, 1
    if source.peek(len(BOM)) == BOM:
        source.read(len(BOM))
    if header:
        promised, dimension = checked_header(source)
        line_number = 2
    separator = separator_of(source.peek())
    if not header:
        dimension = _usual_dimension(source, separator)
    lines = NumberLines(str(source.path), dimension, separator)
    found = 0
    for block in source.line_blocks():
        words, vectors = lines.parse(block, line_number)
        line_number += block.count(b"\n")
        found += len(words)
        yield words, vectors
    if promised is not None and found != promised:
        why = "it may be cut short, download it again" if found < promised else "correct that line"
        raise EmbeddingError(
            f"line 1 of {source.path} promises {promised} words, but {found} follow; {why}"
        )


def _usual_dimension(source: ByteSource, separator: bytes) -> int:
    sample = first_lines(source.peek())
    counts = Counter(dimension_of(line, separator) for line in sample)
    dimension = max(counts, key=lambda count: (counts[count], count), default=0)
    if dimension < 1:
        raise EmbeddingError(
            f"line 1 of {source.path} is not a word followed by numbers; "
            "`inkblur embeddings import --help` lists the formats"
        )
    check_dimension(dimension, f"line 1 of {source.path}")
    return dimension
