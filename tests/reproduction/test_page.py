"""The page and the document show every number of the records, escaped, and load nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


from reproduction.estimate import Estimate
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import COLORS, plots
from reproduction.page import reproduction_document, summary, write_reproduction
from reproduction.reasons import UNEXPLAINED
from reproduction.result import Drawing, ExperimentRecord, Reading
from reproduction.runner import held_records, reproduce
from tests.reproduction.made import NAME, Made


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExperimentRecord:
    Made(monkeypatch)
    (record,) = reproduce([NAME], tmp_path / "work", data=tmp_path)
    return record


def test_the_document_holds_the_numbers_and_escapes_texts(
    tmp_path: Path, record: ExperimentRecord
) -> None:
    files = write_reproduction([record], tmp_path)
    text = (tmp_path / "reproduction.md").read_text()
    for reading in record.outcome.readings:
        assert f"{reading.found.value:.3g}" in text
    assert "paper 2.5" in text
    assert len(files) == 1 + len(record.outcome.drawings)
    for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (tmp_path / figure).is_file()
    assert "It rises &lt;fast>." in text
    assert "- **before**: a \\| b" in text
    assert "- **after**: &lt;c>" in text


def test_the_same_records_give_the_same_files(tmp_path: Path, record: ExperimentRecord) -> None:
    first = write_reproduction([record], tmp_path / "1")
    second = write_reproduction([record], tmp_path / "2")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_the_summary_counts_the_papers_claims_and_ours_apart(record: ExperimentRecord) -> None:
    assert summary([record]).startswith(
        "Experiments: 1. Claims of the papers: 1; 1 hold, 0 fail, 0 stay open. (Open"
    )
    (claim,) = record.outcome.claims
    ours = replace(claim, source="ours", found=Estimate(-1.0, -2.0, -0.5))
    both = replace(record, outcome=replace(record.outcome, claims=(claim, ours)))
    assert "papers: 1; 1 hold, 0 fail, 0 stay open. Claims of ours: 1; 0 hold, 1" in summary([both])
    assert "No claim is judged." in summary([replace(both, quick=True)])


def test_sections_of_several_sources_are_named_at_the_top(
    tmp_path: Path, record: ExperimentRecord
) -> None:
    other = replace(record, commits=("abc123",), machine="another machine")
    write_reproduction([record, other], tmp_path)
    top, _, _ = (tmp_path / "reproduction.md").read_text().partition("## Every claim")
    (day,) = record.days
    assert f"Measured with commit abc123 on {day} (UTC), on another machine: {NAME}." in top
    assert (
        f"Measured with commit {record.commits[0]} on {day} (UTC), on {record.machine}: {NAME}."
        in top
    )


def test_a_claim_that_does_not_hold_says_why(tmp_path: Path, record: ExperimentRecord) -> None:
    (claim,) = record.outcome.claims
    for found, why in (
        (Estimate(3.0, 2.0, 4.0), ""),
        (Estimate(0.0, -1.0, 1.0), "sample: the interval has both sides of the line"),
        (Estimate(-3.0, -4.0, -2.0), UNEXPLAINED),
    ):
        outcome = replace(record.outcome, claims=(replace(claim, found=found),))
        write_reproduction([replace(record, outcome=outcome)], tmp_path)
        text = (tmp_path / "reproduction.md").read_text()
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {NAME} |")]
        assert row.endswith(f"| > 0 | {why} |")


def test_the_committed_page_leaves_no_failure_unexplained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    rows = [
        line.split(" | ") for line in text.splitlines() if re.search(r"\| (fails|open) \|", line)
    ]
    overview = [row for row in rows if row[0].removeprefix("| ") in EXPERIMENTS]
    assert len(overview) > 20
    for row in overview:
        assert re.match(r"(paper|data|sample|ours): ", row[5]), row


def test_a_line_has_one_color_in_every_panel(record: ExperimentRecord) -> None:
    def svg(*places: tuple[str, str]) -> str:
        readings = tuple(
            Reading("T", {"panel": panel, "line": line, "x": x}, "y", Estimate.exact(x))
            for panel, line in places
            for x in (1.0, 2.0)
        )
        drawing = Drawing("D", "T", "y", "x", line="line", panel="panel")
        outcome = replace(record.outcome, readings=readings, drawings=(drawing,))
        return plots(NAME, outcome)[0].svg

    first, second = (color.lower() for color in COLORS[:2])
    one, two = svg(("p", "a"), ("p", "b")), svg(("p", "a"), ("p", "b"), ("q", "b"))
    assert two.count(first) == one.count(first) > 0
    assert two.count(second) > one.count(second) > 0


@pytest.mark.long
def test_the_committed_page_is_that_of_the_committed_records() -> None:
    docs = Path(__file__).parents[2] / "docs"
    records = held_records(docs)
    assert {record.experiment for record in records} == set(EXPERIMENTS)
    drawn = [plots(record.experiment, record.outcome) for record in records]
    text = reproduction_document(records, drawn)
    assert text == (docs / "reproduction.md").read_text(encoding="utf-8")
    for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (docs / figure).is_file()
