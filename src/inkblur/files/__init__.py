"""Records in and out: txt, csv, tsv, jsonl and parquet as one stream."""

from __future__ import annotations

from inkblur.files.doors import Sink, open_sink, open_source
from inkblur.files.formats import Format, Layout
from inkblur.files.records import Batch, Source
from inkblur.types import Record

__all__ = ["Batch", "Format", "Layout", "Record", "Sink", "Source", "open_sink", "open_source"]
