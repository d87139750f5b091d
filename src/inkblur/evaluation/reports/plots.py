"""Figures from results, as SVG or PNG. The only file that knows matplotlib, and only when used."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from inkblur.atomic_file import write_atomically
from inkblur.errors import ParameterError, needs
from inkblur.evaluation.measures.statistics import PrivacyStatistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
_PANELS = (("p5", "5th percentile"), ("p50", "median"), ("p95", "95th percentile"))
MARKERS = "osD^vP*X"
# Okabe and Ito's colors, which people can tell apart whatever their color vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Stand for the page's own colors, which are light or dark: `inline_svg` puts those in.
INK, GRID, PAGE = "#010203", "#040506", "#070809"
_PAGE_COLORS = {INK: "currentColor", GRID: "var(--line)", PAGE: "var(--page)"}


def require_matplotlib() -> None:
    """Fail now, and not after the measuring, where matplotlib is not installed."""
    with needs("plots need matplotlib", "plots", "leave out the output directory"):
        import matplotlib  # noqa: F401


def write_statistics_figures(
    results: Sequence[PrivacyStatistics], directory: Path
) -> tuple[Path, ...]:
    """N_w and S_w over epsilon, a line for each lambda (Mahalanobis paper, Figures 2 to 5)."""
    written = []
    for name, label in (
        ("survival", "N_w: runs in which the word survived"),
        ("variety", "S_w: distinct words that came out"),
    ):
        figure = _figure(results, name, label)
        for format in FORMATS:
            path = directory / f"{name}.{format}"
            write_atomically(path, rendered(figure, format))
            written.append(path)
    return tuple(written)


def rendered(figure: Figure, format: str) -> bytes:
    """The figure's file; the same figure gives the same bytes."""
    import matplotlib

    if format not in FORMATS:
        raise ParameterError(f"unknown plot format {format!r}; choose one of: {', '.join(FORMATS)}")
    # Without these an SVG carries the date and random names, and differs on every run.
    metadata: dict[str, Any] = {"Date": None} if format == "svg" else {}
    buffer = io.BytesIO()
    # Letters as text, not as outlines: a third of the size, and a reader can search for them.
    with matplotlib.rc_context({"svg.hashsalt": "inkblur", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=format, dpi=150, metadata=metadata)
    return buffer.getvalue()


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty chart for a page, in inches, without a box around it."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_visible(False)
    axes = figure.subplots()
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def inline_svg(figure: Figure, title: str) -> str:
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


def _figure(results: Sequence[PrivacyStatistics], statistic: str, label: str) -> Figure:
    require_matplotlib()
    from matplotlib.figure import Figure

    if not results:
        raise ParameterError("nothing to draw: no setting was measured")
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    series = _series(results)
    for axes, (field, title) in zip(panels, _PANELS, strict=True):
        _panel(axes, series, attrgetter(f"{statistic}.{field}"), title)
    first = results[0]
    panels[0].set_ylabel(f"{label.split(':')[0]}, of {first.runs} runs")
    words = "all" if len(first.words) == first.vocabulary else f"{len(first.words):,} of"
    figure.suptitle(
        f"{label}\n{first.mechanism} on {first.embedding}, {words} {first.vocabulary:,} words, "
        f"{first.dimension} dimensions",
        fontsize=10,
    )
    handles, labels = panels[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    return figure


def _panel(
    axes: Axes,
    series: Sequence[tuple[str, Sequence[PrivacyStatistics]]],
    value: Callable[[PrivacyStatistics], float],
    title: str,
) -> None:
    from matplotlib import colormaps

    palette = colormaps["viridis"]
    for place, (name, points) in enumerate(series):
        axes.plot(
            [r.epsilon for r in points],
            [value(r) for r in points],
            label=name,
            color=palette(0.85 * place / max(1, len(series) - 1)),
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            linewidth=1.6,
        )
    epsilons = sorted({r.epsilon for _, points in series for r in points})
    if len(epsilons) > 1 and epsilons[-1] / epsilons[0] >= 3:
        axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axes.minorticks_off()
    runs = series[0][1][0].runs
    axes.set_ylim(-0.03 * runs, 1.03 * runs)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("epsilon")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _series(results: Sequence[PrivacyStatistics]) -> list[tuple[str, list[PrivacyStatistics]]]:
    """One line per lambda, points in order of epsilon."""
    lines: dict[float | None, list[PrivacyStatistics]] = {}
    for result in sorted(results, key=lambda r: r.epsilon):
        lines.setdefault(result.lam, []).append(result)
    return [
        (results[0].mechanism if lam is None else f"λ = {lam:g}", lines[lam])
        for lam in sorted(lines, key=lambda lam: -1.0 if lam is None else lam)
    ]
