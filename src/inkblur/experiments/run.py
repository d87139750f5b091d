"""Runs experiments and keeps their records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from inkblur.errors import InputError
from inkblur.experiments.catalogue import EXPERIMENTS, chosen
from inkblur.experiments.origin import commit, machine
from inkblur.experiments.result import Record
from inkblur.experiments.shelf import Shelf
from inkblur.experiments.workshop import Workshop
from inkblur.io.whole import write_whole

OnProgress = Callable[[str, str, int, int], None]  # experiment, step, experiments done, of how many


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    seed: int = 1,
    on_progress: OnProgress = lambda experiment, step, done, total: None,
) -> tuple[Record, ...]:
    """Run experiments by name, by paper, or "all"; finished steps in `folder` are not done again.

    `data`: the folder of the public collections; None takes INKBLUR_DATA.
    """
    experiments = chosen(names)
    shelf = Shelf(data)
    # What is missing shows now, not after an hour; and all code is that of one commit.
    for key in dict.fromkeys(key for experiment in experiments for key in experiment.needs):
        shelf.digest(key)
    loaded = {experiment.name: experiment.load() for experiment in experiments}
    source = commit()
    records = []
    for place, experiment in enumerate(experiments):
        file = record_file(folder, experiment.name)

        def heard(step: str, name: str = experiment.name, place: int = place) -> None:
            on_progress(name, step, place, len(experiments))

        work = Workshop(
            experiment.name,
            shelf,
            seed=seed,
            quick=quick,
            folder=folder,
            needs=experiment.needs,
            commit=source,
            on_step=heard,
        )
        heard("")
        outcome = loaded[experiment.name](work)
        outcome = replace(outcome, notes=(*outcome.notes, *shelf.notes))
        record = Record(
            experiment.name,
            seed,
            quick,
            work.commits,
            machine(),
            round(work.seconds, 1),
            round(work.processor_seconds, 1),
            outcome,
        )
        write_whole(file, json.dumps(record.to_json(), indent=1, allow_nan=False) + "\n")
        records.append(record)
    return tuple(records)


def record_file(folder: Path, name: str) -> Path:
    """Where an experiment's record lies."""
    return folder / "records" / f"{name.replace('/', '-')}.json"


def held_records(folder: Path) -> tuple[Record, ...]:
    """Every record in a folder, in the catalogue's order."""
    found = []
    for name in EXPERIMENTS:
        file = record_file(folder, name)
        if file.exists():
            try:
                found.append(Record.from_json(json.loads(file.read_text(encoding="utf-8"))))
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"{file} is no record of this version; remove it and run {name} again"
                ) from None
    return tuple(found)
