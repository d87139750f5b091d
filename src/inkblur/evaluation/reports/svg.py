"""Charts as plain SVG text, to stand inside a page: no library, no script, nothing loaded.

Colours and fonts are the page's (`currentColor`), so a chart fits a light and a dark page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from inkblur.errors import ParameterError
from inkblur.evaluation.reports.plots import COLORS

_LEFT, _TOP, _HEIGHT, _LEGEND = 52, 14, 220, 22
_LETTER = 6.4  # the usual width of a letter
_STEP, _LEAST_WIDTH = 92, 430


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A mean and, where there is one, its interval."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a point a column, None where it has none."""

    name: str
    points: tuple[ChartPoint | None, ...]
    colour: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A place on the horizontal axis; lines connect columns of one group only."""

    label: str
    group: str = ""


def chart(
    columns: Sequence[Column],
    series: Sequence[Series],
    *,
    title: str,
    mark: tuple[str, float] | None = None,
    percent: bool = True,
) -> str:
    """Shares between 0 and 1 over columns, with error bars; `mark` draws one level across."""
    if not columns or not series:
        raise ParameterError("nothing to draw")
    rows = -(-len(series) // 2)
    width = max(_LEAST_WIDTH, _LEFT + _STEP * len(columns) + 16)
    plot = width - _LEFT - 16
    places = [_LEFT + plot * (i + 0.5) / len(columns) for i in range(len(columns))]
    groups = _groups(columns, places)
    below = _TOP + _HEIGHT + 49 + 15 * max((len(group.lines) for group in groups), default=0)
    height = below + _LEGEND * rows
    parts = [
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:{width:g}px">',
        *_grid(width, percent),
    ]
    if mark is not None:
        parts.append(_mark(mark, width))
    parts += _axis(columns, places, groups)
    spread = min(10.0, 44.0 / len(series))
    for number, line in enumerate(series):
        shift = spread * (number - (len(series) - 1) / 2)  # so that error bars do not overlap
        parts += _line(line, columns, [place + shift for place in places])
        parts += _legend(line, number, width, below)
    parts.append("</svg>")
    return "\n".join(parts)


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (1.0 - min(1.0, max(0.0, value)))


def _grid(width: float, percent: bool) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{width - 16:g}" y1="{y:g}" y2="{y:g}"/>')
        label = f"{100 * tick:.0f} %" if percent else f"{tick:.2f}"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:g}" text-anchor="end">{label}</text>')
    return parts


def _mark(mark: tuple[str, float], width: float) -> str:
    y = _y(mark[1])
    return (  # named at the left, where only the texts before the release stand, usually high
        f'<line class="mark" x1="{_LEFT}" x2="{width - 16:g}" y1="{y:g}" y2="{y:g}"/>'
        f'<text class="mark" x="{_LEFT + 4}" y="{y - 5:g}">'
        f"{escape(mark[0])}</text>"
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring columns of one group, and its name in as many lines as it needs."""

    left: float
    right: float
    lines: tuple[str, ...]


def _groups(columns: Sequence[Column], places: Sequence[float]) -> list[_Group]:
    groups = []
    start = 0
    for end in range(1, len(columns) + 1):
        if end == len(columns) or columns[end].group != columns[start].group:
            left, right = places[start] - 34, places[end - 1] + 34
            name = columns[start].group
            fits = len(name) * _LETTER <= right - left + 16
            if name:
                lines = (name,) if fits else tuple(name.split(", "))
                groups.append(_Group(left, right, lines))
            start = end
    return groups


def _axis(
    columns: Sequence[Column], places: Sequence[float], groups: Sequence[_Group]
) -> list[str]:
    base = _TOP + _HEIGHT
    parts = [
        f'<text x="{place:g}" y="{base + 18}" text-anchor="middle">{escape(column.label)}</text>'
        for column, place in zip(columns, places, strict=True)
    ]
    for group in groups:
        parts.append(
            f'<line class="axis" x1="{group.left:g}" x2="{group.right:g}" y1="{base + 26}" '
            f'y2="{base + 26}"/>'
        )
        middle = (group.left + group.right) / 2
        for number, line in enumerate(group.lines):
            y = base + 42 + 15 * number
            parts.append(f'<text x="{middle:g}" y="{y}" text-anchor="middle">{escape(line)}</text>')
    return parts


def _line(line: Series, columns: Sequence[Column], places: Sequence[float]) -> list[str]:
    colour = COLORS[line.colour % len(COLORS)]
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    parts = []
    held = [(c, x, p) for c, x, p in zip(columns, places, line.points, strict=True) if p]
    for (before, x1, p1), (after, x2, p2) in pairwise(held):
        if before.group == after.group:
            parts.append(
                f'<line x1="{x1:.1f}" y1="{_y(p1.mean):.1f}" x2="{x2:.1f}" y2="{_y(p2.mean):.1f}" '
                f'stroke="{colour}" stroke-width="1.8"{dash}/>'
            )
    for column, x, point in held:
        if point.low is not None and point.high is not None:
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(point.low):.1f}" '
                f'y2="{_y(point.high):.1f}" stroke="{colour}" stroke-width="1.2"/>'
            )
        fill = "var(--page)" if line.dashed else colour
        parts.append(
            f'<circle cx="{x:.1f}" cy="{_y(point.mean):.1f}" r="4" fill="{fill}" '
            f'stroke="{colour}" stroke-width="1.6"><title>{escape(line.name)}, '
            f"{escape(column.group)} {escape(column.label)}: {point.mean:.3f}</title></circle>"
        )
    return parts


def _legend(line: Series, number: int, width: float, below: float) -> list[str]:
    colour = COLORS[line.colour % len(COLORS)]
    x = _LEFT + (number % 2) * (width - _LEFT) / 2
    y = below + _LEGEND * (number // 2)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    fill = "var(--page)" if line.dashed else colour
    return [
        f'<line x1="{x:g}" x2="{x + 26:g}" y1="{y:g}" y2="{y:g}" stroke="{colour}" '
        f'stroke-width="1.8"{dash}/>',
        f'<circle cx="{x + 13:g}" cy="{y:g}" r="4" fill="{fill}" stroke="{colour}" '
        f'stroke-width="1.6"/>',
        f'<text x="{x + 34:g}" y="{y + 4:g}">{escape(line.name)}</text>',
    ]
