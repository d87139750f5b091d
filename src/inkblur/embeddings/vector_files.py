"""Vector files that other programs wrote: their bytes, and the formats that are binary.

word2vec's binary files have a header line, then `word`, a space and little-endian float32 numbers.
Some writers put a newline (or `\\r\\n`) before each word, some do not: it is skipped. Nothing may
follow the last vector but such newlines. A `.npy` array has a word list beside it.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO, cast

import numpy as np

from inkblur.embeddings.store import Progress
from inkblur.errors import MALFORMED, EmbeddingError
from inkblur.types import Vectors, counted

PROBE = 1 << 18  # how far a format is sniffed: 100 lines of 300 numbers
BLOCK = 1 << 22  # one parse: small enough to stay near the cache, large enough to share out
LONGEST_LINE = 1 << 26
LARGEST_DIMENSION = 1 << 14  # word vectors have some hundreds; a wrong number here costs gigabytes
BOM = b"\xef\xbb\xbf"  # some editors put it before the first character of UTF-8 text
_HEADER = 64  # bytes that a header has at most
_LONGEST_WORD = 1 << 16
_LIST_SUFFIXES = (".vocab.txt", ".words.txt", ".txt")  # beside X.npy: X.vocab.txt, ...
_LARGEST_LIST = 1 << 30  # bytes of a word list
_ROWS = 1 << 13
_BROKEN = (EOFError, ValueError, zlib.error, gzip.BadGzipFile)
# A .npy header is a Python literal: numpy raises whatever its parser does.
_BROKEN_NPY = (*MALFORMED, MemoryError, TokenError, UserWarning)


class ByteSource:
    """A file read once, from front to back, unpacked on the way where its first bytes are gzip's.

    Progress counts packed bytes, so that it ends at the size of the file.
    """

    def __init__(self, path: Path, on_progress: Progress | None = None) -> None:
        """Open `path`; `on_progress` is called for every block."""
        self.path = path
        self.offset = 0  # unpacked bytes handed out by `read`
        self._ahead = b""
        self._on_progress = on_progress
        try:
            self._raw: BinaryIO = path.open("rb")
            self._total = path.stat().st_size
        except OSError as error:
            raise EmbeddingError(f"cannot read {path}: {error.strerror or error}") from None
        if not self._raw.seekable():
            self._raw.close()
            raise EmbeddingError(f"{path} is a pipe or a device; save it to a file first")
        magic = self._raw.read(10)
        self._raw.seek(0)
        self._plain: BinaryIO = self._raw
        if magic[:2] == b"\x1f\x8b":
            self._plain = cast(BinaryIO, gzip.GzipFile(fileobj=self._raw, mode="rb"))
        elif (magic[:3], magic[4:]) == (b"BZh", b"1AY&SY") or magic[:4] in (b"PK\3\4", b"PK\5\6"):
            self._raw.close()
            raise EmbeddingError(f"{path} is packed with bzip2 or zip; unpack it first")

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *failure: object) -> None:
        self._plain.close()
        self._raw.close()

    @property
    def is_packed(self) -> bool:
        """Whether the file is packed with gzip."""
        return self._plain is not self._raw

    def _more(self, size: int) -> bytes:
        try:
            block = self._plain.read(size)
        except _BROKEN as error:
            raise EmbeddingError(
                f"{self.path} is damaged or cut short: its gzip data stops making sense after "
                f"{self.offset + len(self._ahead)} unpacked bytes ({error}); download it again"
            ) from None
        except OSError as error:
            raise EmbeddingError(f"cannot read {self.path}: {error.strerror or error}") from None
        if self._on_progress is not None:
            self._on_progress(min(self._raw.tell(), self._total), self._total)
        return block

    def peek(self, size: int = PROBE) -> bytes:
        """The next `size` bytes (fewer only at the end of the file) without moving past them."""
        while len(self._ahead) < size:
            block = self._more(size - len(self._ahead))
            if not block:
                break
            self._ahead += block
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end of the file."""
        block = self.peek(size)
        self._ahead = self._ahead[size:]
        self.offset += len(block)
        return block

    def line_blocks(self) -> Iterator[bytes]:
        r"""The rest of the file in blocks of whole lines, each line ended by `\n`."""
        tail = b""
        while block := self.read(BLOCK):
            cut = block.rfind(b"\n") + 1
            if cut:
                yield tail + block[:cut]
                tail = block[cut:]
            else:
                tail += block
            if len(tail) > LONGEST_LINE:
                raise EmbeddingError(
                    f"{self.path} has a line of over {LONGEST_LINE >> 20} MiB near byte "
                    f"{self.offset}: this is not a text file of word vectors"
                )
        if tail:
            yield tail + b"\n"


def header_of(probe: bytes) -> tuple[int, int] | None:
    r"""(words, dimension) where the first line is a header.

    >>> header_of(b"400000 300\nthe 0.1"), header_of(b"the 0.1 0.2\n")
    ((400000, 300), None)
    """
    line = probe.removeprefix(BOM)[:_HEADER].split(b"\n", 1)[0]
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
    header = header_of(source.peek(_HEADER + len(BOM)))
    if header is None:
        raise EmbeddingError(
            f"line 1 of {source.path} is not a word2vec header (two whole numbers, words and "
            'dimension); GloVe files have none: try `format="glove"`'
        )
    words, dimension = header
    if words < 1 or dimension < 1:
        raise EmbeddingError(f"line 1 of {source.path} promises {words} words x {dimension}")
    check_dimension(dimension, f"line 1 of {source.path}")
    line = source.peek(_HEADER + len(BOM)).split(b"\n", 1)[0]
    source.read(len(line) + 1)
    return header


