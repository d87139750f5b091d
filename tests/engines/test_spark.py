"""Spark on real processes: a driver and two executors of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which
from typing import Any

import pyarrow as pa
import pytest

import inkblur
from inkblur.errors import BudgetExceeded, InputError
from inkblur.ledger import Ledger
from inkblur.release import Limits
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged
from tests.engines.processes import kill, started_with, wait_until

pyspark = pytest.importorskip("pyspark", minversion="4.0")
if which("java") is None:
    pytest.skip("java is not installed (Debian: openjdk-17-jre-headless)", allow_module_level=True)
engine = pytest.importorskip("inkblur.engines.spark")

ROOT = Path(__file__).parents[2]
LIMITS = Limits(budget=40.0)  # five words
pytestmark = pytest.mark.long


@pytest.fixture
def session(
    key_file: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    paths = f"{Path(inkblur.__file__).parents[1]}{os.pathsep}{ROOT}"
    built = (
        SparkSession.builder.master("local-cluster[2,1,700]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "600m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
        .config("spark.sql.warehouse.dir", str(tmp_path / "warehouse"))
        .config("spark.executorEnv.PYTHONPATH", paths)
    )
    for name in ("INKBLUR_KEY_FILE", "INKBLUR_LEDGER"):
        built = built.config(f"spark.executorEnv.{name}", os.environ[name])
    spark = built.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A later step of the same task that takes its time."""
    import time

    for batch in batches:
        time.sleep(0.2)
        yield batch


def _short_first(table: pa.Table) -> pa.Table:
    """The rows by length of text. After a shuffle rows come as they arrive, and a batch of short
    texts alone would be luck.
    """
    texts = table["text"].to_pylist()
    return table.take(sorted(range(len(table)), key=lambda row: len(texts[row] or "")))


@pytest.mark.filterwarnings("ignore")  # pyspark's own
def test_metadata_of_columns_stays_behind(
    session: Any, table: pa.Table, spec: ReleaseSpec, expected: pa.Table
) -> None:
    """Spark's indexers keep all values that they met there, also those of rows left out since."""
    from pyspark.sql import functions as sql

    frame = session.createDataFrame(table).withMetadata("stars", {"vals": ["SECRET"]})
    nested = sql.array(sql.struct(sql.col("stars").alias("stars", metadata={"vals": "SECRET"})))
    kept = spec.varied(keep_columns=(*spec.keep_columns, "nested"))
    out = engine.privatize(frame.withColumn("nested", nested), kept)
    assert "SECRET" not in out.schema.json()
    arrived = out.toArrow().sort_by("id")
    assert arrived.select(expected.column_names).to_pydict() == expected.to_pydict()
    assert [row[0]["stars"] for row in arrived["nested"].to_pylist()] == [
        *expected["stars"].to_pylist()
    ]


@pytest.mark.filterwarnings("ignore")  # pyspark's own
def test_an_executor_killed_in_the_middle_changes_and_costs_nothing(
    session: Any,
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    expected: pa.Table,
    ledger: Ledger,
) -> None:
    frame = session.createDataFrame(table).repartition(6, "id")
    with pytest.raises(InputError, match="repeats an id"):
        engine.privatize(frame.union(frame.limit(1)), spec)
    assert ledger.history() == []
    exact = spec.varied(length="exact")  # filled to sizes, no batch would be within the budget
    with pytest.raises(BudgetExceeded, match="would exceed"):
        engine.privatize(session.createDataFrame(_short_first(table)), exact, limits=LIMITS)
    assert [entry["state"] for entry in ledger.history()] == ["void"]
    assert charged(ledger) > 0  # some batches were within it, and were given back with the others
    spent = charged(ledger)
    out = engine.privatize(frame, spec)
    slow = out.mapInArrow(slowly, out.schema)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(slow.toArrow)
        wait_until(lambda: charged(ledger) > spent)
        executors = started_with(str(key_file), "CoarseGrainedExecutorBackend")
        assert len(executors) == 2
        kill(executors[0])
        at_the_kill = charged(ledger)
        arrived = running.result(timeout=900)
    assert arrived.sort_by("id").to_pydict() == expected.to_pydict()
    once = charged(ledger)
    assert spent < at_the_kill < once
    release = ledger.history()[-1]["release"]
    rows = [row for row in ledger.export() if row[1] == release]
    assert len({row[6] for row in rows}) == len(rows) == len(table)  # every text once
    assert out.toArrow().sort_by("id").to_pydict() == expected.to_pydict()  # a second action
    assert charged(ledger) == once
    assert ledger.verify() == []
