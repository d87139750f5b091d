"""An Arrow stream from outside: read only if it cannot grow when it is read.

Compressed buffers, dictionaries, views and run-end encoding let a few bytes stand for many. A
request is limited by its bytes, so all of these are refused.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import pyarrow as pa

from inkblur.desk import CountedRelease
from inkblur.errors import InputError

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_COMPRESSION = 3  # the place of this field in RecordBatch (Message.fbs)
_PLAIN = (
    "send it uncompressed, with columns of plain strings, numbers, truth values, dates and times"
)


def read_stream(body: bytes) -> pa.RecordBatch:
    """All rows as one batch."""
    try:
        _refuse_compressed(body)
        with pa.ipc.open_stream(body) as stream:
            for field in stream.schema:
                if not (
                    pa.types.is_string(field.type)
                    or pa.types.is_large_string(field.type)
                    or pa.types.is_primitive(field.type)
                ):
                    raise InputError(f"a column is not of a plain type: {_PLAIN}")
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, struct.error, OSError, OverflowError, MemoryError) as error:
        raise InputError(
            f"the body is no Arrow stream that can be read ({type(error).__name__}): {_PLAIN}"
        ) from None
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def write_stream(answer: CountedRelease, about: bytes) -> bytes:
    """The released rows; `about` is JSON beside them, in the schema's metadata as "inkblur"."""
    rows = answer.rows.replace_schema_metadata({b"inkblur": about})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return out.getvalue()


def _refuse_compressed(body: bytes) -> None:
    reader = pa.ipc.MessageReader.open_stream(body)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type == "dictionary" or (
            message.type == "record batch" and _is_compressed(message.metadata.to_pybytes())
        ):
            raise InputError(f"the stream is compressed or has dictionaries: {_PLAIN}")


def _is_compressed(metadata: bytes) -> bool:
    """Whether a record batch's flatbuffer has its field `compression` (Arrow's Message.fbs)."""
    root = struct.unpack_from("<I", metadata, 0)[0]
    header = _field(metadata, root, 2)  # Message: version, header_type, header
    if header is None:
        return True
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, _COMPRESSION) is not None


def _field(data: bytes, table: int, index: int) -> Any:
    """Where a field of a flatbuffer's table lies; None where it is not set."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    slot = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot < size else 0
    return table + offset if offset else None