def read_binary(source: ByteSource) -> Iterator[tuple[list[bytes], Vectors]]:
    """Words and vectors, some megabytes at a time."""
    promised, dimension = checked_header(source)
    width = 4 * dimension
    data, base, done = b"", source.offset, 0  # base: where in the file `data` begins
    while done < promised:
        more = source.read(max(BLOCK, width + _LONGEST_WORD))
        data += more
        words, rows, used = _whole_entries(data, width, promised - done)
        for index, word in enumerate(words):
            if not word:
                raise EmbeddingError(
                    f"{source.path}: vector {done + index + 1} has no word (before byte "
                    f"{base + used}); the file is damaged, or not word2vec binary"
                )
        vectors = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(words), dimension)
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            wrong = int(np.flatnonzero(~finite)[0])
            raise EmbeddingError(
                f"{source.path}: the vector of word {done + wrong + 1} "
                f"({words[wrong].decode('utf-8', 'backslashreplace')!r}) is not finite; "
                "the file is damaged, or its header gives a wrong dimension"
            )
        done += len(words)
        data, base = data[used:], base + used
        if not more and done < promised:
            raise EmbeddingError(
                f"{source.path} is cut short: it ends at byte {source.offset}, inside word "
                f"{done + 1} of the {promised} its header promises; download it again"
            )
        if not words and len(data) > width + _LONGEST_WORD:
            raise EmbeddingError(
                f"{source.path}: no word of plausible length at byte {base}; "
                "the file is damaged, or its header gives a wrong dimension"
            )
        yield words, vectors.astype(np.float32, copy=False)
    while rest := (data + source.read(BLOCK)):
        data = b""
        if rest.strip(b"\n\r"):
            raise EmbeddingError(
                f"{source.path}: its header promises {counted(promised, 'word')}, but more bytes "
                "follow after the last; correct the header or download the file again"
            )


def _whole_entries(data: bytes, width: int, most: int) -> tuple[list[bytes], list[bytes], int]:
    """Up to `most` entries that lie whole in `data`, and how many bytes they take."""
    words: list[bytes] = []
    rows: list[bytes] = []
    at = 0
    while len(words) < most:
        start = at
        while data[start : start + 1] in (b"\n", b"\r"):
            start += 1
        space = data.find(b" ", start)
        if space < 0 or space + 1 + width > len(data):
            break
        words.append(data[start:space])
        at = space + 1 + width
        rows.append(data[space + 1 : at])
    return words, rows, at


def read_npy(path: Path) -> Iterator[tuple[list[bytes], Vectors]]:
    """Words and vectors of `X.npy` and the word list beside it; pickled arrays are refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that numpy has to mend is a damaged one
            table = np.load(path, mmap_mode="r", allow_pickle=False)
    except _BROKEN_NPY as error:
        raise EmbeddingError(
            f"{path} is not a readable .npy table of numbers ({error!s:.80}); "
            "write it again with numpy.save from a float32 array"
        ) from None
    except OSError as error:
        raise EmbeddingError(f"cannot read {path}: {error.strerror or error}") from None
    beside = [path.with_name(path.name.removesuffix(".npy") + end) for end in _LIST_SUFFIXES]
    listed = next((each for each in beside if each.is_file()), None)
    if listed is None:
        names = ", ".join(each.name for each in beside)
        raise EmbeddingError(
            f"{path} needs a word list beside it, one word per line: one of {names}"
        )
    words = lines_of(listed)
    if b"" in words:
        raise EmbeddingError(f"line {words.index(b'') + 1} of {listed} is empty, expected a word")
    if table.ndim != 2 or table.shape[1] < 1:
        raise EmbeddingError(
            f"{path} has an array of shape {table.shape}, expected (words, dimension)"
        )
    check_dimension(table.shape[1], str(path))
    if table.dtype.kind != "f":
        raise EmbeddingError(
            f"{path} holds {table.dtype} values, expected floating-point numbers; "
            "convert it with .astype('float32')"
        )
    if len(words) != len(table):
        raise EmbeddingError(
            f"{path} has {counted(len(table), 'vector')}, but its list has "
            f"{counted(len(words), 'word')}; they must match line by line"
        )
    for start in range(0, len(words), _ROWS):
        with np.errstate(over="ignore"):  # a float64 too large for float32 is caught just below
            rows = np.asarray(table[start : start + _ROWS]).astype(np.float32)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            wrong = start + int(np.flatnonzero(~finite)[0])
            raise EmbeddingError(
                f"{path}: the vector of {words[wrong]!r} (row {wrong}) is not finite in float32"
            )
        yield words[start : start + _ROWS], rows


def lines_of(path: Path) -> list[bytes]:
    r"""The lines of a word list, ended by `\n` or `\r\n`; a BOM is none of them."""
    try:
        if path.stat().st_size > _LARGEST_LIST:
            raise EmbeddingError(f"{path} is larger than 1 GiB: too large for a list of words")
        content = path.read_bytes().removeprefix(BOM)
    except FileNotFoundError:
        raise EmbeddingError(f"no such word list: {path}") from None
    except OSError as error:
        raise EmbeddingError(f"cannot read {path}: {error.strerror or error}") from None
    if not content:
        return []
    return [line.removesuffix(b"\r") for line in content.removesuffix(b"\n").split(b"\n")]
