"""`python -m benchmarks`: this program's speed beside the other ways to do the same."""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from inkblur import InkblurError, load_embedding
from inkblur.evaluation import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.speed import Speed

talk = Console(stderr=True, highlight=False, soft_wrap=True)
data = Console(highlight=False, soft_wrap=True)


def bench(
    embedding: Annotated[
        str | None, typer.Option(help="Bundled by default; or a file of word vectors.")
    ] = None,
    words: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Vocabulary size, several times for several; beyond the embedding's own, noisy "
            "copies of its words are added. All of the embedding if not given.",
        ),
    ] = None,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Queries per search; 4096.")
    ] = None,
    tokens: Annotated[
        list[int] | None, typer.Option(min=1, help="Words of the file that is privatized; 20000.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option("--epsilon", "-e", help="Per unit of distance; 10.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Turns of each contender; report 5 or more.")
    ] = 5,
    check: Annotated[
        int, typer.Option(help="Compare this many answers with a float64 brute force.")
    ] = 1000,
    clock: Annotated[
        str, typer.Option(help="wall, or cpu: the processor time of all threads, on a busy machine")
    ] = "wall",
    only: Annotated[
        list[str] | None, typer.Option(help="Only contenders with this in their name.")
    ] = None,
    device: Annotated[
        Device, typer.Option(help="Where to search. Does not change the output.")
    ] = Device.AUTO,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads of the search on the processor; all if not given."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw rate against size into this .svg or .png file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Race this program against NumPy, faiss, mldp-text and pypantera.

    All take turns in one run on the same vectors, words and epsilon: trust the ratios. The last
    two run in environments of their own, which the first run that names them makes with pip.

    Example: python -m benchmarks --words 10000 --words 100000 --epsilon 10 --plot speed.svg
    """
    if any(strength <= 0 for strength in epsilon or ()):
        raise typer.BadParameter("--epsilon is above 0")
    try:
        from benchmarks import peers
        from benchmarks.speed import RaceSetting, compare, grown

        counter = _clock(clock)
        if plot is not None:
            from benchmarks import speed_figure

            speed_figure.check(plot)
        table = load_embedding(embedding) if embedding else load_embedding()
        sizes = words or [len(table)]
        rest = list(product(batch or [4096], tokens or [20_000], epsilon or [10.0]))
        speeds: list[Speed] = []
        for size in sizes:
            vocabulary = grown(table, max(2, size))
            for queries, length, strength in rest:
                setting = RaceSetting(len(vocabulary), queries, length, strength)
                with talk.status(f"racing over {size:,} words"):
                    found = compare(
                        vocabulary,
                        setting,
                        clock=counter,
                        repeat=repeat,
                        check=max(0, check),
                        device=device,
                        threads=threads,
                        only=only or (),
                        on_skip=lambda reason: talk.print(escape(reason)),
                    )
                speeds += found
                if not as_json:
                    _show(found)
        if as_json:
            print(json.dumps([speed.to_json() for speed in speeds], indent=2))
        if plot is not None:
            speed_figure.write(speeds, plot)
        if peers.blas_kernels():
            talk.print(f"matrix products by {', '.join(peers.blas_kernels())}")
        if peers.old_kernels():
            talk.print(
                "Prescott: that one does not know this processor and runs at a fraction of its "
                "speed; compare again with OPENBLAS_CORETYPE=SKYLAKEX (or HASWELL) set"
            )
    except InkblurError as error:
        talk.print(f"[bold red]error:[/] {escape(str(error))}")
        raise typer.Exit(1) from None


def _clock(name: str) -> Callable[[], float]:
    clocks = {"wall": time.perf_counter, "cpu": time.process_time}
    if name not in clocks:
        raise typer.BadParameter(f"--clock is wall or cpu, not {name!r}")
    return clocks[name]


def _show(speeds: Sequence[Speed]) -> None:
    from rich.table import Table

    from benchmarks.speed import quotients

    if not speeds:
        talk.print("nothing to race: --only names no contender")
        return
    setting = speeds[0].setting
    table = Table(
        "", "words/s", "slowest to fastest", "ratio", "memory", "exact", box=None, pad_edge=False
    )
    for speed in speeds:
        table.add_row(
            speed.name,
            f"{speed.rate:,.0f}" if speed.rate >= 100 else f"{speed.rate:.1f}",
            f"{speed.slowest:,.0f} to {speed.fastest:,.0f}",
            f"{speed.ratio:.3g} ({speed.least_ratio:.3g} to {speed.most_ratio:.3g})",
            "" if speed.memory is None else f"{speed.memory / 1e6:,.0f} MB",
            "" if speed.agreement is None else f"{speed.agreement:.3%} of {speed.checked:,}",
        )
    data.print(
        f"{setting.words:,} words, epsilon {setting.epsilon:g}, batches of {setting.batch:,}, file "
        f"of {setting.tokens:,} words; ratios to {speeds[0].name}, memory beside the vectors"
    )
    data.print(table)
    for quotient in quotients(speeds):
        data.print(f"{quotient.of} / {quotient.to}: {quotient.ratio:.3g}")


if __name__ == "__main__":
    typer.run(bench)
