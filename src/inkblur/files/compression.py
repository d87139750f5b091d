"""gzip and Zstandard around a file, named by a last suffix: `posts.csv.gz`, `posts.jsonl.zst`."""

from __future__ import annotations

import gzip
import io
import zlib
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on


class Compression(Enum):
    """A last suffix."""

    GZIP = ".gz"
    ZSTD = ".zst"


class Compressor(Protocol):
    """Bytes in, compressed bytes out."""

    def compress(self, data: bytes, /) -> bytes:
        """As much as can be written already."""
        ...

    def flush(self) -> bytes:
        """The rest."""
        ...


def compression_of(path: str | Path) -> Compression | None:
    """The compression that the last suffix names.

    >>> compression_of("posts.csv.gz"), compression_of("posts.csv")
    (<Compression.GZIP: '.gz'>, None)
    """
    suffix = Path(path).suffix.lower()
    return next((kind for kind in Compression if kind.value == suffix), None)


def compressor(path: str | Path) -> Compressor | None:
    """What compresses a file of this name."""
    match compression_of(path):
        case None:
            return None
        case Compression.GZIP:
            # 31: with gzip's header, which then holds neither name nor time, so that one key gives
            # one file, byte for byte.
            return zlib.compressobj(6, zlib.DEFLATED, 31)
        case Compression.ZSTD:
            return ZstdCompressor()


def decompressed(file: io.BufferedIOBase, kind: Compression) -> io.BufferedIOBase:
    """The plain content of a compressed file, read as it is needed."""
    if kind is Compression.GZIP:
        return gzip.GzipFile(fileobj=file)
    import pyarrow as pa

    return cast(io.BufferedIOBase, pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"))


class Drain(io.RawIOBase):
    """A file in memory that forgets what was taken from it, for libraries that must have a file."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Keep the bytes until they are taken."""
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def close(self) -> None:
        """Nothing: a library closes what it writes to before the last bytes are taken."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


class ZstdCompressor:
    """Zstandard by Arrow, which has it already; Python has it from 3.14 on."""

    def __init__(self) -> None:
        import pyarrow as pa

        self._drain = Drain()
        sink = pa.PythonFile(cast(Any, self._drain), "w")
        self._stream: pa.CompressedOutputStream = pa.CompressedOutputStream(sink, "zstd")

    def compress(self, data: bytes, /) -> bytes:
        """As much as can be written already."""
        self._stream.write(data)
        return self._drain.take()

    def flush(self) -> bytes:
        """The end of the frame."""
        self._stream.close()
        return self._drain.take()
