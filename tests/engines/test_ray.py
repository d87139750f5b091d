"""Ray Data on real processes: actors that die and come back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
engine = pytest.importorskip("inkblur.engines.ray")

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]  # Ray's own


@pytest.fixture
def cluster(key_file: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    source = Path(inkblur.__file__).parents[1]
    paths = (str(source), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # 15, if Ray may choose: other work starves it
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def test_an_actor_killed_in_the_middle_changes_and_costs_nothing(
    cluster: Any,
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    expected: pa.Table,
    ledger: Ledger,
) -> None:
    data = ray.data.from_arrow([table.slice(start, 50) for start in range(0, 300, 50)])
    with pytest.raises(InputError, match="repeats an id"):
        engine.privatize(data.union(data.limit(1)), spec)
    assert ledger.history() == []
    with pytest.raises(BudgetExceeded, match="would exceed"):
        engine.privatize(data, spec, limits=Limits(budget=40.0), batch_size=10)
    assert [entry["state"] for entry in ledger.history()] == ["void"]
    spent = charged(ledger)

    def slowly(batch: pa.Table) -> pa.Table:
        time.sleep(0.5)
        return batch

    slow = data.map_batches(slowly, batch_format="pyarrow", batch_size=50)
    out = engine.privatize(slow, spec, workers=1, batch_size=10)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: pa.concat_tables(ray.get(out.to_arrow_refs())))
        wait_until(lambda: charged(ledger) > spent)
        actors = started_with(str(key_file), "ray::MapWorker")
        assert actors
        kill(actors[0])
        at_the_kill = charged(ledger)
        arrived = running.result(timeout=900)
    assert arrived.sort_by("id").to_pydict() == expected.to_pydict()
    assert spent < at_the_kill < charged(ledger)
    release = ledger.history()[-1]["release"]
    rows = [row for row in ledger.export() if row[1] == release]
    assert len({row[6] for row in rows}) == len(rows) == len(table)  # every text once
    assert ledger.verify() == []


def test_a_dataset_of_one_block_is_shared_among_the_actors(
    cluster: Any, table: pa.Table, spec: ReleaseSpec, expected: pa.Table
) -> None:
    data = ray.data.from_arrow(table)
    with pytest.warns(UserWarning, match="the actors take 3 of 3 processors"):
        engine.privatize(data, spec, workers=3)
    out = engine.privatize(data, spec, workers=2, batch_size=10)
    blocks = ray.get(out.to_arrow_refs())
    assert len(blocks) >= 6  # an actor is given a block at a time
    assert pa.concat_tables(blocks).sort_by("id").to_pydict() == expected.to_pydict()
