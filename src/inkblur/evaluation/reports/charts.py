"""The charts of the pages: shares over settings with error bars, and utility over risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from inkblur.errors import ParameterError
from inkblur.evaluation.reports.plots import (
    COLORS,
    GRID,
    INK,
    MARKERS,
    PAGE,
    inline_svg,
    new_figure,
)
from inkblur.evaluation.results import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 6  # lines with a color and a name of their own; with more, colors would repeat
_NAMES_A_ROW = 2  # of the legend under a chart
_LETTERS = 14  # of a group's name that fit under one column


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and what it shows."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a mean and its interval per column, None where it has none."""

    name: str
    points: tuple[Interval | None, ...]
    color: int = 0  # beyond the colors there are, the same ones with another marker
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A place on the horizontal axis; lines connect columns of one group only."""

    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """A setting's place: shares, usually between 0 and 1."""

    name: str
    x: float
    y: float

    @property
    def tip(self) -> str:
        """What the page shows when it is pointed at."""
        return f"{self.name}: {self.x:.1%}, {self.y:.1%}"


def chart(
    columns: Sequence[Column],
    series: Sequence[Series],
    *,
    title: str,
    mark: tuple[str, float] | None = None,
    percent: bool = True,
) -> Figure:
    """Shares between 0 and 1 over columns, with error bars; `mark` draws one level across."""
    if not columns or not series:
        raise ParameterError("nothing to draw")
    named = math.ceil(len(series) / _NAMES_A_ROW)
    legend_width = _NAMES_A_ROW * (0.5 + 0.075 * max(len(line.name) for line in series))
    figure, axes = new_figure(
        max(4.8, 0.7 + 0.95 * len(columns), legend_width), max(3.6, 2.6 + 0.2 * named)
    )
    axes.set_ylim(0, 1)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    labels = [column.label for column in columns]
    axes.set_xticks(range(len(columns)), labels)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_yticks(ticks, [f"{t:.0%}" if percent else f"{t:.2f}" for t in ticks])
    axes.grid(axis="y", color=GRID, clip_on=False)
    _name_groups(axes, columns)
    if mark is not None:
        name, level = mark
        axes.axhline(level, color=INK, linewidth=0.8, linestyle=":", clip_on=False)
        axes.text(-0.58, level + 0.015, name, color=INK, fontsize=9)
    # So that error bars do not overlap, and that points stay in their column.
    step = min(0.08, 0.8 / len(series))
    for number, line in enumerate(series):
        _draw_series(axes, line, columns, step * (number - (len(series) - 1) / 2))
    legend: dict[str, Any] = {"frameon": False, "labelcolor": INK, "fontsize": 9}
    figure.legend(loc="outside lower left", ncols=_NAMES_A_ROW, **legend)
    return Figure(title, inline_svg(figure, title))


