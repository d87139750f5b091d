"""`inkblur preview`: what is shown, and that nothing is released by looking."""

from __future__ import annotations

import csv
import re
import shlex
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import inkblur
from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.files import preview as module
from inkblur.files.preview import preview_file
from inkblur.ledger import open_ledger
from tests.made_strengths import make_strengths

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hundred rows, each with a word of its own, in a table of few dimensions."""
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    table = Embedding(WORDS, vectors, name="small")
    write_store(tmp_path / "small.ink", table)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    make_strengths(monkeypatch, table)
    rows = [[i, f"user{i}", f"{WORDS[i]} {WORDS[0]} 47", i % 3] for i in range(200)]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "author", "text", "stars"], *rows])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def look(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["preview", *arguments])


def small(*arguments: str) -> Result:
    result = look("in.csv", "--set", "embedding=small.ink", *arguments)
    assert result.exit_code == 0, result.output
    return result


def test_the_texts_are_spread_over_the_file(folder: Path) -> None:
    seen = preview_file("in.csv", inkblur.ReleaseSpec(epsilon=3.0, embedding="small.ink"))
    numbers = [WORDS.index(text.split()[0]) for text in seen.texts]
    assert numbers == [20, 60, 100, 140, 180]
    assert [look.name for look in seen.looks] == ["light", "medium", "strong"]
    assert all(len(text.split()) == 8 for look in seen.looks for text in look.texts)
    left = [float(look.figures["unchanged words"].rstrip("%")) / 100 for look in seen.looks]
    assert left[0] > left[1] > left[2]
    assert left[1] == pytest.approx(0.5, abs=0.2)


def test_words_that_would_be_copied_count_as_unchanged(folder: Path) -> None:
    Path("in.txt").write_text(f"the of and zork {WORDS[0]}\n" * 20)
    spec = inkblur.ReleaseSpec(epsilon=0.01, embedding="small.ink", keep=("stop-words", "unknown"))
    [look] = preview_file("in.txt", spec, epsilons=[0.01]).looks
    assert look.figures["unchanged words"] in ("80%", "81%")
    assert look.figures["of content words"] in ("50%", "51%")


@pytest.mark.parametrize("limit", ["_ROWS", "_CHARACTERS"])
def test_a_long_file_is_read_in_part_and_that_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(module, "_BATCH", (10, 1 << 20))
    monkeypatch.setattr(module, "_SAMPLE", 8)
    monkeypatch.setattr(module, limit, {"_ROWS": 100, "_CHARACTERS": 1000}[limit])
    seen = preview_file("in.csv", inkblur.ReleaseSpec(epsilon=3.0, embedding="small.ink"))
    assert not seen.complete
    assert seen.rows == 100
    assert ("rows read", "the first 100") in seen.facts()
    numbers = [WORDS.index(text.split()[0]) for text in seen.texts]
    assert numbers[-1] > 70
    assert len(set(np.diff(numbers)) - {0}) <= 2  # evenly, as far as whole rows allow
    assert 8 <= seen.analyzed < 16


def test_looking_writes_nothing_and_spends_nothing(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with open_ledger() as ledger:
        entries = len(ledger.history())
    first, second = small().stdout, small().stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    with open_ledger() as ledger:
        assert len(ledger.history()) == entries
    assert first != second  # a fresh key each time
    assert "not a release" in first
    assert "do not publish it" in " ".join(first.split())


def test_what_is_copied_and_what_is_not_is_named_and_the_command_runs(folder: Path) -> None:
    shown = small(
        "--set", "near=vector", "--keep-column", "stars", "--keep-column", "author"
    ).stdout
    flat = " ".join(shown.split())
    assert "copied unchanged author, stars" in flat
    assert "not copied id (--keep-column id" in flat
    assert "author (nearly every value differs" in flat
    command = shlex.split(shown.strip().splitlines()[-1])
    assert command[:2] == ["inkblur", "privatize"]
    assert [command[i + 1] for i, word in enumerate(command) if word == "--keep-column"] == [
        "stars",
        "author",
    ]
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output
    with (folder / "in-blurred.csv").open() as file:
        assert next(csv.reader(file)) == ["author", "text", "stars"]
    assert (folder / "in-report.json").exists()


@pytest.mark.parametrize("width", [80, 160])
def test_it_fits_the_terminal(folder: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = small().stdout.strip().splitlines()
    assert max(map(len, lines[:-1])) <= width  # the command is not broken
    names = ["original", "light", "medium", "strong"]
    beside = [line for line in lines if all(name in line for name in names)]
    assert bool(beside) is (width == 160)


def test_the_page_is_for_its_owner_and_shows_text_as_text(folder: Path) -> None:
    rows = [["text"], *([f"<script>{WORDS[i]}</script> {WORDS[i + 1]}"] for i in range(6))]
    with (folder / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    small("--html", "page.html")
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o600
    page = Path("page.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(src|href)="(?!#)', page)
    command = re.search(r"<pre>(.*)</pre>", page)
    assert command is not None
    assert re.sub("<[^>]*>", "", command[1]).startswith(
        "inkblur privatize in.csv -o in-blurred.csv"
    )
    assert "not a release" in page


def test_epsilons_take_the_place_of_strengths(folder: Path) -> None:
    shown = small("--epsilon", "2,9").stdout
    assert shown.index("epsilon 9") < shown.index("epsilon 2")
    assert "--epsilon 2 " in shown.strip().splitlines()[-1]
    assert "strong" not in shown


def test_a_setting_that_would_be_refused_says_so(folder: Path) -> None:
    shown = " ".join(small("--epsilon", "500,2").stdout.split())
    assert "epsilon 500: about 100% of the words would stay unchanged" in shown
    assert "--set accept_weak=true" in shown


def test_a_mechanism_without_a_guarantee_says_so(folder: Path) -> None:
    shown = small(
        "--mechanism", "angular-laplace", "--set", "accept_no_guarantee=true", "--epsilon", "2"
    )
    assert "No privacy guarantee" in shown.stdout


def test_names_numbers_unknown_words_and_language(folder: Path) -> None:
    text = "John and Mary went to the qzxv with 12 of us. Write to a@b.org."
    Path("in.txt").write_text(f"{text}\n" * 3)
    seen = preview_file("in.txt", inkblur.ReleaseSpec(strength="strong"))
    facts = dict(seen.facts())
    assert facts["names found"] == "16.7% of the words; replaced by words drawn at random"
    assert facts["unknown words"] == "8.3% of 36 words"
    assert facts["also found"] == "numbers: 3; addresses: 3"
    assert facts["copied unchanged"] == "no column"
    assert facts["language"].startswith("English (58%")
    Path("in.txt").write_text("Der Arzt war heute sehr freundlich und nahm sich viel Zeit.\n")
    seen = preview_file("in.txt", inkblur.ReleaseSpec(strength="strong"))
    assert dict(seen.facts())["language"].startswith("not English")


ENGLISH = "The waiter was friendly and the soup arrived hot, so we will come back soon. "


def test_the_risks_stand_beside_their_strength(folder: Path) -> None:
    """Those of texts as long as these: the words of a fixed length, if one is given."""
    Path("in.txt").write_text(ENGLISH * 10 + "\n")
    spec = inkblur.ReleaseSpec(strength="strong")
    for given, words in ((spec, 228), (spec.varied(length=48), 48)):
        looks = preview_file("in.txt", given).looks
        assert [look.name for look in looks] == ["light", "medium", "strong"]
        for look in looks:
            assert look.risks.strength == look.name
            assert [risk.words for risk in look.risks.risks] == [words] * 3
            shares = [risk.measured.share for risk in look.risks.risks if risk.measured]
            assert len(shares) == 3
            assert shares == sorted(shares, reverse=True)
            assert all(f"{share:.0%}" in look.figures["measured risk"] for share in shares)
    (other,) = preview_file("in.txt", spec, epsilons=[1.5]).looks
    assert not other.risks.measured
    assert "not measured" in other.figures["measured risk"]
    Path("in.txt").write_text(ENGLISH * 100 + "\n")
    assert not any(look.risks.measured for look in preview_file("in.txt", spec).looks)


@pytest.mark.parametrize(
    "options",
    [
        {"keep": ("punctuation",)},
        {"names": "keep"},
        {"release": "bag"},
    ],
    ids=str,
)
def test_a_risk_is_shown_for_what_it_was_measured_on(folder: Path, options: dict[str, Any]) -> None:
    """It was measured on texts whose every word is drawn in its place."""
    Path("in.txt").write_text(ENGLISH * 10 + "\n")
    plain = inkblur.ReleaseSpec(strength="light")
    for described in (plain, plain.varied(**options)):
        for shown in preview_file("in.txt", described).looks:
            assert shown.risks.measured == (described == plain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("blank.csv",), "no text to look at: every one of them is blank"),
        (("header.csv",), "header.csv has no text to look at: it has no rows"),
        (("in.csv", "--set", "release=tf", "--set", "length=5"), "leave out --set release=tf"),
        (("nowhere.csv",), "no such file"),
        (("in.csv", "--column", "body"), "no column 'body'"),
        (("in.csv", "--set", "vocabulary=in.csv"), "the file being protected"),
    ],
)
def test_refusals_are_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    Path("blank.csv").write_text('id,text\n1,""\n2," "\n')
    Path("header.csv").write_text("id,text\n")
    result = look(*arguments)
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert message in result.stderr


@pytest.mark.parametrize("name", ["in.csv", "small.ink"])
def test_the_page_overwrites_nothing_that_was_read(folder: Path, name: str) -> None:
    before = (folder / name).read_bytes()
    result = look("in.csv", "--set", "embedding=small.ink", "--html", name)
    assert result.exit_code == 1
    assert f"the page would overwrite {name}" in result.stderr
    assert (folder / name).read_bytes() == before
