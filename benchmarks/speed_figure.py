"""Cost against size, drawn: what `python -m benchmarks --plot` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.speed import Speed
from inkblur import OutputError, ParameterError
from inkblur.evaluation import rendered, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZES = (
    ("words", "words of the vocabulary"),
    ("batch", "queries a search"),
    ("tokens", "words of the file"),
    ("epsilon", "epsilon"),
)


def check(path: Path) -> None:
    """Fail before the measuring: no matplotlib, an unknown suffix, no such folder."""
    require_matplotlib()
    if path.suffix not in (".svg", ".png"):
        raise ParameterError(f"{path.name}: name a file that ends in .svg or .png")
    if not path.resolve().parent.is_dir():
        raise OutputError(f"cannot write {path}: no such folder {path.parent}; create it first")


def write(speeds: Sequence[Speed], path: Path) -> None:
    """The figure into a file."""
    image = rendered(figure(speeds), path.suffix.lstrip("."))
    try:
        path.write_bytes(image)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None


def figure(speeds: Sequence[Speed]) -> Figure:
    """Microseconds a word against the size that varies, a line for each contender."""
    from matplotlib.figure import Figure

    if not speeds:
        raise ParameterError("nothing to draw: nothing was measured")
    varied = [
        (field, label)
        for field, label in _SIZES
        if len({getattr(speed.setting, field) for speed in speeds}) > 1
    ]
    field, label = varied[0] if varied else _SIZES[0]
    drawn = Figure(figsize=(8, 5), layout="constrained")
    axes = drawn.subplots()
    for name in dict.fromkeys(speed.name for speed in speeds):
        own = sorted(
            (speed for speed in speeds if speed.name == name),
            key=lambda speed: float(getattr(speed.setting, field)),
        )
        axes.errorbar(
            [float(getattr(speed.setting, field)) for speed in own],
            [1e6 / speed.rate for speed in own],
            yerr=(
                [1e6 / speed.rate - 1e6 / speed.fastest for speed in own],
                [1e6 / speed.slowest - 1e6 / speed.rate for speed in own],
            ),
            label=name,
            marker="o",
            markersize=4,
            linewidth=1.6,
            capsize=2,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel("microseconds a word, median with slowest and fastest turn")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.legend(loc="outside right upper", frameon=False, fontsize=8)
    return drawn
