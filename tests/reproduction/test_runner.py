"""Records come out the same after a stop, and know what they are."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from inkblur.errors import InputError, ParameterError
from reproduction import forks, runner
from reproduction.context import Context, StepJob
from reproduction.datasets import SOURCES, Datasets
from reproduction.estimate import Estimate
from reproduction.experiments import chosen
from reproduction.result import Claim, ExperimentRecord, Verdict
from reproduction.runner import ALL_DATA, held_records, record_file, reproduce
from tests.reproduction.made import NAME, Made


def test_a_stopped_run_goes_on(tmp_path: Path, made: Made) -> None:
    made.stop_at = "b"
    with pytest.raises(KeyboardInterrupt):
        reproduce([NAME], tmp_path / "out", data=tmp_path)
    made.stop_at = None
    (stopped,) = reproduce([NAME], tmp_path / "out", data=tmp_path)
    assert made.done == ["a", "b"]
    (straight,) = reproduce([NAME], tmp_path / "other", data=tmp_path)
    assert stopped.outcome == straight.outcome


def test_a_run_continued_elsewhere_names_both_sources(
    tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.stop_at = "b"
    with pytest.raises(KeyboardInterrupt):
        reproduce([NAME], tmp_path / "out", data=tmp_path)
    made.stop_at = None
    (here,) = reproduce([NAME], tmp_path / "here", data=tmp_path)
    monkeypatch.setattr(runner, "machine", lambda: "another machine")
    monkeypatch.setattr(runner, "commit", lambda: "abc123")
    (both,) = reproduce([NAME], tmp_path / "out", data=tmp_path)
    assert both.machine == f"{here.machine}; another machine"
    assert both.commits == (*here.commits, "abc123")
    assert reproduce([NAME], tmp_path / "here", data=tmp_path) == (here,)  # nothing was left to do


def test_the_seed_decides(tmp_path: Path, made: Made) -> None:
    (one,) = reproduce([NAME], tmp_path / "1", data=tmp_path, seed=1)
    (two,) = reproduce([NAME], tmp_path / "2", data=tmp_path, seed=2)
    assert one.outcome != two.outcome


def test_quick_work_is_not_taken_for_full_work(tmp_path: Path, made: Made) -> None:
    reproduce([NAME], tmp_path / "out", data=tmp_path, quick=True)
    with pytest.raises(InputError, match="another run"):
        reproduce([NAME], tmp_path / "out", data=tmp_path)


def test_a_whole_run_is_neither_the_usual_one_nor_a_quick_look(tmp_path: Path, made: Made) -> None:
    (record,) = reproduce([NAME], tmp_path / "out", data=tmp_path, whole=True)
    assert record.outcome.notes[-1] == ALL_DATA
    with pytest.raises(InputError, match="another run"):
        reproduce([NAME], tmp_path / "out", data=tmp_path)
    with pytest.raises(ParameterError, match="choose one"):
        reproduce([NAME], tmp_path / "other", data=tmp_path, whole=True, quick=True)
    sizes = [
        Context(
            NAME, Datasets(tmp_path), seed=1, quick=quick, whole=whole, folder=tmp_path / name
        ).size(2, 1, 3)
        for name, quick, whole in (("a", True, False), ("b", False, False), ("c", False, True))
    ]
    assert sizes == [1, 2, 3]


def test_a_record_is_read_back_as_it_was(tmp_path: Path, made: Made) -> None:
    (record,) = reproduce([NAME], tmp_path, data=tmp_path)
    assert held_records(tmp_path) == (record,)
    body = json.loads(record_file(tmp_path, NAME).read_text())
    assert ExperimentRecord.from_json(body) == record
    assert body["outcome"]["claims"][0]["verdict"] == "holds"


def test_a_foreign_record_is_named(tmp_path: Path, made: Made) -> None:
    file = record_file(tmp_path, NAME)
    file.parent.mkdir()
    file.write_text("{}")
    with pytest.raises(InputError, match=r"made-up\.json is no record"):
        held_records(tmp_path)


def test_unknown_names_are_refused_before_any_work(tmp_path: Path, made: Made) -> None:
    with pytest.raises(ParameterError, match="choose all, or some of"):
        reproduce([NAME, "made/down"], tmp_path, data=tmp_path)
    assert made.done == []


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Estimate(2.0, 1.1, 3.0), Verdict.HOLDS),
        (Estimate(2.0, 0.9, 3.0), Verdict.OPEN),
        (Estimate(0.5, 0.1, 0.9), Verdict.FAILS),
    ],
)
def test_a_verdict_needs_the_whole_interval(found: Estimate, verdict: Verdict) -> None:
    assert Claim("c", "", "", "", found, 1.0).verdict is verdict


def test_steps_on_other_data_are_not_taken(tmp_path: Path) -> None:
    def work(text: str) -> Context:
        file = tmp_path / "data" / SOURCES["sms"].path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        datasets = Datasets(tmp_path / "data")
        return Context(NAME, datasets, seed=1, quick=True, folder=tmp_path, needs=("sms",))

    work("ham\ta\n").step("one", lambda: 1)
    assert work("ham\ta\n").step("one", lambda: 2) == 1
    with pytest.raises(InputError, match="data differs"):
        work("ham\tb\n")


def test_missing_data_shows_before_any_work(tmp_path: Path, made: Made) -> None:
    with pytest.raises(InputError, match="public original is at"):
        reproduce([NAME, "thesis/topics"], tmp_path / "out", data=tmp_path)
    assert made.done == []


def test_a_paper_means_all_its_experiments() -> None:
    assert [e.name for e in chosen(["syntf", "thesis/topics"])] == [
        "thesis/topics",
        "syntf/analyst-attacker",
        "syntf/parameters",
        "syntf/bounds",
    ]


def test_steps_side_by_side_give_what_they_give_one_by_one(tmp_path: Path) -> None:
    def work(folder: str, workers: int) -> Context:
        return Context(
            NAME,
            Datasets(tmp_path),
            seed=1,
            quick=False,
            folder=tmp_path / folder,
            commit="c",
            workers=workers,
        )

    def drawn(at: Context, name: str) -> list[float]:
        return [float(at.rng(name).rows(1, 1)[0, 0]), float(os.getpid())]

    found = {}
    for workers in (1, 3):
        at = work(str(workers), workers)
        jobs: list[StepJob] = [(f"step {n}", drawn, at, str(n)) for n in range(5)]
        found[workers] = at.steps(jobs)
        again = work(str(workers), workers)  # from the file: nothing is done twice
        assert again.steps([(name, pytest.fail) for name, *_ in jobs]) == found[workers]
        assert again.commits == ("c",)
        assert len(again.days) in (1, 2)  # two around midnight
        assert again.days[-1] <= datetime.now(UTC).date().isoformat()
    assert [value for value, _ in found[1]] == [value for value, _ in found[3]]
    assert {process for _, process in found[1]} == {os.getpid()}
    assert os.getpid() not in {process for _, process in found[3]}


def test_nothing_is_forked_from_a_process_that_uses_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up PyTorch: there is no GPU where tests run."""
    for used in (False, True):
        cuda = SimpleNamespace(is_initialized=lambda used=used: used)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert forks.can_fork() is not used


def test_a_step_that_fails_beside_others_is_heard(tmp_path: Path) -> None:
    at = Context(NAME, Datasets(tmp_path), seed=1, quick=False, folder=tmp_path, workers=2)

    def fails() -> None:
        raise InputError("this one")

    with pytest.raises(InputError, match="this one"):
        at.steps([("good", float), ("bad", fails)])
