"""A run over a file: the same output for any batches and workers, and an honest summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

from inkblur import Privatizer
from inkblur.documents.base import Reading
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, PrivateCalibration
from inkblur.files import open_sink, open_source, parquet
from inkblur.files.doors import Sink
from inkblur.files.formats import Layout
from inkblur.files.summary import Summary
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.release import draw_records
from inkblur.rng import Rng, keyed_rng
from inkblur.types import Record
from tests.files.releasing import run


def privatized(source: Path, blur: Privatizer, *, workers: int, batch: int) -> tuple[str, Summary]:
    out = source.with_name(f"out-{workers}-{batch}{source.suffix}")
    with open_source(source) as records, open_sink(out, records) as sink:
        summary = run(
            records, sink, blur, keyed_rng(bytes(32)), workers=workers, batch_records=batch
        )
    assert isinstance(summary, Summary)
    return out.read_text(), summary


@pytest.mark.parametrize("length", [None, 4])
def test_workers_and_batches_never_change_the_output(
    tmp_path: Path, toy: Embedding, length: int | None
) -> None:
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{' '.join(toy.words[: i % 9])} {i}.\n" for i in range(200)))
    blur = Privatizer(Laplace(toy, epsilon=0.5), length=length)
    expected, first = privatized(source, blur, workers=1, batch=1000)
    for workers, batch in ((1, 1), (3, 7), (8, 50)):
        text, summary = privatized(source, blur, workers=workers, batch=batch)
        assert text == expected
        assert summary.counts == first.counts
        assert summary.documents == 200


@pytest.mark.parametrize(
    ("words", "expected"),
    [(11, list(range(2, 101, 2))), (108, [20, 40, 60, 80, 100]), (12_000, [100])],
)
def test_a_file_is_read_in_pieces_that_suit_the_mechanism(
    tmp_path: Path, toy: Embedding, words: int, expected: list[int]
) -> None:
    source = tmp_path / "in.txt"
    source.write_text("wordaa wordab wordac wordad\n" * 100)  # 27 letters a line
    mechanism = Laplace(toy, epsilon=0.5)
    mechanism.batch = words
    read: list[int] = []
    with open_source(source) as records, open_sink(tmp_path / "out.txt", records) as sink:
        run(
            records,
            sink,
            Privatizer(mechanism, length="exact"),
            keyed_rng(bytes(32)),
            on_batch=lambda _, documents: read.append(documents),
        )
    assert read == expected


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize("mechanism", [Laplace, Exponential])
def test_matrix_products_have_one_thread_meanwhile(
    tmp_path: Path, toy: Embedding, mechanism: type[Laplace] | type[Exponential]
) -> None:
    """The workers are threads enough: products that compete with their search cost a quarter."""

    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    source = tmp_path / "in.txt"
    source.write_text("wordaa\n" * 30)
    before, meanwhile = threads(), []
    assert set(before) == {2}
    with open_source(source) as records, open_sink(tmp_path / "out.txt", records) as sink:
        run(
            records,
            sink,
            Privatizer(mechanism(toy, epsilon=0.5), length="exact"),
            keyed_rng(bytes(32)),
            batch_records=3,
            on_batch=lambda *_: meanwhile.extend(threads()),
        )
    assert set(meanwhile) == {1}
    assert threads() == before


def test_nothing_is_written_before_the_first_rows_were_looked_at(
    tmp_path: Path, toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe shows what is written at once: a refusal by the 50th text would come too late."""

    def refuse(self: Privatizer, texts: Sequence[str], columns: int = 1) -> None:
        if len(texts) >= 50:
            raise PrivateCalibration("the pool was built from these texts")

    written: list[int] = []
    monkeypatch.setattr("inkblur.files.run._TOGETHER", 1)
    monkeypatch.setattr(Privatizer, "refuse_own", refuse)
    monkeypatch.setattr(Sink, "write", lambda self, batch, texts: written.append(len(texts)))
    source, blur = tmp_path / "in.txt", Privatizer(Laplace(toy, epsilon=1.0), length="exact")
    source.write_text("wordaa\n" * 60)
    with (
        pytest.raises(PrivateCalibration),
        open_source(source) as opened,
        open_sink(tmp_path / "out.txt", opened) as sink,
    ):
        run(opened, sink, blur, keyed_rng(bytes(32)), batch_records=10, workers=1)
    assert written == []


