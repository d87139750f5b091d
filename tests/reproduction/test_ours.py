"""The experiments that are none of the papers' run through, on small samples of real data."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from inkblur.mechanisms.catalogue import CATALOGUE
from reproduction.context import steps_file
from reproduction.result import ExperimentRecord
from reproduction.runner import finished_records, held_records, reproduce

pytestmark = pytest.mark.long
Ran = Callable[[str], tuple[ExperimentRecord, Path]]


@pytest.fixture(scope="module")
def ran(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """An experiment's record, and the folder of its run, which is made once."""
    pytest.importorskip("sklearn")

    @cache
    def run(name: str) -> tuple[ExperimentRecord, Path]:
        folder = tmp_path_factory.mktemp("run")
        (record,) = reproduce([name], folder, data=data_folder, quick=True)
        return record, folder

    return run


@pytest.mark.parametrize("name", ["adapted/frontier", "adapted/pairs"])
def test_both_metrics_are_compared(name: str, ran: Ran) -> None:
    record, folder = ran(name)
    assert held_records(folder) == (record,)
    metrics = {reading.where["metric"] for reading in record.outcome.readings}
    assert {"word vectors", "adapted", "untouched texts"} <= metrics
    undecided = [n.split()[1] for n in record.outcome.notes if n.startswith("Undecided: ")]
    names = [*(claim.name for claim in record.outcome.claims), *undecided]
    assert len(names) >= 4  # a claim never vanishes
    assert all(name.startswith("adapted-") for name in names)
    assert record.outcome.drawings


@pytest.mark.parametrize(
    ("name", "cut", "table"),
    [
        ("adapted/pairs", "SMS, laplace", "Attack on PAN 2018 authors, label of SMS"),
        ("race", "for a proved loss of", "At equal proved loss, on word vectors"),
    ],
)
def test_what_a_stopped_run_lacks_is_left_out(
    name: str, cut: str, table: str, ran: Ran, data_folder: Path, tmp_path: Path
) -> None:
    stopped = tmp_path / "stopped"
    shutil.copytree(ran(name)[1], stopped)
    file = steps_file(stopped, name)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if cut not in line), encoding="utf-8")
    (left,) = finished_records([name], stopped, data=data_folder, quick=True)
    assert any(note.endswith(f"so left out: {table}.") for note in left.outcome.notes)
    tables = {reading.table for reading in left.outcome.readings}
    assert tables
    assert table not in tables


def test_every_mechanism_races_on_both_metrics(ran: Ran) -> None:
    record, _ = ran("race")
    contenders = {
        (str(reading.where.get("mechanism", "")), reading.where.get("metric"))
        for reading in record.outcome.readings
    }
    for name, entry in CATALOGUE.items():
        for metric in ("word vectors", "adapted") if entry.private else ():  # others may not reach
            assert any(c.startswith(name) and on == metric for c, on in contenders)
    at_loss = {
        (reading.where["mechanism"], reading.measure): reading.where["epsilon"]
        for reading in record.outcome.readings
        if reading.table == "At equal proved loss, on word vectors"
    }
    for name, entry in CATALOGUE.items():
        measures = {measure for contender, measure in at_loss if str(contender).startswith(name)}
        assert len(measures) == (4 if entry.private else 0)
