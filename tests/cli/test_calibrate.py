"""`inkblur calibrate --authors`: strengths for a table of the user's own, from end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from inkblur import Embedding
from inkblur.cli.app import app
from inkblur.embeddings.store import write_store

pytest.importorskip("sklearn")
from inkblur.evaluation.strengths import search_strengths

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(80)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, public texts of eight authors who prefer words of their own, and a private text."""
    rng = np.random.default_rng(5)
    for name in ("own", "other"):
        table = Embedding(WORDS, rng.normal(size=(80, 6)), name=name)
        write_store(tmp_path / f"{name}.ink", table)
    with (tmp_path / "public.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["writer", "body"])
        for author in range(16):
            own = np.arange(5 * author, 5 * author + 5)
            for _ in range(40):  # fewer scatter by more than `strong` allows
                mine = rng.random(80) < 0.6
                ids = np.where(mine, rng.choice(own, 80), rng.integers(80, size=80))
                rows.writerow([f"author {author}", " ".join(WORDS[i] for i in ids)])
    (tmp_path / "in.txt").write_text("waa wab wac wad\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def searched() -> list[Any]:
    """What the search found, which takes long: both tests ask for the same."""
    return []


@pytest.fixture(autouse=True)
def _search_once(searched: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def once(*given: Any, **named: Any) -> Any:
        if not searched:
            searched.append(search_strengths(*given, **named))
        return searched[0]

    monkeypatch.setattr("inkblur.evaluation.strengths.search_strengths", once)


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


def privatize(embedding: str, strength: str) -> tuple[int, str, str]:
    return run("privatize", "in.txt", "--embedding", embedding, "--strength", strength)


CALIBRATE = ("calibrate", "--authors", "public.csv", "--text-column", "body",
             "--author-column", "writer", "--embedding", "own.ink")  # fmt: skip


def test_strengths_exist_for_a_table_once_they_are_measured(folder: Path) -> None:
    code, _, told = privatize("own.ink", "medium")
    assert code == 1
    assert "no strength was measured on own: give --epsilon, or measure" in told
    assert "`inkblur calibrate --authors FILE`" in told

    code, shown, told = run(*CALIBRATE)
    assert code == 0, told
    assert "kept in" in told
    assert shown.count("epsilon") == 3
    assert "authors identified" in shown
    assert "above chance" in shown

    code, _, told = privatize("own.ink", "medium")
    assert code == 0, told
    assert "not measured for texts like these" in told  # at a length, by three attacks
    # Another table, and another mechanism on this one, were not measured.
    assert privatize("other.ink", "medium")[0] == 1
    code, _, told = run(
        *("privatize", "in.txt", "--embedding", "own.ink", "-m", "laplace", "--strength", "medium")
    )
    assert code == 1
    assert "no strength was measured for laplace on own: use staircase, or give --epsilon" in told


def test_what_is_kept_is_what_was_judged(folder: Path) -> None:
    code, shown, told = run(*CALIBRATE, "--json")
    assert code == 0, told
    found = json.loads(shown)["strengths"]
    assert found["light"]["epsilon"] > found["medium"]["epsilon"] > found["strong"]["epsilon"]
    for name, most in (("light", 0.5), ("medium", 0.25), ("strong", 0.1)):
        assert found[name]["collections"]["own"]["choosing_half"] <= most
        assert found[name]["untouched"] > 0.9
    (kept,) = (folder / "data").rglob("strengths/*.json")
    assert json.loads(kept.read_text())["strengths"]["staircase"] == found


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "use --authors FILE or --survival P"),
        (("--authors", "public.csv", "--survival", "0.5"), 2, "use --authors FILE or"),
        (("--authors", "nowhere.csv"), 1, "nowhere.csv"),
        (("--authors", "public.csv", "--text-column", "body"), 1, "author"),
    ],
)
def test_it_refuses(folder: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    got, _, told = run("calibrate", "--embedding", "own.ink", *arguments)
    assert got == code
    assert message in told
