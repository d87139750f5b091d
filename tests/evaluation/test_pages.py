"""The pages: self-contained, escaped, complete, and the same for the same report."""

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
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.charts import Series, dots
from inkblur.evaluation.reports.html import (
    evaluation_page,
    figures,
    require_page_libraries,
    tuning_figure,
    tuning_page,
)
from inkblur.evaluation.results import (
    ADAPTIVE,
    BOTH,
    PUBLIC,
    RELEASED,
    STATIC,
    TRUE,
    Evaluation,
    Example,
    Interval,
    Measurement,
    SettingResult,
)
from inkblur.evaluation.tune import Target, Tuning
from inkblur.guarantees import Guarantee
from inkblur.types import Metric

from .made import attack, interval, labels
from .test_tune import TRIALS, trial

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
VOID = {"meta", "line", "circle", "br", "hr"}


def setting(epsilon: float, adaptive: float) -> SettingResult:
    found = (
        attack(ADAPTIVE, adaptive, strangers=2),
        attack(STATIC, 0.25),
        Measurement("author", "likelihood", "all", reason="not among the attacks chosen"),
        Measurement("linking", "", "pairs of texts", reason="no text has two authors"),
        Measurement("reading", "unigram", "words recovered", value=interval(0.123)),
        labels(RELEASED, RELEASED, 0.7),
        labels(TRUE, RELEASED, 0.6),
        labels(RELEASED, TRUE, 0.655),
        labels(PUBLIC, TRUE, 0.745),
        labels(BOTH, TRUE, 0.755),
        Measurement("meaning", "Earth Mover's distance", "moved", value=interval(1.5)),
    )
    promise = Guarantee(epsilon, Metric.EUCLIDEAN)
    worth = ("A sentence about its worth.",)
    return SettingResult(f"laplace, epsilon {epsilon:g}", {}, promise, worth, found)


