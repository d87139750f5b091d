"""`python -m reproduction`: the papers' tables measured again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from inkblur import InkblurError, ParameterError
from inkblur.errors import InputError
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import require_matplotlib
from reproduction.page import DOCUMENT, shown_verdict, summary, write_reproduction
from reproduction.runner import held_records, reproduce


def options() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Measure the papers' tables and figures again, beside the printed numbers. "
        "Finished steps are kept: the same command continues a run that was stopped.",
    )
    parser.add_argument("names", nargs="*", help="experiments, papers, or all")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--data", type=Path, help="folder of the collections; else INKBLUR_DATA")
    parser.add_argument("--quick", action="store_true", help="small samples: judges nothing")
    parser.add_argument("--whole", action="store_true", help="all of the data: hours, resumable")
    parser.add_argument("--seed", type=int, default=1, help="the same one gives the same numbers")
    parser.add_argument("--workers", type=int, default=2, help="steps at once, about 1.5 GB each")
    parser.add_argument("--records", type=Path, help="measure nothing: show this folder's records")
    parser.add_argument("-o", "--output", type=Path, default=Path("reproduced"))
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Measure, write records and document, print the verdicts."""
    given = options().parse_args(words)
    if given.list:
        for entry in EXPERIMENTS.values():
            print(f"{entry.name}: {entry.repeats}. {entry.question}")
        return 0
    try:
        require_matplotlib()  # before the measuring
        if given.records is not None:
            if given.names:
                raise ParameterError("--records measures nothing: leave out the experiments")
            made = held_records(given.records)
            if not made:
                raise InputError(f"{given.records} holds no records")
            write_reproduction(made, given.output)
        else:
            try:
                made = reproduce(
                    given.names,
                    given.output,
                    data=given.data,
                    quick=given.quick,
                    whole=given.whole,
                    seed=given.seed,
                    workers=given.workers,
                    on_progress=lambda doing, done, total: _say(f"{done} of {total} done; {doing}"),
                )
            finally:  # also where it was stopped or failed: what is finished can be read
                if held_records(given.output):
                    write_reproduction(held_records(given.output), given.output)
            for record in made:
                for claim in record.outcome.claims:
                    print(f"{shown_verdict(record, claim):5}  {record.experiment}  {claim.name}")
        _say(f"{summary(made)} Wrote {given.output / DOCUMENT}")
    except KeyboardInterrupt:
        _say(f"stopped: finished steps are kept in {given.output}; the same command goes on")
        return 130
    except InkblurError as error:
        _say(f"error: {error}")
        return 1
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
