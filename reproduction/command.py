"""What one command did in a folder: how long it took by the clock, and with how many workers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from inkblur.evaluation import write_atomically
from reproduction.result import ExperimentRecord

FILE = "run.json"


@dataclass(frozen=True, slots=True)
class Command:
    """The last command that did something in a folder.

    The seconds of records say what their steps took, also in earlier runs and beside each other;
    only a command that began with nothing knows how long it all took.
    """

    seconds: float  # by the clock, from start to end
    processor_seconds: float  # of its records, which others may replace later
    workers: int
    experiments: tuple[str, ...]
    resumed: bool  # some of the work was there already

    def did(self, records: Sequence[ExperimentRecord]) -> bool:
        """Whether it began with nothing and measured some of these experiments."""
        return not self.resumed and any(r.experiment in self.experiments for r in records)

    def write(self, folder: Path) -> None:
        """Keep it beside the records."""
        write_atomically(folder / FILE, json.dumps(asdict(self), indent=1) + "\n")


def held_command(folder: Path) -> Command | None:
    """The one that is kept in a folder, where there is one that can be read."""
    try:
        body = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Command(
            float(body["seconds"]),
            float(body["processor_seconds"]),
            int(body["workers"]),
            tuple(body["experiments"]),
            bool(body["resumed"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
