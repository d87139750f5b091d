"""One point a setting, what it keeps over what it risks, as plain SVG text to stand in a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from inkblur.errors import ParameterError
from inkblur.evaluation.reports.plots import COLORS

_LEFT, _TOP, _SIDE, _LEGEND = 64, 14, 340, 20
_WIDTH = 560
_MOST_NAMED = 6  # lines with a colour and a name of their own; with more, colours would repeat


@dataclass(frozen=True, slots=True)
class Spot:
    """A setting's place: shares, usually between 0 and 1."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Path:
    """Settings that differ in one value only, in its order: one line."""

    name: str
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a setting had to meet, drawn as dashed lines."""

    least_y: float | None = None
    most_x: float | None = None
    equal: bool = False  # the diagonal, where as much is risked as is kept


def scatter(
    paths: Sequence[Path],
    *,
    title: str,
    x_label: str,
    y_label: str,
    chosen: Spot | None = None,
    limits: Limits | None = None,
    frontier: Sequence[Spot] = (),
    held_out: Spot | None = None,
) -> str:
    """The points, lines through those of one path, and a ring around the chosen one.

    `frontier` is joined by a line of its own; `held_out`, a square, is where the chosen one lies on
    texts that took no part in the choice.
    """
    spots = [spot for path in paths for spot in path.spots]
    if not spots:
        raise ParameterError("nothing to draw")
    seen = [*spots, *([held_out] if held_out is not None else [])]
    frame = _Frame(max(1.0, *(math.ceil(4 * value) / 4 for s in seen for value in (s.x, s.y))))
    named = len(paths) <= _MOST_NAMED and any(path.name for path in paths)
    height = _TOP + _SIDE + 52 + (_LEGEND * len(paths) if named else 0)
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:{_WIDTH}px">',
        *_axes(frame, x_label, y_label),
        *_limits(frame, limits or Limits()),
    ]
    if frontier:
        parts.append(_frontier(frame, frontier))
    for number, path in enumerate(paths):
        colour = COLORS[number] if named else COLORS[0]
        parts += _path(frame, path, colour)
        if named:
            parts += _legend(path, colour, _TOP + _SIDE + 62 + _LEGEND * number)
    if chosen is not None:
        parts += _ring(frame, chosen)
        if held_out is not None:
            parts += _moved(frame, chosen, held_out)
    parts.append("</svg>")
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Frame:
    top: float  # both axes end here

    def x(self, value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 24) * max(0.0, value) / self.top

    def y(self, value: float) -> float:
        return _TOP + _SIDE * (1 - max(0.0, value) / self.top)


def _axes(frame: _Frame, x_label: str, y_label: str) -> list[str]:
    parts = []
    for quarter in range(round(4 * frame.top) + 1):
        share = quarter / 4
        x, y = frame.x(share), frame.y(share)
        label = f"{100 * share:.0f} %"
        parts += [
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 24}" y1="{y:g}" y2="{y:g}"/>',
            f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="{_TOP}" y2="{_TOP + _SIDE}"/>',
            f'<text x="{_LEFT - 8}" y="{y + 4:g}" text-anchor="end">{label}</text>',
            f'<text x="{x:g}" y="{_TOP + _SIDE + 18}" text-anchor="middle">{label}</text>',
        ]
    middle = _TOP + _SIDE / 2
    return [
        *parts,
        f'<text x="{(_LEFT + _WIDTH - 24) / 2:g}" y="{_TOP + _SIDE + 38}" text-anchor="middle">'
        f"{escape(x_label)}</text>",
        f'<text x="14" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:g})">{escape(y_label)}</text>',
    ]


def _limits(frame: _Frame, limits: Limits) -> list[str]:
    ends = []
    if limits.least_y is not None:
        ends.append((0.0, limits.least_y, frame.top, limits.least_y))
    if limits.most_x is not None:
        ends.append((limits.most_x, 0.0, limits.most_x, frame.top))
    if limits.equal:
        ends.append((0.0, 0.0, frame.top, frame.top))
    return [
        f'<line class="mark" x1="{frame.x(x1):.1f}" y1="{frame.y(y1):.1f}" '
        f'x2="{frame.x(x2):.1f}" y2="{frame.y(y2):.1f}"/>'
        for x1, y1, x2, y2 in ends
    ]


def _path(frame: _Frame, path: Path, colour: str) -> list[str]:
    places = [(frame.x(spot.x), frame.y(spot.y)) for spot in path.spots]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-opacity="0.45"/>']
    for spot, (x, y) in zip(path.spots, places, strict=True):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>'
            f"{escape(spot.name)}: {spot.x:.1%}, {spot.y:.1%}</title></circle>"
        )
    return parts


def _ring(frame: _Frame, chosen: Spot) -> list[str]:
    x, y = frame.x(chosen.x), frame.y(chosen.y)
    right = x < _WIDTH / 2
    below = y < _TOP + 24  # no room above
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" stroke="currentColor" '
        f'stroke-width="2"><title>chosen: {escape(chosen.name)}</title></circle>',
        f'<text x="{x + (13 if right else -13):.1f}" y="{y + (20 if below else -8):.1f}" '
        f'text-anchor="{"start" if right else "end"}" font-weight="600">chosen</text>',
    ]


def _frontier(frame: _Frame, spots: Sequence[Spot]) -> str:
    line = " ".join(f"{frame.x(spot.x):.1f},{frame.y(spot.y):.1f}" for spot in spots)
    return (
        f'<polyline class="frontier" points="{line}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.3" stroke-width="5" stroke-linejoin="round"/>'
    )


def _moved(frame: _Frame, chosen: Spot, held_out: Spot) -> list[str]:
    x, y = frame.x(held_out.x), frame.y(held_out.y)
    return [
        f'<line class="mark" x1="{frame.x(chosen.x):.1f}" y1="{frame.y(chosen.y):.1f}" '
        f'x2="{x:.1f}" y2="{y:.1f}"/>',
        f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="none" '
        f'stroke="currentColor" stroke-width="2"><title>held out: {escape(held_out.name)}: '
        f"{held_out.x:.1%}, {held_out.y:.1%}</title></rect>",
    ]


def _legend(path: Path, colour: str, y: int) -> list[str]:
    return [
        f'<circle cx="{_LEFT + 6}" cy="{y}" r="4" fill="{colour}"/>',
        f'<text x="{_LEFT + 18}" y="{y + 4}">{escape(path.name)}</text>',
    ]
