"""Talk goes to standard error, data to standard output; errors are one line and exit code 1."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, ConsoleOptions
from rich.markup import escape

from inkblur.errors import PARAMETER, InkblurError

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Column, Table

    from inkblur.evaluation.reports.tables import Table as ReportTable

talk = Console(stderr=True, highlight=False, soft_wrap=True)
data = Console(highlight=False, soft_wrap=True)


_FLAGS = {
    "lam": "--lambda",
    "rng": "--key-file",
    "columns": "--column",
    "keep_columns": "--keep-column",
}


def in_flags(message: str) -> str:
    """A message of the library as the command line says it: with flags for parameters.

    >>> in_flags('use `device="cpu"` or leave out `id_column=`')
    'use --device cpu or leave out --id-column'
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("\"'")
        shown = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        return shown if value in ("", "True") else f"{shown} {value}"

    return PARAMETER.sub(flag, message)


def named_path(value: str) -> Path:
    """A file or folder that is written under its own name.

    Where standard output has other use, `-` would be a file of that name.
    """
    if value == "-":
        raise typer.BadParameter("this is not written to standard output; give a name, not -")
    return Path(value)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WRITTEN: dict[str, Any] = {"parser": named_path, "metavar": "PATH"}  # of an option or argument


def output_option(help: str) -> Any:
    """`--output` of a command that writes files under their own names."""
    return typer.Option("--output", "-o", help=help, **WRITTEN)


def print_table(table: Table) -> None:
    """Print data as a table, without its frame where that takes the room that words need. What is
    still too long goes on in the next line: a figure that is cut short would be another one.
    """
    from rich.box import SIMPLE_HEAD

    endless = data.options.update(width=10_000)
    if data.measure(table, options=endless).minimum > data.width:
        table.box, table.padding = SIMPLE_HEAD, (0, 1, 0, 0)
    for column in table.columns:
        column.overflow = "fold"
    whole = data.measure(table, options=endless)
    if whole.minimum <= data.width < whole.maximum:
        _share_room(table.columns, data.width - whole.minimum, endless)
    data.print(table)


def _share_room(columns: list[Column], spare: int, endless: ConsoleOptions) -> None:
    """Make each column as wide as its longest word, and the one that lacks most wider, in turn."""
    least, most = [], []
    for column in columns:
        sizes = [data.measure(it, options=endless) for it in (column.header, *column.cells)]
        least.append(max(size.minimum for size in sizes))
        most.append(max(size.maximum for size in sizes))
    for _ in range(spare):
        place = max(range(len(columns)), key=lambda i: most[i] - least[i])
        least[place] += 1
    for column, width in zip(columns, least, strict=True):
        column.width = width


def print_report(*tables: ReportTable) -> None:
    """Print tables of a report's page as they stand there, without the details of numbers; those
    without rows are left out.
    """
    from rich.table import Table

    for shown in filter(lambda table: table.rows, tables):
        grid = Table(title=escape(shown.title) if shown.title else None)
        for head in shown.heads:
            grid.add_column(escape(head.text), justify="right" if head.number else "left")
        for row in shown.rows:
            cells = [
                f"{cell.text} ({cell.detail})" if cell.detail and not cell.number else cell.text
                for cell in row.cells
            ]
            grid.add_row(*map(escape, cells), style="bold" if row.lead else None)
        print_table(grid)
        if shown.caption:
            data.print(escape(shown.caption))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn our exceptions into one line on standard error and exit code 1, without a traceback."""
    try:
        yield
    except InkblurError as error:
        talk.print(f"[bold red]error:[/] {escape(in_flags(str(error)))}")
        raise typer.Exit(1) from None
    except MemoryError:
        talk.print("[bold red]error:[/] not enough memory; try a smaller embedding (--vocabulary)")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        talk.print("[bold red]stopped:[/] interrupted, no output file was written")
        raise typer.Exit(130) from None


class Bar:
    """A progress bar, and how far it is."""

    def __init__(self, shown: Progress, what: str, total: int | None) -> None:
        self.done = 0
        self._shown, self._began = shown, time.monotonic()
        self._task = shown.add_task(what, total=total, rate="")

    def show(
        self,
        done: int,
        total: int | None = None,
        *,
        counted: float | None = None,
        what: str | None = None,
    ) -> None:
        """Show how much is done (`counted`: what the rate is of, if something else), and a new
        `total` or description if there is one.
        """
        self.done = done
        rate = (done if counted is None else counted) / max(time.monotonic() - self._began, 1e-9)
        written = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        self._shown.update(self._task, completed=done, total=total, description=what, rate=written)


@contextmanager
def progress(what: str, unit: str, total: int | None = None) -> Iterator[Bar]:
    """A bar with the rate, in `unit` a second, and the time left; on a terminal only."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]} " + unit + "/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        # Rich before 15 ends even a disabled bar with an empty line: nobody hears this console.
        console=talk if talk.is_terminal else Console(quiet=True),
        disable=not talk.is_terminal,
        transient=True,
    ) as shown:
        yield Bar(shown, what, total)