@pytest.fixture
def report() -> Evaluation:
    base = attack(STATIC, 0.9, strangers=2), labels(TRUE, TRUE, 0.8)
    return Evaluation(
        seed=7,
        repeats=3,
        confidence=0.95,
        embedding={"name": "made <b>", "words": 1234, "dimension": 50, "sha256": "0"},
        facts=Facts(120, 90, 30, 1, 10, 2, 1, 3, 5, 4),
        before=SettingResult("before", {}, None, (), base),
        settings=(setting(5.0, 0.31), setting(10.0, 0.43)),
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


def tuned() -> str:
    found = Tuning(Target.parse("attack<=0.2"), TRIALS, TRIALS[2], trial(0.15, 0.45))
    facts = Facts(90, 60, 30, 0, 3, 0, 0, 0, 2, 0)
    table = {"name": "made <b>", "words": 1000, "dimension": 50}
    plan = Plan(seed=5, attacks=("koppel",))
    return tuning_page(found, facts=facts, embedding=table, plan=plan, commands=["a <b>.csv"])


def test_pages_are_well_formed_escaped_and_load_nothing(report: Evaluation) -> None:
    page = evaluation_page(report)
    assert page == evaluation_page(replace(report))
    assert page != evaluation_page(replace(report, seed=8))
    assert tuned() == tuned()
    for text in (page, tuned()):
        parser = Nesting()
        parser.feed(text)
        assert parser.open == []
        assert all(link.startswith("#") for link in parser.links)  # to markers inside the page
        assert not {"script", "link", "img", "iframe"} & set(parser.seen)
        for loading in ("http://", "https://", "url(", "@import"):
            assert loading not in text
        assert "made &lt;b&gt;" in text
    assert "&lt;script&gt;alert(1)" in page
    assert "author 3, label sport &amp; play" in page
    assert "a &lt;b&gt;.csv" in tuned()
    assert all(each.spec.name in tuned() for each in TRIALS)


def test_everything_of_the_report_is_on_the_page(report: Evaluation) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", evaluation_page(report)))
    promise = report.settings[0].guarantee
    assert promise is not None
    for wanted in (
        *("31.0% 26.0% to 36.0%", "43.0%", "20.0%", "90.0%", "0.700", "1.50", "12.3%", "seed 7"),
        *("0.655 0.605 to 0.705", "0.745", "0.755"),  # the release, the public alone, both
        *("The draws are seeded.", "A sentence about its worth.", "1,234 words", "author 3"),
        *("Do not publish this page", "2 by others left out", "(empty)", "new one"),
        "34%",  # 0.31 of 0.9
        "author identified by likelihood (not among the attacks chosen)",
        "pairs of texts (no text has two authors)",
        promise.sentence().replace("'", "&#39;"),
    ):
        assert wanted in text, wanted
    assert text.index("author identified") < text.index("static")  # the adaptive one leads
    assert "combines the scores of the others" not in text  # an attack that was not tried


def test_half_a_report_makes_a_page_without_the_other_half(report: Evaluation) -> None:
    bare = tuple(
        replace(s, measurements=tuple(m for m in s.measurements if m.question == "labels"))
        for s in report.settings
    )
    before = replace(report.before, measurements=report.before.measurements[1:])
    page = evaluation_page(replace(report, before=before, settings=bare, examples=()))
    assert "Attacks on the author" not in page
    assert "How far the texts moved" not in page
    assert "labels that can still be learned" in page


def test_charts_are_drawn_from_the_records(report: Evaluation) -> None:
    names = {"original texts", "laplace, epsilon 5", "laplace, epsilon 10"}
    for figure in (*figures(report, "author"), *figures(report, "labels")):
        assert names <= {e.text for e in ElementTree.fromstring(figure.svg).iter() if e.text}
    drawn = figures(report, "author")[0].svg
    assert drawn.count(" original texts: 0.900") == 1
    assert "koppel, adaptive, laplace, epsilon 5: 0.310" in drawn
    found = Tuning(Target.parse("attack<=0.2"), TRIALS, TRIALS[2], trial(0.15, 0.45))
    groups = list(ElementTree.fromstring(tuning_figure(found).svg).iter("g"))
    tips = {g.findtext("title") or "" for g in groups}
    for each in TRIALS:
        assert f"{each.spec.name}: {each.attack.accuracy.mean:.1%}, {each.utility:.1%}" in tips
    assert any(tip.startswith(f"chosen: {TRIALS[2].spec.name}") for tip in tips)
    assert any(tip.startswith("held out: ") for tip in tips)
    classes = [g.get("class") for g in groups]
    assert (classes.count("path"), classes.count("wanted"), classes.count("moved")) == (1, 1, 1)


def test_a_higher_share_is_drawn_further_right_and_stays_inside() -> None:
    points = (interval(0.2), Interval(0.8, 0.5, 1.7, (0.8,)), None)
    rows = ["x", "y", "z"]
    root = ElementTree.fromstring(dots(rows, [Series("a", points)], title="t").svg)
    tips = [g for g in root.iter("g") if g.find("title") is not None]
    left, right = (float(next(g.iter("use")).attrib["x"]) for g in tips)
    assert left < right
    width = float(root.attrib["viewBox"].split()[2])
    drawn = [float(n) for e in root.iter("path") for n in re.findall(r"[ML] (\S+)", e.attrib["d"])]
    assert max(drawn) <= width  # and the interval up to 1.7 ends where the axis does
    with pytest.raises(ParameterError, match="nothing to draw"):
        dots([], [], title="t")


def test_every_attack_of_the_list_has_a_look_and_a_place_of_its_own() -> None:
    kinds = [f"{name}, {attacker}" for name in NAMES for attacker in (ADAPTIVE, STATIC)]
    points = (interval(0.2), interval(0.8))
    svg = dots(["a " * 30, "z"], [Series(name, points) for name in kinds], title="t").svg
    groups = [g for g in ElementTree.fromstring(svg).iter("g") if g.find("title") is not None]
    drawn = [next(g.iter("use")).attrib for g in groups]
    assert len({(use["href"], use["style"]) for use in drawn}) == len(kinds)
    assert len({use["y"] for use in drawn}) == len(drawn)
    first, second = ([float(use["y"]) for use in drawn[start::2]] for start in (0, 1))
    assert max(first) < min(second)  # each row below the one before


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"{library}: pip install '\.\[evaluation\]'"):
        require_page_libraries()


@pytest.mark.skipif(not shutil.which("chromium"), reason="Debian's chromium is not installed")
@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_scrolls_sideways(report: Evaluation, width: int, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": width, "height": 900})
        for text in (evaluation_page(report), tuned()):
            (tmp_path / "page.html").write_text(text, encoding="utf-8")
            page.goto((tmp_path / "page.html").as_uri())
            hidden = "e => e.scrollWidth - e.clientWidth"
            assert page.eval_on_selector("html", hidden) == 0
            for each in page.locator(".wide").all():
                assert each.evaluate(hidden) == 0
            if width == 400:  # each cell stands behind its head, which alone would say nothing
                cells = page.locator("td:visible").all()
                assert [c.inner_html() for c in cells if not c.inner_text().strip()] == []
        browser.close()
