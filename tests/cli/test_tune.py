"""`inkblur tune`: a choice, its files, and a run that goes on."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from inkblur.cli.tune import tune
from inkblur.evaluation.evaluate import PreparedEvaluation
from tests.evaluation.made import NAMES, corpus, table, write_text_vectors

pytest.importorskip("sklearn")
app = typer.Typer()
app.command()(tune)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    return write_text_vectors(tmp_path / "made.txt", table())


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    path = tmp_path / "posts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "user", "topic"])
        writer.writerows(zip(*corpus(), strict=True))
    return path


def run(posts: Path, vectors: Path, folder: Path, *arguments: str) -> Result:
    fixed = [str(posts), "--embedding", str(vectors), "-o", str(folder), "--words", "10"]
    both = ["--author-column", "user", "--label-column", "topic"]
    quick = ["--models", "naive-bayes", "--attacks", "koppel", "--repeats", "1", "-m", "laplace"]
    return CliRunner().invoke(app, [*fixed, *both, *quick, *arguments], env={"COLUMNS": "160"})


def test_a_choice_is_made_printed_and_written(posts: Path, vectors: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    floor = ["--criterion", "least-survival", "--utility-floor", "0.8"]
    result = run(posts, vectors, folder, "-e", "0.1,1,100", *floor)
    assert result.exit_code == 0, result.output
    body = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    allowed = [t for t in body["trials"] if t["utility"] >= 0.8]
    assert body["best"] == min(allowed, key=lambda t: t["survival"])
    assert f"epsilon {body['best']['setting']['epsilon']:g} (chosen)" in result.stdout
    assert (folder / "tune.jsonl").is_file()
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert f"epsilon {body['best']['setting']['epsilon']:g}</b>" in page
    guessed = f"keeps about {body['utility_of_guessing']:.0%} of the utility"
    assert guessed in " ".join(result.stdout.split())
    assert guessed in page
    assert body["utility_of_guessing"] == pytest.approx(0.5, abs=0.1)  # two labels, well told
    warned = "looks a little better on the texts that chose it"
    assert warned in page
    assert warned in " ".join(result.stderr.split())
    for name in NAMES:
        assert name not in result.output + (folder / "tune.json").read_text(encoding="utf-8") + page


def test_a_stopped_run_says_so_and_goes_on(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = PreparedEvaluation.measure
    measured: list[object] = []

    def stopped(self: PreparedEvaluation, *rest: Any, **options: Any) -> Any:
        if measured:
            raise KeyboardInterrupt
        measured.append(rest)
        return real(self, *rest, **options)

    monkeypatch.setattr(PreparedEvaluation, "measure", stopped)
    first = run(posts, vectors, tmp_path / "a", "-e", "1,100")
    assert first.exit_code == 130
    assert "goes on from there" in first.stderr
    monkeypatch.setattr(PreparedEvaluation, "measure", real)
    second = run(posts, vectors, tmp_path / "a", "-e", "1,100", "--json")
    assert second.exit_code == 0, second.output
    whole = run(posts, vectors, tmp_path / "b", "-e", "1,100", "--json")
    assert second.stdout == whole.stdout


def test_an_unreachable_floor_ends_with_code_1(posts: Path, vectors: Path, tmp_path: Path) -> None:
    floor = ["--criterion", "most-utility", "--most-survival", "0"]
    result = run(posts, vectors, tmp_path / "a", "-e", "100", *floor)
    assert result.exit_code == 1
    assert "of 1 setting none meets the floor" in result.stderr
    assert json.loads((tmp_path / "a" / "tune.json").read_text(encoding="utf-8"))["best"] is None


@pytest.mark.parametrize(("wrong", "code"), [(17, 0), (22, 1)])
def test_a_choice_by_labels_that_are_hardly_told_is_called_that(
    vectors: Path, tmp_path: Path, wrong: int, code: int
) -> None:
    """With more wrong labels than right ones "utility left" would mean nothing at all."""
    rows = [list(row) for row in zip(*corpus(each=40), strict=True)]
    tested = [row for row in range(len(rows)) if row % 4 > 1][:40]
    for number, row in enumerate(rows):
        row.append("test" if number in tested else "train")
        if number in tested[:wrong]:
            row[2] = "sky" if row[2] == "sea" else "sea"
    path, folder = tmp_path / "posts.csv", tmp_path / "a"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text", "user", "topic", "part"], *rows])
    result = run(path, vectors, folder, "-e", "100", "--split-column", "part")
    assert result.exit_code == code, result.output
    warned = "hardly better than guessing" if code == 0 else "no better than guessing"
    assert warned in " ".join(result.stderr.split())
    if code == 0:
        assert warned in (folder / "tune.html").read_text(encoding="utf-8")
        assert "utility left&#34; and a choice based on it mean little" in (
            folder / "tune.html"
        ).read_text(encoding="utf-8")
    else:
        assert not (folder / "tune.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--criterion", "magic"], "unknown criterion"),
        (["--criterion", "most-utility"], "privacy floor"),
        (["--length", "ten"], "--length takes whole numbers"),
        (["--lambda", "x"], "lambda must be a number"),
        (["--lambda", "1"], "--lambda is not an option of"),
        (["--morphology", "lemma"], "tf release"),
        (["-e", "0"], "epsilon must be"),
        (["-m", "angular-laplace"], "has no guarantee"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    posts: Path,
    vectors: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        PreparedEvaluation, "measure", lambda *_: pytest.fail("measured before refusing")
    )
    result = run(posts, vectors, tmp_path / "a", "-e", "5", *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr


def test_what_the_criterion_weighs_must_be_there(posts: Path, tmp_path: Path) -> None:
    for column, message in (("--author-column", "--label-column"), ("--label-column", "--author-")):
        name = "user" if column == "--author-column" else "topic"
        arguments = [str(posts), "-e", "5", "-o", str(tmp_path / "a"), column, name]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 1
        assert message in result.stderr
