"""Bytes of a vector file, plain or compressed, in blocks that end where a line ends; its header."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from inkblur.errors import EmbeddingError

Progress = Callable[[int, int], None]  # bytes of the file read so far, bytes in all

PROBE = 1 << 18  # how far a format is sniffed: 100 lines of 300 numbers
BLOCK = 1 << 22  # one parse: small enough to stay near the cache, large enough to share out
LONGEST_LINE = 1 << 26
BOM = b"\xef\xbb\xbf"  # some editors put it before the first character of UTF-8 text
LARGEST_DIMENSION = 1 << 14  # word vectors have some hundreds; a wrong number here costs gigabytes
_HEADER = 64  # bytes that a header has at most

_BZIP2_BLOCK = b"\x31\x41\x59\x26\x53\x59"
_BROKEN = (
    *(EOFError, ValueError, zlib.error, lzma.LZMAError, struct.error),
    *(gzip.BadGzipFile, zipfile.BadZipFile),
)


class ByteSource:
    """A file read once, from front to back; `.gz`, `.bz2` and `.zip` are unpacked on the way.

    What the file is packed with is read from its first bytes, not from its name. Progress counts
    packed bytes, so that it ends at the size of the file.
    """

    def __init__(self, path: Path, on_progress: Progress | None = None) -> None:
        """Open `path`; `on_progress` is called for every block."""
        self.path = path
        self.packed = ""  # "gzip", "bzip2", "zip" or ""
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
        try:
            self._plain = self._unpacked()
        except BaseException:
            self._raw.close()
            raise

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *failure: object) -> None:
        self._plain.close()
        self._raw.close()

    def _unpacked(self) -> BinaryIO:
        magic = self._raw.read(10)
        self._raw.seek(0)
        if magic[:2] == b"\x1f\x8b":
            self.packed = "gzip"
            return cast(BinaryIO, gzip.GzipFile(fileobj=self._raw, mode="rb"))
        if magic[:3] == b"BZh" and magic[4:10] == _BZIP2_BLOCK:
            self.packed = "bzip2"
            return cast(BinaryIO, bz2.BZ2File(self._raw))
        if magic[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            self.packed = "zip"
            return self._only_member()
        return self._raw

    def _only_member(self) -> BinaryIO:
        try:
            archive = zipfile.ZipFile(self._raw)
            members = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(members) != 1:
                raise EmbeddingError(
                    f"{self.path} holds {len(members)} files, expected exactly one; "
                    "unpack it and name the one with the word vectors"
                )
            return cast(BinaryIO, archive.open(members[0]))
        except RuntimeError:  # how zipfile says "a password is needed" or "unknown compression"
            raise EmbeddingError(
                f"{self.path} cannot be unpacked here (a password, or a rare compression); "
                "unpack it first"
            ) from None
        except (*_BROKEN, OSError, IndexError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> EmbeddingError:
        return EmbeddingError(
            f"{self.path} is damaged or cut short: its {self.packed} data stops making sense "
            f"after {self.offset + len(self._ahead)} unpacked bytes ({error}); download it again"
        )

    def _more(self, size: int) -> bytes:
        try:
            block = self._plain.read(size)
        except _BROKEN as error:
            raise self._damaged(error) from None
        except OSError as error:
            if self.packed and error.errno is None:  # bz2 reports bad data as a bare OSError
                raise self._damaged(error) from None
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
