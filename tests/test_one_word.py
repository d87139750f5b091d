"""docs/architecture.md is true: one word's way from cell to cell, traced while it is released."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from typer.testing import CliRunner

import inkblur
from inkblur.cli.app import app

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = Path(inkblur.__file__).parent
EXAMPLES = Path(__file__).parents[1] / "examples"
STEPS = [
    (m[2], m[1]) for m in re.finditer(r"^\| \d+ \| `([\w.]+)` \| `([\w/]+\.py)` \|", PAGE, re.M)
]
Call = tuple[str, str]  # file, qualified name


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """Every function of Inkblur that the run enters between the loaded table and the last batch."""
    folder = tmp_path_factory.mktemp("word")
    (folder / "in.csv").write_text("text\ndoctor\n", encoding="utf-8")
    found: list[Call] = []
    tracing = [False]

    def entered(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and tracing[0] and file.is_relative_to(SOURCE):
            found.append((str(file.relative_to(SOURCE)), frame.f_code.co_qualname))

    def look(done: int, total: int | None, words: int) -> None:
        tracing[0] = words == 0  # from the first call, before the first batch, to its end

    spec = inkblur.ReleaseSpec(epsilon=10.0)
    threading.setprofile(entered)
    sys.setprofile(entered)
    try:
        inkblur.privatize_file(
            folder / "in.csv", folder / "out.csv", spec, workers=1, ledger=False, on_progress=look
        )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def in_order(steps: list[Call], calls: list[Call]) -> Iterator[Call]:
    """The steps that are entered, each after the one before."""
    rest = iter(calls)
    for step in steps:
        if step not in rest:  # consumes up to it
            return
        yield step


def test_the_functions_on_the_page_are_entered_in_that_order(calls: list[Call]) -> None:
    assert list(in_order(STEPS, calls)) == STEPS


def test_at_most_fifteen_functions_in_ten_files() -> None:
    assert 10 <= len(STEPS) <= 15
    assert len({file for file, _ in STEPS}) <= 10
    assert f"{len(STEPS)} functions in {len({file for file, _ in STEPS})} files" in PAGE


def test_every_file_that_the_run_enters_is_on_the_page(calls: list[Call]) -> None:
    entered = {file for file, _ in calls}
    assert len(entered) > 20
    assert {file for file in entered if f"`{file}`" not in PAGE} == set()


def test_every_file_that_the_command_enters_is_on_the_page(tmp_path: Path) -> None:
    """From the first option to the last line that is printed, modules being loaded aside."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        file, named = Path(frame.f_code.co_filename), not frame.f_code.co_name.startswith("<")
        if event == "call" and named and file.is_relative_to(SOURCE):
            entered.add(str(file.relative_to(SOURCE)))

    asked = ["privatize", str(EXAMPLES / "reviews.csv"), "-o", str(tmp_path / "out.csv")]
    asked += ["--strength", "medium", "--keep-column", "stars", "--ledger", str(tmp_path / "l.db")]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        assert CliRunner().invoke(app, asked).exit_code == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert len(entered) > 40
    assert {file for file in entered if f"`{file}`" not in PAGE} == set()


def test_a_step_out_of_order_is_seen(calls: list[Call]) -> None:
    swapped = [*STEPS[:6], STEPS[8], STEPS[7], STEPS[6], *STEPS[9:]]
    assert list(in_order(swapped, calls)) != swapped