def test_missing_texts_stay_missing_unless_the_length_is_fixed(
    tmp_path: Path, toy: Embedding
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": null}\n{"text": ""}\n')
    mechanism = Laplace(toy, epsilon=0.5)
    text, _ = privatized(source, Privatizer(mechanism, length="exact"), workers=1, batch=5)
    assert text == '{"text": null}\n{"text": ""}\n'
    text, _ = privatized(source, Privatizer(mechanism, length=3), workers=1, batch=6)
    assert "null" not in text
    assert text.count("word") == 6


def test_of_how_an_object_is_written_only_the_order_of_its_keys_shows(
    tmp_path: Path, toy: Embedding
) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{ "b":1.0 , "text"\t:  "", "a":[ 1,2] }\r\n', newline="")
    with open_source(source, Layout(keep=("a", "b"))) as opened, open_sink(out, opened) as sink:
        summary = run(
            opened,
            sink,
            Privatizer(Laplace(toy, epsilon=1.0), length="exact"),
            keyed_rng(bytes(32)),
        )
    assert out.read_text() == '{"b": 1.0, "text": "", "a": [1, 2]}\n'
    assert any("order of the keys" in line for line in summary.guarantee.passed)


def test_row_groups_say_nothing_of_how_long_the_true_words_are(
    tmp_path: Path, toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is read in pieces of so many letters: where these end must not show."""
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 8)
    blur, groups = Privatizer(Laplace(toy, epsilon=1.0), length="exact"), []
    for letters in (1, 30_000):
        source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
        texts = ["z" * (letters if row % 5 else 1) for row in range(30)]
        kinds = [f"kind {row % 3}" for row in range(30)]
        categories = pa.array(kinds).dictionary_encode()
        pq.write_table(pa.table({"text": texts, "kind": categories}), source)
        with open_source(source, Layout(keep=("kind",))) as opened, open_sink(out, opened) as sink:
            run(opened, sink, blur, keyed_rng(bytes(32)))
        written = pq.ParquetFile(out)
        assert written.read()["kind"].to_pylist() == kinds
        count = written.metadata.num_row_groups
        groups.append([written.metadata.row_group(i).num_rows for i in range(count)])
    assert groups == [[8, 8, 8, 6]] * 2


def test_texts_filled_to_a_large_length_are_drawn_a_few_at_a_time(
    tmp_path: Path, toy: Embedding
) -> None:
    """Batches are cut where they have so many letters, and filling has none."""
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("wordaa\n" * 50)
    drawn = []
    blur = Privatizer(Laplace(toy, epsilon=1.0), length=1000)
    with open_source(source) as opened, open_sink(out, opened) as sink:
        run(opened, sink, blur, keyed_rng(bytes(32)), on_batch=lambda words, _: drawn.append(words))
    assert drawn == [12_000, 24_000, 36_000, 48_000, 50_000]


def test_categories_say_nothing_of_how_long_the_true_words_are(
    tmp_path: Path, toy: Embedding
) -> None:
    """Their order in the file, and its pages, must not follow the pieces that it is read in."""
    blur = Privatizer(Laplace(toy, epsilon=1.0), length="exact")
    kinds = ["low", "high", None, "middle"] * 8
    order = ["never", "high", "middle", "low"]
    indices = pa.array([None if kind is None else order.index(kind) for kind in kinds], pa.int8())
    categories = pa.DictionaryArray.from_arrays(indices, order, ordered=True)
    seen = []
    for letters in (1, 30_000):
        source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
        texts = ["z" * letters] * len(kinds)
        pq.write_table(pa.table({"text": texts, "kind": categories}), source)
        with open_source(source, Layout(keep=("kind",))) as opened, open_sink(out, opened) as sink:
            run(opened, sink, blur, keyed_rng(bytes(32)))
        written = pq.ParquetFile(out)
        column: Any = written.read()["kind"].combine_chunks()
        assert column.to_pylist() == kinds
        pages = written.metadata.row_group(0).column(1)
        seen.append((column.dictionary.to_pylist(), pages.total_uncompressed_size))
    assert seen[0] == seen[1]
    assert seen[0][0] == ["high", "middle", "low"]


def test_few_records_in_memory_are_drawn_at_a_time_where_a_length_fills_them(
    toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of short texts, each filled up to many words, must not be drawn all at once."""
    mechanism, rng = Laplace(toy, epsilon=0.5), keyed_rng(bytes(32))
    mechanism.batch = 100  # words
    blur, drawn = Privatizer(mechanism, length=30), []
    records = [Record(str(place), "wordaa") for place in range(10)]
    whole, real = blur.release_batch(records, rng), Privatizer.draw

    def seen(self: Privatizer, reading: Reading, streams: Sequence[Rng]) -> Any:
        drawn.append(len(streams))
        return real(self, reading, streams)

    monkeypatch.setattr(Privatizer, "draw", seen)
    assert draw_records(blur, records, rng) == whole
    assert drawn == [3, 3, 3, 1]


def test_long_rows_make_small_groups_however_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP_BYTES", 100)
    texts = ["word " * (row % 7) for row in range(40)]
    (tmp_path / "in.csv").write_text("".join(f'"{text}"\n' for text in ["text", *texts]))
    bodies = set()
    for step in (40, 3, 1):
        out = tmp_path / "out.parquet"
        with open_source(tmp_path / "in.csv") as source, open_sink(out, source) as sink:
            for batch in source.batches(step, 1000):
                sink.write(batch, batch.texts)
        bodies.add(out.read_bytes())
    assert len(bodies) == 1
    written = pq.ParquetFile(out)
    assert written.read()["text"].to_pylist() == texts
    assert 5 < written.metadata.num_row_groups < 20


def test_an_error_in_a_worker_reaches_the_caller_and_leaves_no_output(
    tmp_path: Path, toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkblur.documents.base.LONGEST_TEXT", 50)
    source = tmp_path / "in.txt"
    source.write_text("wordaa\n" * 30 + "wordaa " * 20 + "\n")
    with pytest.raises(InputError, match="line 31 has 140 characters"):
        privatized(
            source, Privatizer(Laplace(toy, epsilon=1.0), length="exact"), workers=2, batch=4
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
