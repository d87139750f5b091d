"""How far a tuning is, and what to do about one that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from inkblur.cli.console import progress, talk


@contextmanager
def shown(total: int, kept: Path) -> Iterator[Callable[[str, int, int], None]]:
    """A bar over `total` measurements; results are kept in the file `kept` when it is stopped."""
    try:
        with progress("tuning", "settings", total) as bar:
            yield lambda name, done, of: bar.show(done, of, what=name)
    except KeyboardInterrupt:
        talk.print(
            f"[bold red]stopped:[/] what was measured is kept in {kept}; the same command goes on "
            "from there"
        )
        raise typer.Exit(130) from None
