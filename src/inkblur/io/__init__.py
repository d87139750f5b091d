"""Records in and out: txt, csv, tsv, jsonl and parquet as one stream."""

from __future__ import annotations

from inkblur.io.formats import Format
from inkblur.io.records import Batch, Record
from inkblur.io.sink import Sink, open_sink
from inkblur.io.source import Source, open_source

__all__ = ["Batch", "Format", "Record", "Sink", "Source", "open_sink", "open_source"]
