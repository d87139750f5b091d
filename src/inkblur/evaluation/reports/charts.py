"""Charts from results, as SVG for a page or as files. The only file that knows matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from inkblur.atomic_file import write_atomically
from inkblur.errors import ParameterError, needs
from inkblur.evaluation.measures.statistics import PrivacyStatistics
from inkblur.evaluation.results import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MARKERS = "osD^vP*X"
# Okabe and Ito's colors, which people can tell apart whatever their color vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Stand for the page's own colors, which are light or dark: `inline_svg` puts those in.
_INK, _GRID, _PAGE = "#010203", "#040506", "#070809"
_PAGE_COLORS = {_INK: "currentColor", _GRID: "var(--line)", _PAGE: "var(--page)"}
_LEGEND: dict[str, Any] = {
    "loc": "outside lower left", "frameon": False, "labelcolor": _INK, "fontsize": 9
}  # fmt: skip
_RING: dict[str, Any] = {"color": _INK, "markerfacecolor": "none", "markeredgewidth": 1.8}
_DOTTED: dict[str, Any] = {"color": _INK, "linewidth": 1, "linestyle": ":", "clip_on": False}


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and what it shows."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one look: a mean and its interval per row, None where it has none."""

    name: str
    points: tuple[Interval | None, ...]


Spot = tuple[str, float, float]  # a setting and its place: shares, usually between 0 and 1


def require_matplotlib() -> None:
    """Fail now, and not after the measuring, where matplotlib is not installed."""
    with needs("plots need matplotlib", "plots", "leave out the output directory"):
        import matplotlib  # noqa: F401


def dots(
    rows: Sequence[str], series: Sequence[Series], *, title: str, mark: float | None = None
) -> Figure:
    """Shares between 0 and 1 in named rows, with their intervals; `mark`: what guessing reaches."""
    if not rows or not series:
        raise ParameterError("nothing to draw")
    step = 0.16  # of an inch, so that intervals do not overlap
    height = step * (len(series) + 2)
    figure, axes = _new_figure(6.4, 0.9 + height * len(rows) + step * len(series))
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [textwrap.fill(name, 24) for name in rows])
    _percent(axes.set_xticks, 1.0)
    axes.grid(axis="x", color=_GRID, clip_on=False)
    for place in range(1, len(rows)):
        axes.axhline(place - 0.5, color=_GRID, linewidth=0.8, clip_on=False)
    if mark is not None:
        axes.axvline(mark, label=f"guessing ({mark:.0%})", **_DOTTED)
    for number, line in enumerate(series):
        again, place = divmod(number, len(COLORS))  # the same colors again, with another marker
        color, marker = COLORS[place], MARKERS[again]
        shift = (number - (len(series) - 1) / 2) * step / height
        for row, point in enumerate(line.points):
            if point is None:
                continue
            y = row + shift
            if point.low is not None and point.high is not None:
                ends = [_inside(point.low), _inside(point.high)]
                axes.plot(ends, [y, y], color=color, linewidth=1, clip_on=False)
            tip = f"tip {line.name}, {rows[row]}: {point.mean:.3f}"
            axes.plot([_inside(point.mean)], [y], marker, color=color, clip_on=False, gid=tip)
        axes.plot([], [], marker, color=color, label=line.name)
    figure.legend(ncols=2, **_LEGEND)
    return Figure(title, _inline_svg(figure, title))


def scatter(
    paths: Mapping[str, Sequence[Spot]],
    *,
    title: str,
    labels: tuple[str, str],  # of x and y
    wanted: tuple[bool, float],  # whether of x, and how much
    chosen: Spot | None = None,
    held_out: Spot | None = None,
) -> Figure:
    """The spots, a line through those of each path, a dotted one where the target is, a ring around
    the chosen one, and a square where that is on held-out texts.
    """
    seen = [*(spot for path in paths.values() for spot in path), *filter(None, [held_out])]
    top = max(1.0, *(math.ceil(4 * value) / 4 for _, *xy in seen for value in xy))
    figure, axes = _new_figure(6.0, 4.4 + 0.2 * len(paths))
    axes.set(xlim=(0, top), ylim=(0, top), xlabel=labels[0], ylabel=labels[1])
    _percent(axes.set_xticks, top)
    _percent(axes.set_yticks, top)
    axes.grid(color=_GRID, clip_on=False)
    (axes.axvline if wanted[0] else axes.axhline)(wanted[1], gid="wanted", **_DOTTED)

    def draw(spot: Spot, before: str = "", **style: Any) -> None:
        name, x, y = spot
        tip = f"tip {before}{name}: {x:.1%}, {y:.1%}"
        axes.plot([x], [y], **{"marker": "o", "clip_on": False, "gid": tip, **style})

    for number, (name, path) in enumerate(paths.items()):
        color = COLORS[number % len(COLORS)]
        line: dict[str, Any] = {"color": color, "alpha": 0.45, "clip_on": False, "gid": "path"}
        axes.plot([x for _, x, _ in path], [y for _, _, y in path], label=name or "all", **line)
        for spot in path:
            draw(spot, color=color)
    if chosen is not None:
        if held_out is not None:
            (_, *start), (_, *end) = chosen, held_out
            axes.plot(*zip(start, end, strict=True), gid="moved", **_DOTTED)
            draw(held_out, "held out: ", marker="s", **_RING)
        draw(chosen, "chosen: ", markersize=12, **_RING)
    figure.legend(**_LEGEND)
    return Figure(title, _inline_svg(figure, title))