def scatter(
    paths: Mapping[str, Sequence[Spot]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    chosen: Spot | None = None,
    least_y: float | None = None,
    most_x: float | None = None,
    held_out: Spot | None = None,
) -> Figure:
    """The spots, a line through those of each path, and a ring around the chosen one.

    A dashed line shows what was wanted: `least_y` or `most_x`. A square is the chosen one on
    `held_out` texts.
    """
    spots = [spot for path in paths.values() for spot in path]
    if not spots:
        raise ParameterError("nothing to draw")
    seen = [*spots, *([held_out] if held_out is not None else [])]
    top = max(1.0, *(math.ceil(4 * value) / 4 for s in seen for value in (s.x, s.y)))
    named = len(paths) <= _MOST_NAMED and any(paths)
    figure, axes = new_figure(6.0, 4.4 + 0.2 * len(paths) * named)
    axes.set(xlim=(0, top), ylim=(0, top), xlabel=x_label, ylabel=y_label)
    ticks = [quarter / 4 for quarter in range(round(4 * top) + 1)]
    axes.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.grid(color=GRID, clip_on=False)
    wanted: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": ":", "clip_on": False}
    if least_y is not None:
        axes.plot([0, top], [least_y, least_y], gid="wanted", **wanted)
    if most_x is not None:
        axes.plot([most_x, most_x], [0, top], gid="wanted", **wanted)
    for number, (name, path) in enumerate(paths.items()):
        color = COLORS[number] if named else COLORS[0]
        xs, ys = [spot.x for spot in path], [spot.y for spot in path]
        axes.plot(xs, ys, color=color, alpha=0.45, clip_on=False, gid="path")
        for spot in path:
            _draw_spot(axes, spot, spot.tip, color=color)
        axes.plot([], [], "o", color=color, label=name if named else None)
    if chosen is not None:
        if held_out is not None:
            axes.plot([chosen.x, held_out.x], [chosen.y, held_out.y], gid="moved", **wanted)
            _draw_spot(axes, held_out, f"held out: {held_out.tip}", marker="s", **_RING)
        _draw_spot(axes, chosen, f"chosen: {chosen.name}", markersize=12, **_RING)
        right, low = chosen.x < top / 2, chosen.y > 0.92 * top
        axes.annotate(
            "chosen",
            (chosen.x, chosen.y),
            (11 if right else -11, -14 if low else 6),
            textcoords="offset points",
            ha="left" if right else "right",
            weight="bold",
            color=INK,
        )
    if named:
        figure.legend(loc="outside lower left", frameon=False, labelcolor=INK, fontsize=9)
    return Figure(title, inline_svg(figure, title))


_RING: dict[str, Any] = {"color": INK, "markerfacecolor": "none", "markeredgewidth": 1.8}


def _draw_spot(axes: Axes, spot: Spot, tip: str, *, marker: str = "o", **style: Any) -> None:
    axes.plot([spot.x], [spot.y], marker, clip_on=False, gid=f"tip {tip}", **style)


def _draw_series(axes: Axes, line: Series, columns: Sequence[Column], shift: float) -> None:
    again, color_place = divmod(line.color, len(COLORS))
    color, marker = COLORS[color_place], MARKERS[again]
    dash = "--" if line.dashed else "-"
    face = PAGE if line.dashed else color
    held = [
        (place, c, p) for place, (c, p) in enumerate(zip(columns, line.points, strict=True)) if p
    ]
    for (left, before, one), (right, after, other) in pairwise(held):
        if before.group == after.group:
            xs, ys = [left + shift, right + shift], [_inside(one.mean), _inside(other.mean)]
            axes.plot(xs, ys, dash, color=color, clip_on=False)
    for place, column, point in held:
        x, y = place + shift, _inside(point.mean)
        if point.low is not None and point.high is not None:
            interval = [_inside(point.low), _inside(point.high)]
            axes.plot([x, x], interval, color=color, linewidth=1, clip_on=False)
        tip = f"tip {line.name}, {column.group} {column.label}: {point.mean:.3f}"
        axes.plot([x], [y], marker, color=color, markerfacecolor=face, clip_on=False, gid=tip)
    axes.plot([], [], f"{marker}{dash}", color=color, markerfacecolor=face, label=line.name)


def _name_groups(axes: Axes, columns: Sequence[Column]) -> None:
    """A line under neighboring columns of one group, and its name in as many lines as it needs."""
    under = axes.get_xaxis_transform()
    for name, same in groupby(range(len(columns)), key=lambda place: columns[place].group):
        places = list(same)
        if not name:
            continue
        left, right = places[0] - 0.38, places[-1] + 0.38
        axes.plot(
            [left, right], [-0.1, -0.1], color=INK, linewidth=0.8, transform=under, clip_on=False
        )
        fits = len(name) <= _LETTERS * len(places)
        text = name if fits else name.replace(", ", "\n")
        middle = (left + right) / 2
        axes.text(
            middle, -0.13, text, transform=under, ha="center", va="top", color=INK, fontsize=9
        )


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))
