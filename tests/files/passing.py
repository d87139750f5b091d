"""What several of these tests need: a file through source and sink, and text to fill files with."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from inkblur import Embedding, Rng, seeded_rng
from inkblur.documents.privatizer import Privatizer
from inkblur.files import Format, Record, Source, open_sink, open_source
from inkblur.files.formats import layout_of
from inkblur.files.records import Batch
from inkblur.mechanisms.laplace import Laplace
from inkblur.release import Columns, Release
from inkblur.spec import ReleaseSpec

# Everything Unicode can hold but NUL (refused in files of lines) and lone surrogates.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
awkward = st.sampled_from(
    [
        '"',
        '""',
        ",",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\\",
        "\u2028",
        "\x85",
        "\ufeff",
        "😀",
        "שלום",
        "e\u0301",
    ]
)
texts = st.lists(st.one_of(awkward, st.text(characters, max_size=5)), max_size=6).map("".join)
line_texts = texts.map(lambda text: text.replace("\n", "").rstrip("\r"))


def same(text: str) -> str:
    return text


def opened(path: str | Path, *, format: Format | None = None, **options: Any) -> Source:
    """A file with what is said about it as a spec says it; where that names no column to be copied,
    with all of them: these tests are about what a format holds.
    """
    spec = {"columns": options.pop("column", "text"), "epsilon": 1.0, **options}
    if isinstance(spec["columns"], str):
        spec["columns"] = [spec["columns"]]
    layout = layout_of(ReleaseSpec(**spec))
    return open_source(path, layout if layout.keep else replace(layout, keep=None), format=format)


def through(
    source_path: str | Path,
    sink_path: str | Path,
    change: Callable[[str], str] = same,
    *,
    sink_format: Format | None = None,
    max_records: int = 3,
    order: Rng | None = None,
    **options: Any,
) -> list[Record]:
    """Copy a file with every text changed; the records that were read."""
    records: list[Record] = []
    with (
        opened(source_path, **options) as source,
        open_sink(sink_path, source, format=sink_format, order=order) as sink,
    ):
        for batch in named(source, max_records, 1000):
            records += batch.records
            sink.write(batch, [change(text) for text in batch.texts])
    return records


def read(path: str | Path, **options: Any) -> list[Record]:
    """All records of a file."""
    with opened(path, **options) as source:
        return [record for batch in named(source, 100, 10**6) for record in batch.records]


def named(source: Source, *sizes: int) -> Iterator[Batch]:
    """The batches with the ids of their records, refused where a release would refuse them."""
    layout, toy = source.layout, Embedding(["a", "b"], [[0.0], [1.0]], name="toy")
    columns = Columns(source.layout.columns, layout.id_column)
    stream = Release(Privatizer(Laplace(toy, epsilon=1.0)), seeded_rng(1)).stream(columns)
    stream.begin(source.name)
    for batch in source.batches(*sizes):
        records = stream.check(batch).batch.records
        yield replace(batch, records=records)


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Put bytes on standard input, as a pipe would."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