def write_statistics_figures(
    results: Sequence[PrivacyStatistics], directory: Path
) -> tuple[Path, ...]:
    """N_w and S_w over epsilon, a line for each lambda: medians over words, and from the 5th to the
    95th percentile (Mahalanobis paper, Figures 2 to 5).
    """
    written = []
    for name, label in (
        ("survival", "N_w: runs in which the word survived"),
        ("variety", "S_w: distinct words that came out"),
    ):
        figure, axes = _new_figure(6.4, 4.4)
        for place, lam in enumerate(sorted({r.lam for r in results}, key=lambda lam: lam or -1.0)):
            line = sorted((r for r in results if r.lam == lam), key=lambda r: r.epsilon)
            spreads = [getattr(r, name) for r in line]
            middle = [spread.p50 for spread in spreads]
            ranges = [[s.p50 - s.p5 for s in spreads], [s.p95 - s.p50 for s in spreads]]
            axes.errorbar(
                [r.epsilon * (1 + 0.01 * place) for r in line],  # side by side
                middle,
                ranges,
                label=line[0].mechanism if lam is None else f"λ = {lam:g}",
                color=COLORS[place % len(COLORS)],
                marker=MARKERS[place % len(MARKERS)],
            )
        axes.set(xscale="log", xlabel="epsilon", ylabel=f"of {results[0].runs} runs", title=label)
        epsilons = sorted({r.epsilon for r in results})
        axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
        axes.minorticks_off()
        figure.legend(ncols=2, **_LEGEND)
        written.append(directory / f"{name}.svg")
        write_atomically(written[-1], rendered(figure))
    return tuple(written)


def _new_figure(width: float, height: float) -> tuple[Drawing, Axes]:
    """An empty chart for a page, in inches, without a box around it."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_visible(False)
    axes = figure.subplots()
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelcolor=_INK, labelsize=9)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    return figure, axes


def _percent(set_ticks: Any, top: float) -> None:
    ticks = [quarter / 4 for quarter in range(round(4 * top) + 1)]
    set_ticks(ticks, [f"{tick:.0%}" for tick in ticks])


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))


def rendered(figure: Drawing) -> bytes:
    """The figure as an SVG file; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    # Otherwise it carries the date and random names, and differs on every run. Letters as text,
    # not as outlines: a third of the size, and a reader can search for them.
    with matplotlib.rc_context({"svg.hashsalt": "inkblur", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _inline_svg(figure: Drawing, title: str) -> str:
    """The figure as an SVG element in the page's colors and font, without ids that might clash.

    A `gid` becomes the element's class; one that begins with "tip " becomes its tooltip.
    """
    root = ElementTree.fromstring(rendered(figure))
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        for name in list(element.attrib):  # such as {http://www.w3.org/1999/xlink}href
            element.attrib[name.split("}")[-1]] = element.attrib.pop(name)
        if element.tag != "g":
            continue
        name = element.attrib.pop("id", "")
        if name.startswith("tip "):
            tip = ElementTree.Element("title")
            tip.text = name.removeprefix("tip ")
            element.insert(0, tip)
        elif name.isalpha():  # ours; matplotlib's end in a number
            element.set("class", name)
    for child in root.findall("metadata") + root.findall("defs"):  # a date, styles of the page
        root.remove(child)
    width = root.attrib.pop("width").removesuffix("pt")
    root.attrib.pop("height")
    root.attrib |= {"class": "chart", "role": "img", "aria-label": title}
    root.set("style", f"max-width:{float(width) / 0.75:.0f}px")
    text = ElementTree.tostring(root, encoding="unicode")
    for standing_for, color in _PAGE_COLORS.items():
        text = text.replace(standing_for, color)
    return text
