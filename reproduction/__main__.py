"""`python -m reproduction`: the papers' tables measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from inkblur import InkblurError, ParameterError

talk = Console(stderr=True, highlight=False, soft_wrap=True)
data = Console(highlight=False, soft_wrap=True)


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments by name, or all.", show_default=False)
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--data", help="The folder of the public collections; else INKBLUR_DATA."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small samples: shows that it runs, judges nothing.")
    ] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="All of the data where the usual run samples it: hours, resumable."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    workers: Annotated[
        int,
        typer.Option(help="Steps done at the same time, each in a process of about 1.5 GB."),
    ] = 2,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished",
            help="Measure nothing: make the records of a run that was stopped from its finished "
            "steps, and leave out what lacks some.",
        ),
    ] = False,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--records",
            help="Measure nothing: show the records of this folder. Give it again for more; of an "
            "experiment in several, the last one's are shown.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where records, page and document go.")
    ] = Path("reproduced"),
) -> None:
    """Measure the tables and figures of the papers again, beside the printed numbers.

    Finished steps are kept in the output folder: the same command continues a run that was
    stopped. The page and the document show every record the folder holds; with --records, those
    of other folders.

    Example: python -m reproduction mahalanobis/privacy syntf/bounds --data corpora -o reproduced
    """
    try:
        if show_list:
            _print_list()
            return
        from inkblur.evaluation import require_matplotlib, require_page_libraries
        from reproduction.command import held_command
        from reproduction.page import PAGE, summary, write_reproduction
        from reproduction.record_tables import shown_verdict
        from reproduction.runner import finished_records, gathered, held_records
        from reproduction.runner import reproduce as run

        require_page_libraries()  # before the measuring
        require_matplotlib()
        if folders:
            if names:
                raise ParameterError("--records measures nothing: leave out the experiments")
            records, command = gathered(folders)
            write_reproduction(records, output, command)
            talk.print(f"{summary(records, command)} Wrote {output / PAGE}")
            return
        with talk.status("starting") as line:
            last = -1

            def show(doing: str, done: int, total: int) -> None:
                nonlocal last
                line.update(f"{done} of {total} done; {doing}")
                if not talk.is_terminal and done > last:
                    talk.print(f"{done} of {total} done; {doing}")
                last = done

            try:
                records = (
                    finished_records(
                        names or [], output, data=folder, quick=quick, whole=whole, seed=seed
                    )
                    if finished
                    else run(
                        names or [],
                        output,
                        data=folder,
                        quick=quick,
                        whole=whole,
                        seed=seed,
                        workers=workers,
                        on_progress=show,
                    )
                )
            except KeyboardInterrupt:
                line.stop()
                talk.print(
                    f"[bold red]stopped:[/] finished steps are kept in {output}; the same command "
                    "goes on from there"
                )
                raise typer.Exit(130) from None
            finally:  # also where it was stopped or failed: what is finished can be read
                line.update("writing the page")
                if held_records(output):
                    write_reproduction(held_records(output), output, held_command(output))
        for record in records:
            for claim in record.outcome.claims:
                data.print(f"{shown_verdict(record, claim):5}  {record.experiment}  {claim.name}")
        talk.print(f"{summary(records, held_command(output))} Wrote {output / PAGE}")
    except InkblurError as error:
        talk.print(f"[bold red]error:[/] {escape(str(error))}")
        raise typer.Exit(1) from None


def _print_list() -> None:
    from rich.table import Column, Table

    from reproduction.experiments import EXPERIMENTS

    table = Table(Column("experiment", no_wrap=True), "repeats", "question")
    for entry in EXPERIMENTS.values():
        table.add_row(entry.name, entry.repeats, entry.question)
    data.print(table)


if __name__ == "__main__":
    typer.run(reproduce)
