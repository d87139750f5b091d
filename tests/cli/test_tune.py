"""`inkblur tune`: a choice, its files and the next command."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.evaluation.evaluate import PreparedEvaluation
from tests.evaluation.made import NAMES, corpus, table

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "made.ink"
    write_store(path, table())
    return path


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    path = tmp_path / "posts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["post", "user", "topic"])
        writer.writerows(zip(*corpus(each=20), strict=True))
    return path


def run(posts: Path, vectors: Path, *arguments: str) -> Result:
    fixed = [str(posts), "--embedding", str(vectors), "--text-column", "post"]
    both = ["--author-column", "user", "--label-column", "topic", "--test-share", "0.5"]
    quick = ["--attacks", "koppel", "--repeats", "1", "-m", "laplace"]
    options = [*fixed, *both, *quick, *arguments]
    return CliRunner().invoke(app, ["tune", *options], env={"COLUMNS": "160"})


def test_a_choice_is_made_printed_written_and_released(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tuned"
    wanted = ["-e", "0.1,3,100", "--target", "utility>=0.8", "-o", str(folder)]
    result = run(posts, vectors, *wanted)
    assert result.exit_code == 0, result.output
    body = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    allowed = [t for t in body["trials"] if t["utility"] >= 0.8 and not t["worthless"]]
    assert body["chosen"] == min(allowed, key=lambda t: t["attack"]["value"]["mean"])
    assert body["judged"]["setting"] == body["chosen"]["setting"]
    assert body["chosen"]["labels"]["chance"] == 0.5  # two labels
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert body["chosen"]["name"] in page
    for name in NAMES:
        assert name not in result.output + json.dumps(body) + page
    assert run(posts, vectors, *wanted, "--json").stdout == json.dumps(body, indent=2) + "\n"

    program, *arguments = shlex.split(body["command"])
    assert program == "inkblur"
    monkeypatch.chdir(tmp_path)
    Path("private.csv").write_text("post\nthe wave and a house\n", encoding="utf-8")
    released = CliRunner().invoke(app, arguments)
    assert released.exit_code == 0, released.output
    assert Path("blurred.csv").is_file()


@pytest.mark.parametrize("target", ["attack<=0.01", "utility>=0.1"])
def test_nothing_is_chosen_where_no_setting_meets_the_target_or_is_worth_it(
    posts: Path, vectors: Path, tmp_path: Path, target: str
) -> None:
    folder = tmp_path / "a"
    settings = "100" if target.startswith("attack") else "0.0001"
    result = run(posts, vectors, "-e", settings, "--target", target, "-o", str(folder))
    assert result.exit_code == 1
    body = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    assert (body["chosen"], body["command"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "attack<0.2"], "in quotes"),
        (["-e", "0"], "epsilon must be"),
        (["-m", "angular-laplace"], "has no guarantee"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    posts: Path,
    vectors: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PreparedEvaluation, "measure", lambda *_: pytest.fail("measured first"))
    result = run(posts, vectors, "--target", "attack<=0.2", "-e", "5", *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr


def test_what_the_target_weighs_must_be_there(posts: Path) -> None:
    for column, name in (("--author-column", "user"), ("--label-column", "topic")):
        arguments = [str(posts), "-e", "5", "--target", "attack<=0.2", column, name]
        result = CliRunner().invoke(app, ["tune", *arguments])
        assert result.exit_code == 1
        assert "--author-column and --label-column" in result.stderr
