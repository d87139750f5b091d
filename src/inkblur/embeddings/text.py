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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from inkblur.embeddings.vector_files import BOM, ByteSource, check_dimension, checked_header
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors, counted

_SAMPLED_LINES = 100
# `nan` and `inf` are numbers here, and are refused later by name.
_NUMBER = re.compile(
    rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)\Z", re.IGNORECASE
)


def read_text(source: ByteSource, *, header: bool) -> Iterator[tuple[list[bytes], Vectors]]:
    """Words and vectors, a block of lines at a time."""
    promised, line_number = None, 1
    if source.peek(len(BOM)) == BOM:
        source.read(len(BOM))
    if header:
        promised, dimension = checked_header(source)
        line_number = 2
    probe = source.peek().split(b"\n")
    separator = b"\t" if probe[0].count(b"\t") > probe[0].count(b" ") else b" "
    if not header:
        sample = [line.removesuffix(b"\r") for line in (probe[:-1] or probe)[:_SAMPLED_LINES]]
        sizes = Counter(_numbers_at_end(line, separator) for line in sample if line.strip())
        dimension = max(sizes, key=lambda size: (sizes[size], size), default=0)
        if dimension < 1:
            raise EmbeddingError(
                f"line 1 of {source.path} is not a word followed by numbers; "
                "`inkblur embeddings import --help` lists the formats"
            )
        check_dimension(dimension, f"line 1 of {source.path}")
    found = 0
    for block in source.line_blocks():
        words, vectors = parse_fast(block, dimension, separator) or parse_plain(
            block, dimension, separator, f"of {source.path}", line_number
        )
        line_number += block.count(b"\n")
        found += len(words)
        yield words, vectors
    if promised is not None and found != promised:
        why = "it may be cut short, download it again" if found < promised else "correct that line"
        raise EmbeddingError(
            f"line 1 of {source.path} promises {counted(promised, 'word')}, but {found} follow; "
            f"{why}"
        )


def _numbers_at_end(line: bytes, separator: bytes) -> int:
    """How many of the line's last fields are numbers; the first field is never one of them."""
    count = 0
    for field in reversed(line.removesuffix(separator).split(separator)[1:]):
        if not _NUMBER.match(field.strip(b" \t")):
            break
        count += 1
    return count


def parse_fast(
    block: bytes, dimension: int, separator: bytes
) -> tuple[list[bytes], Vectors] | None:
    """The block by Arrow's CSV reader, or None where only the careful parser can tell."""
    block = block.replace(b"\r\n", b"\n")
    if b"\r" in block or block.startswith(BOM):
        return None  # Arrow would end a line there, or drop the mark from a word
    block = block.replace(separator + b"\n", b"\n")  # fastText ends its lines so
    names = [str(i) for i in range(dimension + 1)]
    reader: Any = pa.BufferReader(block)
    try:
        table: Any = csv.read_csv(
            reader,
            read_options=csv.ReadOptions(column_names=names, block_size=max(len(block), 1)),
            parse_options=csv.ParseOptions(
                delimiter=separator.decode(),
                quote_char=False,  # a quotation mark is a word like any other
                double_quote=False,
                escape_char=False,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float32()) | {"0": pa.binary()},
                null_values=[],  # "NA", "null" and "nan" are words, or errors
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    vectors = np.empty((table.num_rows, dimension), dtype=np.float32)
    for column in range(dimension):
        vectors[:, column] = _floats(table.column(column + 1).combine_chunks())
    words: list[bytes] = table.column(0).to_pylist()
    return None if not np.isfinite(vectors).all() or b"" in words else (words, vectors)


def parse_plain(
    block: bytes, dimension: int, separator: bytes, of_file: str, first_line: int
) -> tuple[list[bytes], Vectors]:
    """The block line by line: the reference, and the one that knows what is wrong where."""
    words: list[bytes] = []
    rows: list[Vectors] = []
    for number, whole in enumerate(block.removesuffix(b"\n").split(b"\n"), start=first_line):
        line = whole.removesuffix(b"\r")
        if not line:
            continue
        at = f"line {number} {of_file}"
        fields = line.removesuffix(separator).split(separator)
        if len(fields) <= dimension or any(map(_NUMBER.match, fields[1:-dimension])):
            found = sum(_NUMBER.match(field) is not None for field in fields[1:])
            raise EmbeddingError(
                f"{at} has {counted(found, 'number')}, expected {dimension}; fix or remove the line"
            )
        parts = fields[:-dimension]
        if not all(parts):
            why = "has two separators in a row" if parts[0] else "has no word before its numbers"
            raise EmbeddingError(f"{at} {why}; fix or remove the line")
        digits = [field.strip(b" \t") for field in fields[-dimension:]]
        plain = [field.removeprefix(b"+").decode("utf-8", "backslashreplace") for field in digits]
        wrong = next((i for i, field in enumerate(digits) if not _NUMBER.match(field)), None)
        why = "number"
        if wrong is None:
            row = _floats(pa.array(plain, pa.string()).cast(pa.float32()))
            wrong = next(iter(np.flatnonzero(~np.isfinite(row)).tolist()), None)
            why = "finite float32 number"
        if wrong is not None:
            shown = digits[wrong].decode("utf-8", "backslashreplace")
            raise EmbeddingError(f"{at}: {shown[:40]!r} is not a {why}; fix or remove the line")
        words.append(separator.join(parts))
        rows.append(row)
    return words, np.stack(rows) if rows else np.empty((0, dimension), dtype=np.float32)


def _floats(array: Any) -> Vectors:
    # Not to_numpy(): where pandas is installed, that imports it for nothing.
    return np.frombuffer(array.buffers()[1], np.float32, len(array), 4 * array.offset)
