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

Two parsers read the lines. Both leave the decimal text to Arrow, which rounds it straight to
float32, so they agree to the last bit. The fast one takes a whole block of lines as a CSV table and
gives up (returns None) on anything out of the ordinary; the careful one then reads that block line
by line and either copes or says which line is wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from inkblur.embeddings.vector_files import BOM, ByteSource, check_dimension, checked_header
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors, counted

_SAMPLED_LINES = 100
_NUMBER = re.compile(
    rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)\Z", re.IGNORECASE
)


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
            f"line 1 of {source.path} promises {counted(promised, 'word')}, but {found} follow; "
            f"{why}"
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


def is_number(field: bytes) -> bool:
    """Whether a field reads as a number; `nan` and `inf` do, and are refused later by name."""
    return _NUMBER.match(field) is not None


@dataclass(frozen=True)
class NumberLines:
    """How the lines of one file look."""

    path: str  # as shown in errors
    dimension: int
    separator: bytes  # a space, or a tab

    def parse(self, block: bytes, first_line: int) -> tuple[list[bytes], Vectors]:
        """Words and vectors of a block of whole lines; empty lines are skipped."""
        fast = self.parse_fast(block)
        return self.parse_plain(block, first_line) if fast is None else fast

    def parse_fast(self, block: bytes) -> tuple[list[bytes], Vectors] | None:
        """The block by Arrow's CSV reader, or None where only the careful parser can tell."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if b"\r" in block or block.startswith(BOM):
            return None  # Arrow would end a line there, or drop the mark from a word
        ended = self.separator + b"\n"
        if ended in block:  # fastText ends its lines so
            block = block.replace(ended, b"\n")
        names = [str(i) for i in range(self.dimension + 1)]
        types = dict.fromkeys(names, pa.float32()) | {"0": pa.binary()}
        reader: Any = pa.BufferReader(block)
        try:
            table: Any = csv.read_csv(
                reader,
                read_options=csv.ReadOptions(column_names=names, block_size=max(len(block), 1)),
                parse_options=csv.ParseOptions(
                    delimiter=self.separator.decode(),
                    quote_char=False,  # a quotation mark is a word like any other
                    double_quote=False,
                    escape_char=False,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=types,
                    null_values=[],  # "NA", "null" and "nan" are words, or errors
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        vectors = np.empty((table.num_rows, self.dimension), dtype=np.float32)
        for column in range(self.dimension):
            vectors[:, column] = _floats(table.column(column + 1).combine_chunks())
        words: list[bytes] = table.column(0).to_pylist()
        if not np.isfinite(vectors).all() or b"" in words:
            return None
        return words, vectors

    def parse_plain(self, block: bytes, first_line: int) -> tuple[list[bytes], Vectors]:
        """The block line by line: the reference, and the one that knows what is wrong where."""
        words: list[bytes] = []
        rows: list[Vectors] = []
        for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), start=first_line):
            line = line.removesuffix(b"\r")
            if line:
                word, row = self._line(line, number)
                words.append(word)
                rows.append(row)
        if not rows:
            return [], np.empty((0, self.dimension), dtype=np.float32)
        return words, np.stack(rows)

    def _line(self, line: bytes, number: int) -> tuple[bytes, Vectors]:
        at = f"line {number} of {self.path}"
        fields = line.removesuffix(self.separator).split(self.separator)
        extra = fields[1 : -self.dimension]
        if len(fields) <= self.dimension or any(is_number(field) for field in extra):
            found = sum(is_number(field) for field in fields[1:])
            raise EmbeddingError(
                f"{at} has {counted(found, 'number')}, expected {self.dimension}; fix or remove "
                "the line"
            )
        parts = fields[: -self.dimension]
        if not all(parts):
            why = "has two separators in a row" if parts[0] else "has no word before its numbers"
            raise EmbeddingError(f"{at} {why}; fix or remove the line")
        digits = [field.strip(b" \t") for field in fields[-self.dimension :]]
        for field in digits:
            if not is_number(field):
                raise EmbeddingError(
                    f"{at}: {_shown(field)} is not a number; fix or remove the line"
                )
        unsigned = [field.removeprefix(b"+").decode() for field in digits]
        row = _floats(pa.array(unsigned, pa.string()).cast(pa.float32()))
        finite = np.isfinite(row)
        if not finite.all():
            wrong = digits[int(np.flatnonzero(~finite)[0])]
            raise EmbeddingError(
                f"{at}: {_shown(wrong)} is not a finite float32 number; fix or remove the line"
            )
        return self.separator.join(parts), row


def dimension_of(line: bytes, separator: bytes) -> int:
    """How many of the line's last fields are numbers; the first field is never one of them."""
    count = 0
    for field in reversed(line.removesuffix(separator).split(separator)[1:]):
        if not is_number(field.strip(b" \t")):
            break
        count += 1
    return count


def _floats(array: Any) -> Vectors:
    # Not to_numpy(): where pandas is installed, that imports it for nothing.
    return np.frombuffer(array.buffers()[1], np.float32, len(array), 4 * array.offset)


def _shown(field: bytes) -> str:
    text = field.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")
