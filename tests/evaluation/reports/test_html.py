"""The page: self-contained, escaped, complete, and the same for the same report."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.attacks.catalogue import NAMES
from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.reports.charts import Column, Series, chart
from inkblur.evaluation.reports.html import (
    attack_figures,
    evaluation_page,
    require_page_libraries,
    utility_figures,
)
from inkblur.evaluation.results import (
    ADAPTIVE,
    STATIC,
    Evaluation,
    Example,
    Interval,
    MeaningKept,
    MeaningResult,
    Measurement,
    SettingResult,
    StandIns,
    UtilityResult,
)
from inkblur.guarantees import Guarantee
from inkblur.types import Metric

VOID = {"meta", "line", "circle", "br", "hr"}


def interval(mean: float) -> Interval:
    return Interval(mean, mean - 0.05, mean + 0.05, (mean - 0.01, mean + 0.01))


def point(mean: float, low: float | None = None, high: float | None = None) -> Interval:
    return Interval(mean, low, high, (mean,))


def attack(kind: str, accuracy: float) -> Measurement:
    found = interval(accuracy)
    return Measurement(
        "author",
        "koppel",
        "all",
        kind,
        value=found,
        chance=0.1,
        f1=found,
        authors=10,
        known=90,
        attacked=30,
        strangers=2,
    )


def score(kind: str, f1: float) -> UtilityResult:
    found = interval(f1)
    return UtilityResult("svm", kind, found, found, found, found, 90, 30, 5, 1)


def setting(name: str, epsilon: float, adaptive: float) -> SettingResult:
    return SettingResult(
        name,
        {"mechanism": "laplace", "epsilon": epsilon},
        Guarantee(epsilon, Metric.EUCLIDEAN),
        ("A sentence about its worth.",),
        interval(0.5),
        (attack(ADAPTIVE, adaptive), attack(STATIC, 0.2)),
        (score(ADAPTIVE, 0.7), score(STATIC, 0.6)),
        MeaningResult(interval(1.5), interval(0.8), 25, 5),
    )


@pytest.fixture
def report() -> Evaluation:
    base = (attack(STATIC, 0.9),), (score(STATIC, 0.8),)
    settings = (
        setting("laplace, epsilon 5", 5.0, 0.31),
        setting("laplace, epsilon 10", 10.0, 0.43),
    )
    return Evaluation(
        seed=7,
        repeats=3,
        confidence=0.95,
        embedding={"name": "made <b>", "words": 1234, "dimension": 50, "sha256": "0"},
        facts=Facts(120, 90, 30, 1, 10, 2, 1, 3, 5, 4),
        before=SettingResult("before", {}, None, (), None, *base, None),
        settings=settings,
        examples=(Example(3, "sport & play", "<script>alert(1)</script> old", ("new one", "")),),
        notes=("The draws are seeded.",),
    )


class Nesting(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    parser = Nesting()
    page = evaluation_page(report)
    parser.feed(page)
    assert parser.open == []
    assert parser.links
    assert all(link.startswith("#") for link in parser.links)  # to markers inside the page
    assert not {"script", "link", "img", "iframe"} & set(parser.seen)
    for loading in ("http://", "https://", "url(", "@import"):
        assert loading not in page
    assert parser.seen.count("svg") == 2


def test_everything_of_the_report_is_on_the_page(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", evaluation_page(report)))
    promise = report.settings[0].guarantee
    assert promise is not None
    for wanted in (
        *("31.0% 26.0% to 36.0%", "43.0%", "20.0%", "90.0%", "0.700", "1.50", "50.0%", "seed 7"),
        *("The draws are seeded.", "A sentence about its worth.", "1,234 words", "author 3"),
        *("Do not publish this page", "2 test texts by others left out", "1 left out", "(empty)"),
        "34%",  # 0.31 of 0.9
        "new one",
        promise.sentence().replace("'", "&#39;"),
    ):
        assert wanted in text, wanted
    assert text.index("identifies the author of 31%") < text.index(
        "static"
    )  # the adaptive one leads


def test_attacks_that_were_not_tried_are_not_explained(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    assert "combines the scores of the others" not in evaluation_page(report)
    first = report.settings[0]
    more = (replace(first.attacks[0], name=name) for name in ("likelihood", "stacked"))
    repeated = Measurement("repetition", "", "words twice", value=interval(0.2), chance=0.3)
    read = replace(repeated, question="reading", name="unigram")
    tried = replace(first, measurements=(*first.measurements, *more, read, repeated))
    page = evaluation_page(replace(report, settings=(tried, *report.settings[1:])))
    assert "combines the scores of the others. Your risk is the" in page
    assert "public probabilities. <b>Stacked" in page
    assert "<b>Repetition</b>: whether" in page  # not that such a word is probably real: 20% were
    assert "<b>Reading</b>: which" in page
    assert "<b>Inference</b>" not in page


def test_what_a_judge_of_meaning_measured_is_explained(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    kept = MeaningKept("a judge", interval(0.5), interval(0.1), interval(0.9))
    judged = replace(report.settings[0], stand_ins=StandIns(500, 500, (), (), (), kept))
    page = evaluation_page(replace(report, settings=(judged, *report.settings[1:])))
    assert "Mean cosine of a text and its stand-in" in page


def test_texts_are_escaped(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    page = evaluation_page(report)
    assert "&lt;script&gt;alert(1)" in page
    assert "sport &amp; play" in page
    assert "made &lt;b&gt;" in page


def test_the_same_report_gives_the_same_page(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    assert evaluation_page(report) == evaluation_page(replace(report))
    assert evaluation_page(report) != evaluation_page(replace(report, seed=8))


def test_half_a_report_makes_a_page_without_the_other_half(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    bare = tuple(replace(s, measurements=(), meaning=None, unchanged=None) for s in report.settings)
    before = replace(report.before, measurements=())
    page = evaluation_page(replace(report, before=before, settings=bare, examples=()))
    assert "attacks on the author" not in page
    assert "How far texts moved" not in page
    assert "labels that can still be predicted" in page


def test_charts_are_drawn_from_the_records(report: Evaluation) -> None:
    for figure in (*attack_figures(report), *utility_figures(report)):
        texts = {e.text for e in ElementTree.fromstring(figure.svg).iter() if e.text}
        assert {"before", "ε 5", "ε 10", "laplace"} <= texts
    drawn = attack_figures(report)[0].svg
    assert drawn.count(" before: 0.900") == 1  # the texts as they are stand there once
    assert "koppel, adaptive, laplace ε 5: 0.310" in drawn
    assert "guessing" in drawn


def test_a_higher_share_is_drawn_higher_and_stays_inside() -> None:
    series = Series("a", (point(0.2), point(0.8, 0.5, 1.7), None))
    columns = [Column("x", "g"), Column("y", "g"), Column("z", "g")]
    root = ElementTree.fromstring(chart(columns, [series], title="t").svg)
    tips = [g for g in root.iter("g") if g.find("title") is not None]
    heights = [float(next(g.iter("use")).attrib["y"]) for g in tips]
    assert len(heights) == 2
    assert heights[1] < heights[0]
    _, _, _, height = (float(edge) for edge in root.attrib["viewBox"].split())
    drawn = [e.attrib["d"] for e in root.iter("path")]
    numbers = [float(n) for d in drawn for n in re.findall(r"[ML] \S+ (\S+)", d)]
    assert max(numbers) <= height  # and the interval up to 1.7 ends at the top of the axis
    with pytest.raises(ParameterError, match="nothing to draw"):
        chart([], [], title="t")


def test_every_attack_of_the_list_has_a_look_of_its_own_and_stays_in_its_column() -> None:
    kinds = [(name, color, dashed) for color, name in enumerate(NAMES) for dashed in (False, True)]
    points = (point(0.2), point(0.8))
    series = [
        Series(f"{name}, static {dashed}", points, color, dashed) for name, color, dashed in kinds
    ]
    svg = chart([Column("x", "g"), Column("y", "g")], series, title="t").svg
    tips = [g for g in ElementTree.fromstring(svg).iter("g") if g.find("title") is not None]
    drawn = [next(g.iter("use")).attrib for g in tips]
    assert len({(use["href"], use["style"]) for use in drawn}) == len(kinds) == 2 * len(NAMES)
    left, right = ([float(use["x"]) for use in drawn[start::2]] for start in (0, 1))
    assert max(left) < min(right)
    root = ElementTree.fromstring(svg)
    width = float(root.attrib["viewBox"].split()[2])
    ends = {
        text.text: float(text.attrib["x"]) + 5 * len(text.text or "") for text in root.iter("text")
    }
    assert max(ends[line.name] for line in series) < width  # about 5 points a letter
    heights = {float(use["y"]) for use in drawn}  # of 0.2 and 0.8
    assert max(heights) - min(heights) > 0.6 * 72  # so an axis of an inch at least


def test_a_long_group_name_is_broken_into_lines() -> None:
    name = "mahalanobis, lambda 0.5, length 100"
    series = Series("a", (point(0.2),))
    narrow = ElementTree.fromstring(chart([Column("x", name)], [series], title="t").svg)
    assert {"mahalanobis", "lambda 0.5", "length 100"} <= {e.text for e in narrow.iter()}
    wide = [Column(str(n), name) for n in range(6)]
    line = Series("a", (point(0.2),) * 6)
    drawn = ElementTree.fromstring(chart(wide, [line], title="t").svg)
    assert name in {e.text for e in drawn.iter()}


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"{library}: pip install '\.\[evaluation\]'"):
        require_page_libraries()


def test_author_and_label_of_an_example_stand_apart(report: Evaluation) -> None:
    pytest.importorskip("jinja2")
    assert "author 3, label sport &amp; play" in evaluation_page(report)


@pytest.mark.skipif(not shutil.which("chromium"), reason="Debian's chromium is not installed")
@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_scrolls_sideways(report: Evaluation, width: int, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "page.html").write_text(evaluation_page(report), encoding="utf-8")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto((tmp_path / "page.html").as_uri())
        hidden = "e => e.scrollWidth - e.clientWidth"
        assert page.eval_on_selector("html", hidden) == 0
        tables = page.locator(".wide")
        assert tables.count() > 3
        if width == 400:  # each cell stands behind its head, which alone would say nothing
            assert all(cell.inner_text().strip() for cell in page.locator("td:visible").all())
        for table in tables.all():
            assert table.evaluate(hidden) == 0
        browser.close()
