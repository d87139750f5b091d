"""What every experiment works with: data, seeded streams, sizes, and steps that are done once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from inkblur import Embedding, ParameterError, ReleaseSpec, Rng, seeded_rng
from inkblur.evaluation import Released, releaser
from reproduction.checkpoint import Checkpoint
from reproduction.datasets import Datasets
from reproduction.forks import can_fork, in_forks

Size = TypeVar("Size")
OnStepBegin = Callable[[str], None]  # called with the step that begins
StepJob = tuple[str, Callable[..., Any], *tuple[Any, ...]]  # its name, what does it, arguments


def steps_file(folder: Path, experiment: str) -> Path:
    """Where an experiment's finished steps lie."""
    return folder / "steps" / f"{experiment.replace('/', '-')}.jsonl"


class Context:
    """One experiment's place of work.

    A step has a name and gives plain JSON; a finished step is kept in a file and not done again, so
    a killed run goes on where it stopped. A step's randomness depends on the seed, the experiment
    and the names given alone, never on which steps ran before.
    """

    def __init__(
        self,
        experiment: str,
        datasets: Datasets,
        *,
        seed: int,
        quick: bool,
        folder: Path,
        whole: bool = False,
        needs: Sequence[str] = (),
        commit: str = "",
        machine: str = "",
        workers: int = 1,
        on_step: OnStepBegin = lambda name: None,
    ) -> None:
        """`needs`: the datasets that steps may use; `commit`: the source's; `machine`: what it runs
        on; `workers`: how many steps are done at the same time, where an experiment gives several
        at once.
        """
        if quick and whole:
            raise ParameterError("a quick look is not whole: choose one of them")
        self.experiment, self.seed, self.quick, self.whole = experiment, seed, quick, whole
        self.datasets = datasets.restricted_to(experiment, needs)
        self._on_step, self._workers = on_step, workers
        self._checkpoint = Checkpoint(
            steps_file(folder, experiment),
            {
                "experiment": experiment,
                "seed": seed,
                "quick": quick,
                **({"whole": True} if whole else {}),
                "data": {key: datasets.digest(key) for key in needs},
            },
        )
        self._done = {row["step"]: row for row in self._checkpoint.rows}
        self._commit, self._machine = commit, machine

    def size(self, full: Size, quick: Size, whole: Size | None = None) -> Size:
        """The usual value; the one for a quick look, which only shows that everything runs; or,
        where all of the data was asked for, the one for that.
        """
        if self.whole and whole is not None:
            return whole
        return quick if self.quick else full

    def step(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """What `work(*arguments)` gives (plain JSON), done now or taken from an earlier run."""
        if name not in self._done:
            self._on_step(name)
            self._keep(self._row(name, work, *arguments))
        return self._done[name]["value"]

    def steps(
        self, jobs: Sequence[StepJob], prepare: Callable[[], Any] = lambda: None
    ) -> list[Any]:
        """What several steps give, in this order; no step may need another's value.

        `prepare` is called before several are done at the same time: what it learns is theirs.
        """
        new = [job for job in {job[0]: job for job in jobs}.values() if job[0] not in self._done]
        if min(self._workers, len(new)) > 1 and can_fork():
            self._on_step(f"{len(new)} steps, {new[0][0]} and others")
            prepare()
            for row in in_forks([partial(self._row, *job) for job in new], self._workers):
                self._keep(row)
        return [self.step(*job) for job in jobs]

    def _row(self, name: str, work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        began, used = time.perf_counter(), time.process_time()
        value = work(*arguments)
        seconds, processor = time.perf_counter() - began, time.process_time() - used
        return {
            "step": name,
            "seconds": round(seconds, 3),
            "processor_seconds": round(processor, 3),
            "day": datetime.now(UTC).date().isoformat(),
            "commit": self._commit,
            "machine": self._machine,
            "value": value,
        }

    def _keep(self, row: dict[str, Any]) -> None:
        self._checkpoint.add(row)
        self._done[row["step"]] = row

    @property
    def seconds(self) -> float:
        """The work done so far, earlier runs included, by the clock: steps done at the same time
        count one by one.
        """
        return float(sum(row["seconds"] for row in self._done.values()))

    @property
    def processor_seconds(self) -> float:
        """The same, by what the processors worked: other programs do not count."""
        return float(sum(row["processor_seconds"] for row in self._done.values()))

    @property
    def commits(self) -> tuple[str, ...]:
        """The sources the steps were made with: several, where a run was continued."""
        return tuple(dict.fromkeys(row["commit"] for row in self._done.values()))

    @property
    def days(self) -> tuple[str, ...]:
        """The days (UTC) on which the steps were measured, in order."""
        return tuple(sorted({row["day"] for row in self._done.values()}))

    @property
    def machines(self) -> tuple[str, ...]:
        """What the steps ran on."""
        return tuple(dict.fromkeys(row["machine"] for row in self._done.values()))

    def rng(self, *names: str) -> Rng:
        """The stream of these names."""
        return seeded_rng(self.seed).child(self.experiment, *names)

    def sample(self, count: int, of: int, *names: str) -> list[int]:
        """`count` different numbers below `of` in ascending order, drawn evenly."""
        return sorted(self.rng("sample", *names).permutation(of)[:count].tolist())

    def release(
        self, setting: ReleaseSpec, embedding: Embedding, texts: Sequence[str], *names: str
    ) -> Released:
        """The texts released under a setting; `names` tell repetitions and parts apart."""
        rng = self.rng("release", setting.name, *names)
        return releaser(with_names(setting), embedding).release(texts, rng)


def with_names(setting: ReleaseSpec) -> ReleaseSpec:
    """The setting with names of people blurred like any other word, as in all four papers.

    Inkblur's own default hides names altogether, which would flatter every mechanism.

    >>> with_names(ReleaseSpec("laplace", 5.0)).names
    'blur'
    """
    return replace(setting, names="blur")
