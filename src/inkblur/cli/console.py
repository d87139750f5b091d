"""Talk goes to standard error, data to standard output; errors are one line and exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from inkblur.errors import InkblurError

talk = Console(stderr=True, highlight=False, soft_wrap=True)
data = Console(highlight=False, soft_wrap=True)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn our exceptions into one line on standard error and exit code 1, without a traceback."""
    try:
        yield
    except InkblurError as error:
        talk.print(f"[bold red]error:[/] {_escaped(error)}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        talk.print("[bold red]stopped:[/] interrupted, no output was written")
        raise typer.Exit(130) from None


def progress(unit: str) -> Progress:
    """A bar with rate and time left, shown only on a terminal."""
    return Progress(
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]} " + unit + "/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=talk,
        disable=not talk.is_terminal,
        transient=True,
    )


def _escaped(error: Exception) -> str:
    return str(error).replace("[", r"\[")
