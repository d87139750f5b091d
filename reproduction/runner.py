"""Runs experiments and keeps their records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from inkblur import ParameterError
from inkblur.errors import InputError
from reproduction.checkpoint import write_whole
from reproduction.context import Context
from reproduction.datasets import Datasets
from reproduction.experiments import EXPERIMENTS, chosen
from reproduction.origin import commit, machine
from reproduction.result import ExperimentRecord

ALL_DATA = "Measured with --whole: all of the data, where the usual run samples it."
OnStep = Callable[[str, int, int], None]  # what is being done, experiments done, of how many


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    whole: bool = False,
    seed: int = 1,
    workers: int = 1,
    on_progress: OnStep = lambda doing, done, total: None,
) -> tuple[ExperimentRecord, ...]:
    """Run experiments by name, by paper, or "all"; finished steps in `folder` are not done again.

    `whole` uses all of the data where the usual run samples it, which takes hours.
    `data`: the folder of the public collections; None takes INKBLUR_DATA. `workers`: how many
    steps of an experiment are done at the same time.
    """
    experiments = chosen(names)
    datasets = Datasets(data)
    if workers < 1:
        raise ParameterError(f"workers is at least 1, got {workers}")
    # What is missing shows now, not after an hour; and all code is that of one commit.
    for key in dict.fromkeys(key for experiment in experiments for key in experiment.needs):
        datasets.digest(key)
    runs = [experiment.load() for experiment in experiments]
    source = commit()
    records = []
    for place, (experiment, run) in enumerate(zip(experiments, runs, strict=True)):

        def begins(step: str, name: str = experiment.name, place: int = place) -> None:
            on_progress(f"{name}: {step}" if step else name, place, len(experiments))

        begins("")
        work = Context(
            experiment.name,
            datasets,
            seed=seed,
            quick=quick,
            whole=whole,
            folder=folder,
            needs=experiment.needs,
            commit=source,
            machine=machine(),
            workers=workers,
            on_step=begins,
        )
        outcome = run(work)
        record = ExperimentRecord(
            experiment.name,
            seed,
            quick,
            work.commits,
            work.days,
            "; ".join(work.machines),
            round(work.seconds, 1),
            round(work.processor_seconds, 1),
            replace(outcome, notes=(*outcome.notes, *datasets.notes, *[ALL_DATA] * whole)),
        )
        body = json.dumps(record.to_json(), indent=1, allow_nan=False) + "\n"
        write_whole(record_file(folder, experiment.name), body)
        records.append(record)
    return tuple(records)


def record_file(folder: Path, name: str) -> Path:
    """Where an experiment's record lies."""
    return folder / "records" / f"{name.replace('/', '-')}.json"


def held_records(folder: Path) -> tuple[ExperimentRecord, ...]:
    """Every record in a folder, in the catalogue's order."""
    found = []
    for name in EXPERIMENTS:
        file = record_file(folder, name)
        if file.exists():
            try:
                found.append(
                    ExperimentRecord.from_json(json.loads(file.read_text(encoding="utf-8")))
                )
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"{file} is no record of this version; remove it and run {name} again"
                ) from None
    return tuple(found)
