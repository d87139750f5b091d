"""Plots of experiments, from the readings that a drawing names."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inkblur import ParameterError
from reproduction.result import Drawing, Outcome, Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MARKERS = "osD^vP*X"
# Okabe and Ito's colors, which people can tell apart whatever their color vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MOST_TICKS = 12  # on a logarithmic axis; beyond that round numbers serve


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawn plot: the file's name, what it shows, and the SVG text."""

    file: str
    title: str
    svg: str
    wide: bool  # several panels: it takes a row of its own


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place of a plot: across, up, and the intervals of both."""

    x: float
    y: float
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    paper: float | None


def require_matplotlib() -> None:
    """Fail now, and not after the measuring, where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ParameterError("plots need matplotlib: pip install '.[plots]'") from None


def plots(experiment: str, outcome: Outcome) -> tuple[Plot, ...]:
    """Every drawing of an experiment as SVG."""
    stem = experiment.replace("/", "-")
    return tuple(
        Plot(
            f"{stem}-{number}.svg",
            drawing.title,
            _svg(drawing, outcome.readings),
            drawing.panel is not None or len(_lines(drawing, outcome.readings)) > 6,
        )
        for number, drawing in enumerate(outcome.drawings, start=1)
    )


def _svg(drawing: Drawing, readings: Sequence[Reading]) -> str:
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    mine = [reading for reading in readings if reading.table == drawing.table]
    drawn = [reading for reading in mine if reading.measure == drawing.measure]
    panels = list(dict.fromkeys(_named(r, drawing.panel) for r in drawn if _has(r, drawing.panel)))
    panels = panels or [""]
    figure = Figure(figsize=(min(14.0, 1.6 + 4.0 * len(panels)), 3.8), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for panel, place in zip(panels, axes, strict=True):
        held = [r for r in mine if drawing.panel is None or _named(r, drawing.panel) == panel]
        _panel(place, drawing, held, _lines(drawing, mine))
        if panel:
            place.set_title(f"{drawing.panel}: {panel}", fontsize=10)
    axes[0].set_ylabel(drawing.measure)
    entries = {
        label: handle
        for place in axes
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True)
    }
    if len(entries) > 1:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside right center",
            frameon=False,
            fontsize=9 if len(entries) <= 8 else 7,
        )
    text = io.StringIO()
    # Otherwise it carries the date and random names, and differs on every run; letters as text.
    with matplotlib.rc_context({"svg.hashsalt": "inkblur", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _panel(axes: Axes, drawing: Drawing, readings: Sequence[Reading], lines: Sequence[str]) -> None:
    """`lines`: those of all panels, so that a line has one color everywhere."""
    ticks = set()
    for number, line in enumerate(lines):
        spots = _spots(drawing, [r for r in readings if _named(r, drawing.line) == line])
        if not spots:
            continue
        ticks |= {spot.x for spot in spots}
        color = COLORS[number % len(COLORS)]
        name = line if drawing.line is None or not _is_number(line) else f"{drawing.line} {line}"
        axes.errorbar(
            [s.x for s in spots],
            [s.y for s in spots],
            xerr=[[s.x - s.x_low for s in spots], [s.x_high - s.x for s in spots]],
            yerr=[[s.y - s.y_low for s in spots], [s.y_high - s.y for s in spots]],
            color=color,
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            linewidth=1.5,
            elinewidth=0.8,
            label=name or None,
        )
        printed = [s for s in spots if s.paper is not None]
        axes.plot(
            [s.x for s in printed],
            [s.paper for s in printed if s.paper is not None],
            color=color,
            linestyle=":",
            linewidth=1.0,
            marker=MARKERS[number % len(MARKERS)],
            markerfacecolor="none",
            markersize=6,
            label=f"{name}, paper" if printed else None,
        )
    if drawing.log_x:
        axes.set_xscale("log")
        if len(ticks) > _MOST_TICKS:
            ticks = {n * 10.0**e for e in range(-3, 7) for n in (1, 2, 5)}
            low, high = axes.get_xlim()
            ticks = {tick for tick in ticks if low <= tick <= high}
        axes.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
        axes.minorticks_off()
    axes.set_xlabel(drawing.x)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _lines(drawing: Drawing, readings: Sequence[Reading]) -> list[str]:
    return list(
        dict.fromkeys(
            _named(reading, drawing.line)
            for reading in readings
            if reading.table == drawing.table and reading.measure == drawing.measure
        )
    )


def _spots(drawing: Drawing, readings: Sequence[Reading]) -> list[_Spot]:
    """Places in order across; `x` is a coordinate, or else another measure of the same place."""
    other = {tuple(r.where.items()): r.found for r in readings if r.measure == drawing.x}
    spots = []
    for reading in readings:
        if reading.measure != drawing.measure:
            continue
        y = reading.found
        across = other.get(tuple(reading.where.items()))
        if across is not None:
            x, low, high = across.value, across.low, across.high
        elif drawing.x in reading.where:
            x = low = high = float(reading.where[drawing.x])
        else:
            continue
        spots.append(_Spot(x, y.value, low, high, y.low, y.high, reading.paper))
    return sorted(spots, key=lambda spot: spot.x)


def _has(reading: Reading, axis: str | None) -> bool:
    return axis is not None and axis in reading.where


def _named(reading: Reading, axis: str | None) -> str:
    if axis is None or axis not in reading.where:
        return ""
    value = reading.where[axis]
    return value if isinstance(value, str) else f"{value:g}"


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
