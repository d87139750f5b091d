"""Runs experiments and keeps their records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from inkblur import InputError, ParameterError
from inkblur.evaluation import write_atomically
from reproduction.command import FILE as COMMAND_FILE
from reproduction.command import Command, held_command
from reproduction.context import Context, OnStepBegin, Unfinished, steps_file
from reproduction.datasets import Datasets
from reproduction.experiments import EXPERIMENTS, Experiment, chosen
from reproduction.forks import begin_worker
from reproduction.origin import commit, machine
from reproduction.result import ExperimentRecord

ALL_DATA = "Measured with --whole: all of the data, where the usual run samples it."
OnExperiment = Callable[[str, int, int], None]  # what is being done, experiments done, of how many


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    whole: bool = False,
    seed: int = 1,
    workers: int = 1,
    on_progress: OnExperiment = lambda doing, done, total: None,
) -> tuple[ExperimentRecord, ...]:
    """Run experiments by name, by paper, or "all"; finished steps in `folder` are not done again.

    `whole` uses all of the data where the usual run samples it, which takes hours.
    `data`: the folder of the public collections; None takes INKBLUR_DATA. `workers`: how many
    steps are done at the same time, of one experiment or of several.
    """
    began = time.perf_counter()
    experiments = chosen(names)
    datasets = Datasets(data)
    # What is missing shows now, not after an hour; and all code is that of one commit.
    for key in dict.fromkeys(key for experiment in experiments for key in experiment.needs):
        datasets.digest(key)
    for experiment in experiments:
        experiment.load()
    source = commit()
    if workers < 1:
        raise ParameterError(f"workers is at least 1, got {workers}")
    before = _written(folder, experiments)
    earlier = held_command(folder)
    with suppress(OSError):  # if this one is killed, no command did everything
        (folder / COMMAND_FILE).unlink()
    if min(workers, len(experiments)) > 1:
        jobs = [
            (e.name, folder, datasets.folder, quick, whole, seed, source, workers)
            for e in experiments
        ]
        records = _at_the_same_time(jobs, workers, on_progress)
    else:
        records = _one_by_one(
            experiments, folder, datasets, quick, whole, seed, source, workers, on_progress
        )
    if earlier is None or _written(folder, experiments) != before:
        seconds = round(time.perf_counter() - began, 1)
        resumed = any(before)
        processor = round(sum(record.processor_seconds for record in records), 1)
        measured = tuple(experiment.name for experiment in experiments)
        earlier = Command(seconds, processor, workers, measured, resumed)
    earlier.write(folder)
    return records


def finished_records(
    names: Sequence[str],
    folder: Path,
    *,
    data: str | Path | None = None,
    quick: bool = False,
    whole: bool = False,
    seed: int = 1,
) -> tuple[ExperimentRecord, ...]:
    """Records from the steps that a run finished before it was stopped; nothing is measured.

    An experiment that can leave out the part that lacks steps says so in its notes; another one has
    no record.
    """
    records = []
    for experiment in chosen(names):
        with suppress(Unfinished):
            records.append(
                _one(
                    experiment.name,
                    folder,
                    Datasets(data),
                    *(quick, whole, seed, commit(), 1),
                    finished=True,
                )
            )
    return tuple(records)


def _written(folder: Path, experiments: Sequence[Experiment]) -> list[int]:
    """How much the experiments' files of finished steps hold, in bytes."""
    files = [steps_file(folder, experiment.name) for experiment in experiments]
    return [file.stat().st_size if file.exists() else 0 for file in files]


def _one_by_one(
    experiments: Sequence[Experiment],
    folder: Path,
    datasets: Datasets,
    quick: bool,
    whole: bool,
    seed: int,
    source: str,
    workers: int,
    on_progress: OnExperiment,
) -> tuple[ExperimentRecord, ...]:
    records = []
    for place, experiment in enumerate(experiments):

        def heard(step: str, name: str = experiment.name, place: int = place) -> None:
            on_progress(f"{name}: {step}", place, len(experiments))

        on_progress(experiment.name, place, len(experiments))
        records.append(
            _one(experiment.name, folder, datasets, quick, whole, seed, source, workers, heard)
        )
    return tuple(records)


def _one(
    name: str,
    folder: Path,
    datasets: Datasets,
    quick: bool,
    whole: bool,
    seed: int,
    source: str,
    workers: int,
    on_step: OnStepBegin = lambda step: None,
    finished: bool = False,
) -> ExperimentRecord:
    """Run one experiment and write its record."""
    experiment = EXPERIMENTS[name]
    work = Context(
        name,
        datasets,
        seed=seed,
        quick=quick,
        whole=whole,
        folder=folder,
        needs=experiment.needs,
        commit=source,
        machine=machine(),
        workers=workers,
        finished=finished,
        on_step=on_step,
    )
    outcome = experiment.load()(work)
    record = ExperimentRecord(
        name,
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
    write_atomically(record_file(folder, name), body)
    return record


# name, folder, data, quick, whole, seed, source, workers for its steps
Job = tuple[str, Path, Path, bool, bool, int, str, int]


def _at_the_same_time(
    jobs: Sequence[Job], workers: int, on_progress: OnExperiment
) -> tuple[ExperimentRecord, ...]:
    from concurrent.futures import wait

    from inkblur.evaluation import explain_broken_pool, process_pool

    again = "run the same command again to go on from there, with --workers 1 if memory is short"
    # An experiment alone at the end takes the turns that the others have left over.
    turns = get_context("spawn").Semaphore(workers)
    size = min(workers, len(jobs))
    with explain_broken_pool(again), process_pool(size, begin_worker, turns) as pool:
        # The last of the catalogue first: adapted/* and the race are the longest, and begun last
        # they would leave the other workers idle at the end.
        running = {pool.submit(_job, job): job[0] for job in reversed(jobs)}
        try:
            while not all(future.done() for future in running):
                done = sum(future.done() for future in running)
                doing = [name for future, name in running.items() if future.running()]
                on_progress(", ".join(doing), done, len(jobs))
                wait(running, timeout=1.0)
                for future in running:
                    if future.done():
                        future.result()  # an error stops the others before they start
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return tuple(future.result() for future in reversed(running))


def _job(job: Job) -> ExperimentRecord:
    name, folder, data, quick, whole, seed, source, workers = job
    return _one(name, folder, Datasets(data), quick, whole, seed, source, workers)


def record_file(folder: Path, name: str) -> Path:
    """Where an experiment's record lies."""
    return folder / "records" / f"{name.replace('/', '-')}.json"


def gathered(
    folders: Sequence[Path],
) -> tuple[tuple[ExperimentRecord, ...], Command | None]:
    """The records of several folders, of an experiment in several the last one's, and the command
    that measured most of them.
    """
    held: dict[str, ExperimentRecord] = {}
    for folder in folders:
        found = held_records(folder)
        if not found:
            raise InputError(f"{folder} holds no records")
        held |= {record.experiment: record for record in found}
    records = tuple(held[name] for name in EXPERIMENTS if name in held)
    commands = [command for command in map(held_command, folders) if command is not None]
    most = max(commands, key=lambda command: len(command.experiments), default=None)
    return records, most


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
