"""README and docs say of the strengths what the package holds (`tools/bundled/strengths.py store`).

What fails lists every line to change, and what it should say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur.documents.risks import RISKS, ThreeRisks, risks_at
from inkblur.mechanisms.catalogue import CATALOGUE
from inkblur.mechanisms.strengths import measured_strengths
from inkblur.types import Strength

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILE = resources.files("inkblur.embeddings") / "data" / "strengths.json"
STORED: dict[str, dict[str, Any]] = {  # by mechanism, with its usual parameters, and strength
    name: json.loads(FILE.read_text(encoding="utf-8"))["strengths"].get(entry.key({}), {})
    for name, entry in CATALOGUE.items()
}
_NAME = "`?(?P<strength>light|medium|strong)`?"
_NUMBER = r"(?P<epsilon>\d+(?:\.\d+)?)(?![\d%]|\s%)"
SAID = [  # the ways to say which epsilon a strength is; where no mechanism is named, the staircase
    re.compile(rf"(?:(?P<mechanism>{'|'.join(CATALOGUE)})\s+)?{_NUMBER}\s+\({_NAME}\)"),
    re.compile(rf"`{_NAME[2:-2]}`(?:\s+is|\s+became)?\s+{_NUMBER}"),
    re.compile(rf"`{_NAME[2:-2]}`\s+moved\s+from\s+[\d.]+\s+to\s+{_NUMBER}"),
]


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def risk_cell(found: dict[str, Any]) -> str:
    return f"{percent(found['risk'])} ({percent(found['low'])} to {percent(found['high'])})"


def share_cell(found: dict[str, Any]) -> str:
    return f"{percent(found['share'])} ({percent(found['low'])} to {percent(found['high'])})"


def rows() -> Iterator[tuple[Path, str, str]]:
    """Every row of a table that repeats the file: its page, how it begins, and all of it."""
    evaluation = ROOT / "docs" / "evaluation.md"
    for mechanism, strengths in STORED.items():
        for strength, found in strengths.items():
            each = [found["collections"][name] for name in ("c50", "pan18", "novels")]
            start = f"| {mechanism} | {strength} | "
            cells = [f"{found['epsilon']:g}", *(f"{risk_cell(c)} {c['attack']}" for c in each)]
            cells.append(f"{percent(found['named'])} ({percent(found['untouched'])})")
            yield evaluation, start, f"{start}{' | '.join(cells)} |"
            if mechanism == "staircase":
                hidden = [collection["lengths_hidden"] for collection in each]
                for words, figures in (("all", hidden), ("all, and its length", each)):
                    start = f"| {strength} | {words} | "
                    yield evaluation, start, f"{start}{' | '.join(map(risk_cell, figures))} |"
                start = f"| `{strength}` | "
                both = [
                    f"{risk['named']:.0%} (guessing: {risk['guessing']:.0%})"
                    for risk in (found, found["lengths_hidden"])
                ]
                yield (
                    ROOT / "README.md",
                    start,
                    f"{start}{found['epsilon']:g} | {' | '.join(both)} |",
                )
                for risk, noun in (
                    ("author of five", "five linked texts"),
                    ("author of one", "one text"),
                ):
                    start = f"| {noun} | {strength} | "
                    cells = [share_cell(cell) for cell in found["risks"][risk].values()]
                    yield evaluation, start, f"{start}{' | '.join(cells)} |"
            if "risks" in found:
                start = f"| {mechanism} {found['epsilon']:g} ({strength}) | "
                cells = [share_cell(cell) for cell in found["risks"]["original"].values()]
                yield evaluation, start, f"{start}{' | '.join(cells)} |"
    for risk, name in RISKS.items():
        for words in ("15", "16", "48", "50", "94", "100", "445", "500"):  # sizes, once measured
            found = [STORED["staircase"][s.value]["risks"][risk] for s in Strength]
            if words in found[0]:
                start = f"| {name} | {words} | "
                cells = [f"{shares[words]['share']:.0%}" for shares in found]
                yield ROOT / "README.md", start, f"{start}{' | '.join(cells)} |"


def place(page: Path, text: str, at: int) -> str:
    return f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}"


def test_tables_repeat_the_file() -> None:
    wrong = []
    for page, start, row in rows():
        lines = page.read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if line.startswith(start)]
        if [lines[number - 1] for number in found] != [row]:
            where = ", ".join(f"{page.relative_to(ROOT)}:{number}" for number in found)
            wrong.append(f"{where or page.relative_to(ROOT)} should be: {row}")
    assert not wrong, "\n".join(wrong)


def test_no_table_has_a_strength_that_the_file_has_not() -> None:
    text = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([\w-]+) \| (light|medium|strong) \|", text, re.MULTILINE)
    assert sorted(shown) == sorted((name, each) for name in STORED for each in STORED[name])


def test_every_epsilon_said_of_a_strength_is_the_one_that_is_stored() -> None:
    wrong, seen = [], 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for said in (found for pattern in SAID for found in pattern.finditer(text)):
            mechanism = said.groupdict().get("mechanism") or "staircase"
            stored = STORED[mechanism].get(said["strength"], {"epsilon": float("nan")})["epsilon"]
            seen += 1
            if float(said["epsilon"]) != stored:
                wrong.append(f"{place(page, text, said.start())}: {said[0]!r}, stored: {stored:g}")
    assert not wrong, "\n".join(wrong)
    assert seen > 5  # the patterns still find something


def test_the_session_in_the_readme_ends_with_the_risks_that_are_stored() -> None:
    """Of its texts, half of which are released as 16 words or more."""
    measured = measured_strengths("staircase", inkblur.load_embedding())[Strength.MEDIUM]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^measured risk at medium, .*?(?=^```)", readme, re.MULTILINE | re.DOTALL)
    assert shown is not None
    told = " ".join(shown[0].split())
    lines = ThreeRisks(Strength.MEDIUM.value, risks_at(measured, 16)).figures()
    places = [told.find(f"- {line}") for line in lines]
    assert -1 not in places, place(ROOT / "README.md", readme, shown.start())
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mahalanobis 42 (light), unigram", ("mahalanobis", "light", "42")),
        ("at epsilon 2.5 (`medium`), 21", (None, "medium", "2.5")),
        ("the staircase's `light` is 3.5 (was 4)", (None, "light", "3.5")),
        ("so `medium` became 2.", (None, "medium", "2")),
        ("`medium` moved from\n2.5 to 2 when", (None, "medium", "2")),
        ("`light` (1.9 % with trigrams)", None),
        ("`strong` 12 % of the texts", None),
    ],
)
def test_the_patterns(text: str, expected: tuple[str | None, str, str] | None) -> None:
    found = [said for pattern in SAID for said in pattern.finditer(text)]
    told = [(s.groupdict().get("mechanism"), s["strength"], s["epsilon"]) for s in found]
    assert told == ([] if expected is None else [expected])
