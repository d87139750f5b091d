"""How far a tuning is, and what to do about one that was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from inkblur.cli.console import progress, talk


@contextmanager
def shown(total: int, kept: Path) -> Iterator[Callable[[str, int, int], None]]:
    """A bar over `total` measurements; results are kept in the file `kept` when it is stopped."""
    with progress("settings") as bar:
        task = bar.add_task("tuning", total=total, rate="")
        began = time.monotonic()

        def show(name: str, done: int, of: int) -> None:
            rate = done / max(time.monotonic() - began, 1e-9)
            bar.update(task, description=name, completed=done, total=of, rate=f"{rate:.2g}")

        try:
            yield show
        except KeyboardInterrupt:
            bar.stop()
            talk.print(
                f"[bold red]stopped:[/] what was measured is kept in {kept}; the same command goes "
                "on from there"
            )
            raise typer.Exit(130) from None
