"""An Arrow stream from outside: read only if it cannot grow when it is read.

Compressed buffers, dictionaries, views and run-end encoding let a few bytes stand for many. A
request is limited by its bytes, so all of these are refused.
"""

from __future__ import annotations

import io
import struct

import pyarrow as pa

from inkblur.arrow import one_batch
from inkblur.desk import CountedRelease
from inkblur.embeddings.store import is_compressed
from inkblur.errors import InputError

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
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
            f"the body is not a readable Arrow stream ({type(error).__name__}): {_PLAIN}"
        ) from None
    return one_batch(table)


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
        batch = message.type == "record batch"
        if message.type == "dictionary" or (batch and is_compressed(message)):
            raise InputError(f"the stream is compressed or has dictionaries: {_PLAIN}")
