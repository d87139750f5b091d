"""Talk goes to standard error, data to standard output; errors are one line and exit code 1."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, ConsoleOptions
from rich.markup import escape
from typer.core import TyperCommand

from inkblur.cli.options import in_flags
from inkblur.errors import InkblurError

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Column, Table

    from inkblur.evaluation.reports.tables import Table as ReportTable

talk = Console(stderr=True, highlight=False, soft_wrap=True)
data = Console(highlight=False, soft_wrap=True)
_EVERY = 30  # seconds between two lines of a log


def named_path(value: str) -> Path:
    """A file or folder that is written under its own name.

    Where standard output has other use, `-` would be a file of that name.
    """
    if value == "-":
        raise typer.BadParameter("this is not written to standard output; give a name, not -")
    return Path(value)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WRITTEN: dict[str, Any] = {"parser": named_path, "metavar": "PATH"}  # of an option or argument


def _show_all(ctx: typer.Context, asked: bool) -> None:
    if asked:
        for each in ctx.command.params:
            if hasattr(each, "hidden"):
                each.hidden = False
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show every option.")
]


class Command(TyperCommand):
    """A command whose errors are one line on standard error, and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run it; only our own exceptions are caught."""
        try:
            return super().invoke(ctx)
        except InkblurError as error:
            talk.print(f"[bold red]error:[/] {escape(in_flags(str(error)))}")
            raise typer.Exit(1) from None
        except MemoryError:
            talk.print("[bold red]error:[/] not enough memory; try a smaller embedding")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            talk.print("[bold red]stopped:[/] interrupted, no output file was written")
            raise typer.Exit(130) from None


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


class Log:
    """How far a long step is, on standard error: a line now and then, where no bar can be seen."""

    def __init__(self, what: str, unit: str) -> None:
        self.done = 0
        self._what, self._unit = what, unit
        self._began = time.monotonic()
        self._next = self._began + _EVERY

    def show(
        self,
        done: int,
        total: int | None = None,
        *,
        counted: float | None = None,
        what: str | None = None,
    ) -> None:
        """Show how much is done (`counted`: what the rate is of, if something else), of a `total`
        that may be known by now, and what is done now.
        """
        self.done, self._what = done, what or self._what
        seconds = max(time.monotonic() - self._began, 1e-9)
        rate = (done if counted is None else counted) / seconds
        self._print(done, total, f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}")

    def _print(self, done: int, total: int | None, rate: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            share = f" {done / total:.0%}," if total else ""
            talk.print(f"{self._what}:{share} {rate} {self._unit}/s", markup=False)


class Bar(Log):
    """A progress bar with the rate and the time left, on a terminal."""

    def __init__(self, what: str, unit: str, shown: Progress) -> None:
        super().__init__(what, unit)
        self._shown, self._task = shown, shown.add_task(what, total=None, rate="")

    def _print(self, done: int, total: int | None, rate: str) -> None:
        self._shown.update(
            self._task, completed=done, total=total, description=self._what, rate=rate
        )


@contextmanager
def progress(what: str, unit: str) -> Iterator[Log]:
    """What shows how far it is, with the rate in `unit` a second."""
    if not talk.is_terminal:
        yield Log(what, unit)
        return
    from rich import progress as bars

    with bars.Progress(
        bars.TextColumn("[progress.description]{task.description}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.fields[rate]} " + unit + "/s"),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=talk,
        transient=True,
    ) as shown:
        yield Bar(what, unit, shown)
