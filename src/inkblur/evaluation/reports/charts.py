"""Charts from results, as SVG for a page or as files. The only file that knows matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
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
_PANELS = (("p5", "5th percentile"), ("p50", "median"), ("p95", "95th percentile"))


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and what it shows."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one color: a mean and its interval per row, None where it has none."""

    name: str
    points: tuple[Interval | None, ...]
    color: int = 0  # beyond the colors there are, the same ones with another marker
    hollow: bool = False


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


def require_matplotlib() -> None:
    """Fail now, and not after the measuring, where matplotlib is not installed."""
    with needs("plots need matplotlib", "plots", "leave out the output directory"):
        import matplotlib  # noqa: F401


def dots(
    rows: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    mark: tuple[str, float] | None = None,
) -> Figure:
    """Shares between 0 and 1 in named rows, with their intervals; `mark` draws one level down."""
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
        axes.axvline(mark[1], label=f"{mark[0]} ({mark[1]:.0%})", **_DOTTED)
    for number, line in enumerate(series):
        again, color_place = divmod(line.color, len(COLORS))
        color, marker = COLORS[color_place], MARKERS[again]
        look: dict[str, Any] = {"color": color, "markerfacecolor": _PAGE if line.hollow else color}
        shift = (number - (len(series) - 1) / 2) * step / height
        for place, point in enumerate(line.points):
            if point is None:
                continue
            y = place + shift
            if point.low is not None and point.high is not None:
                ends = [_inside(point.low), _inside(point.high)]
                axes.plot(ends, [y, y], color=color, linewidth=1, clip_on=False)
            tip = f"tip {line.name}, {rows[place]}: {point.mean:.3f}"
            axes.plot([_inside(point.mean)], [y], marker, clip_on=False, gid=tip, **look)
        axes.plot([], [], marker, label=line.name, **look)
    figure.legend(ncols=2, **_LEGEND)
    return Figure(title, _inline_svg(figure, title))


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

    A dotted line shows what was wanted: `least_y` or `most_x`. A square is the chosen one on
    `held_out` texts.
    """
    spots = [spot for path in paths.values() for spot in path]
    if not spots:
        raise ParameterError("nothing to draw")
    seen = [*spots, *([held_out] if held_out is not None else [])]
    top = max(1.0, *(math.ceil(4 * value) / 4 for s in seen for value in (s.x, s.y)))
    named = len(paths) <= len(COLORS) and any(paths)
    figure, axes = _new_figure(6.0, 4.4 + 0.2 * len(paths) * named)
    axes.set(xlim=(0, top), ylim=(0, top), xlabel=x_label, ylabel=y_label)
    _percent(axes.set_xticks, top)
    _percent(axes.set_yticks, top)
    axes.grid(color=_GRID, clip_on=False)
    if least_y is not None:
        axes.plot([0, top], [least_y, least_y], gid="wanted", **_DOTTED)
    if most_x is not None:
        axes.plot([most_x, most_x], [0, top], gid="wanted", **_DOTTED)
    for number, (name, path) in enumerate(paths.items()):
        color = COLORS[number] if named else COLORS[0]
        xs, ys = [spot.x for spot in path], [spot.y for spot in path]
        axes.plot(xs, ys, color=color, alpha=0.45, clip_on=False, gid="path")
        for spot in path:
            _draw_spot(axes, spot, spot.tip, color=color)
        axes.plot([], [], "o", color=color, label=name if named else None)
    if chosen is not None:
        if held_out is not None:
            axes.plot([chosen.x, held_out.x], [chosen.y, held_out.y], gid="moved", **_DOTTED)
            _draw_spot(axes, held_out, f"held out: {held_out.tip}", marker="s", **_RING)
        _draw_spot(axes, chosen, f"chosen: {chosen.name}", markersize=12, **_RING)
    if named:
        figure.legend(**_LEGEND)
    return Figure(title, _inline_svg(figure, title))


def write_statistics_figures(
    results: Sequence[PrivacyStatistics], directory: Path
) -> tuple[Path, ...]:
    """N_w and S_w over epsilon, a line for each lambda (Mahalanobis paper, Figures 2 to 5)."""
    if not results:
        raise ParameterError("nothing to draw: no setting was measured")
    written = []
    for name, label in (
        ("survival", "N_w: runs in which the word survived"),
        ("variety", "S_w: distinct words that came out"),
    ):
        figure = _statistics_figure(results, name, label)
        for format in ("svg", "png"):
            path = directory / f"{name}.{format}"
            write_atomically(path, rendered(figure, format))
            written.append(path)
    return tuple(written)


def _statistics_figure(results: Sequence[PrivacyStatistics], statistic: str, label: str) -> Drawing:
    """Three panels: the words that survive least, usually and most."""
    require_matplotlib()
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    first, lams = results[0], sorted({r.lam for r in results}, key=lambda lam: lam or -1.0)
    epsilons = sorted({r.epsilon for r in results})
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    for axes, (field, title) in zip(panels, _PANELS, strict=True):
        value = attrgetter(f"{statistic}.{field}")
        for place, lam in enumerate(lams):
            line = sorted((r for r in results if r.lam == lam), key=lambda r: r.epsilon)
            axes.plot(
                [r.epsilon for r in line],
                [value(r) for r in line],
                label=first.mechanism if lam is None else f"λ = {lam:g}",
                color=colormaps["viridis"](0.85 * place / max(1, len(lams) - 1)),
                marker=MARKERS[place % len(MARKERS)],
                markersize=5,
            )
        if len(epsilons) > 1 and epsilons[-1] / epsilons[0] >= 3:
            axes.set_xscale("log")
        axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
        axes.minorticks_off()
        axes.set_ylim(-0.03 * first.runs, 1.03 * first.runs)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epsilon")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"{label.split(':')[0]}, of {first.runs} runs")
    figure.suptitle(
        f"{label}\n{first.mechanism} on {first.embedding}, {len(first.words):,} of "
        f"{first.vocabulary:,} words, {first.dimension} dimensions",
        fontsize=10,
    )
    if len(lams) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    return figure


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


def _draw_spot(axes: Axes, spot: Spot, tip: str, *, marker: str = "o", **style: Any) -> None:
    axes.plot([spot.x], [spot.y], marker, clip_on=False, gid=f"tip {tip}", **style)


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))


def rendered(figure: Drawing, format: str) -> bytes:
    """The figure's file; the same figure gives the same bytes."""
    import matplotlib

    # Without these an SVG carries the date and random names, and differs on every run.
    metadata: dict[str, Any] = {"Date": None} if format == "svg" else {}
    buffer = io.BytesIO()
    # Letters as text, not as outlines: a third of the size, and a reader can search for them.
    with matplotlib.rc_context({"svg.hashsalt": "inkblur", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=format, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _inline_svg(figure: Drawing, title: str) -> str:
    """The figure as an SVG element in the page's colors and font, without ids that might clash.

    A `gid` becomes the element's class; one that begins with "tip " becomes its tooltip.
    """
    root = ElementTree.fromstring(rendered(figure, "svg"))
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
