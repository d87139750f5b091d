"""`inkblur tune --target`: from public files to a choice, its judgment and the next commands."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.evaluation.evaluate import PreparedEvaluation
from inkblur.spec import ReleaseSpec
from tests.evaluation.made import NAMES, corpus, table

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")


def written(path: Path, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        writer.writerows(rows)
    return path


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "made.ink"
    write_store(path, table())
    return path


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    texts, _, labels = corpus(each=15, seed=8)
    return written(tmp_path / "the topics.csv", ["text", "topic"], zip(texts, labels, strict=True))


@pytest.fixture
def authors(tmp_path: Path) -> Path:
    texts, names, _ = corpus(each=12, seed=9)
    return written(tmp_path / "authors.csv", ["text", "user"], zip(texts, names, strict=True))


QUICK = ["--models", "naive-bayes", "--attacks", "koppel", "--repeats", "1", "-m", "laplace"]


def invoked(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "100"})


def run(topics: Path, authors: Path, vectors: Path, folder: Path, *arguments: str) -> Result:
    files = [topics, "--label-column", "topic", "--authors", authors, "--author-column", "user"]
    return invoked("tune", *files, "--embedding", vectors, "-o", folder, *QUICK, *arguments)


def test_a_choice_is_made_judged_and_can_be_used(
    topics: Path, authors: Path, vectors: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tuned"
    grid = ["-e", "0.3,100", "--alpha", "0.5,2", "--smoothing", "1,10", "--target", "attack<=0.9"]
    result = run(topics, authors, vectors, folder, *grid)
    assert result.exit_code == 0, result.output
    body = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    assert len(body["trials"]) == 8
    allowed = [t for t in body["trials"] if t["attack"] <= 0.9]
    assert body["best"]["utility"] == max(t["utility"] for t in allowed)
    assert body["held_out"]["setting"] == body["best"]["setting"]
    assert body["held_out"]["part"] == "held-out"
    assert body["best"]["part"] == "validation"
    assert any(t["frontier"] for t in body["trials"])
    name = "laplace, epsilon 0.3"
    assert name in result.stdout
    assert "held-out" in result.stdout
    assert "not used for the choice" in result.stderr
    page = (folder / "tune.html").read_text(encoding="utf-8")
    for author in NAMES:
        assert author not in result.output + page + json.dumps(body)
    adapt, privatize = body["commands"]
    assert f"  {adapt}\n" in result.stderr
    assert f"  {privatize}\n" in result.stderr
    assert adapt.startswith("inkblur embeddings adapt ")
    made = invoked(*shlex.split(adapt)[1:])  # the file's name has a space
    assert made.exit_code == 0, made.output
    private = tmp_path / "private.csv"
    written(private, ["text"], [[text] for text in corpus(seed=50)[0]])
    blurred = tmp_path / "blurred.csv"
    places = {"private.csv": str(private), "blurred.csv": str(blurred)}
    used = invoked(*(places.get(word, word) for word in shlex.split(privatize)[1:]))
    assert used.exit_code == 0, used.output
    assert blurred.is_file()


def test_plain_vectors_and_a_floor_of_utility(
    topics: Path, authors: Path, vectors: Path, tmp_path: Path
) -> None:
    plain = ["-e", "0.3,100", "--target", "utility>=0.97", "--form", "content", "--json"]
    result = run(topics, authors, vectors, tmp_path / "a", *plain)
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    assert ReleaseSpec.from_json(body["best"]["setting"]) == ReleaseSpec("laplace", 100.0)
    (privatize,) = body["commands"]
    assert "--epsilon 100" in privatize
    assert "--drop stop-words" in privatize  # as the form takes them out
    assert privatize.endswith(f"--embedding {vectors}")


def test_one_file_may_have_both(vectors: Path, tmp_path: Path) -> None:
    rows = zip(*corpus(each=20), strict=True)
    posts = written(tmp_path / "posts.csv", ["text", "user", "topic"], rows)
    columns = ["--label-column", "topic", "--author-column", "user"]
    given = ["-e", "1,100", "--smoothing", "1", "--target", "utility>=0.5", "--json"]
    output = ["--embedding", vectors, "-o", tmp_path / "a"]
    result = invoked("tune", posts, *columns, *output, *QUICK, *given)
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    assert body["data"]["taught"] > 0
    assert body["best"]["setting"]["beta"] == 3.0


def test_no_setting_that_meets_it_ends_with_code_1_and_the_nearest(
    topics: Path, authors: Path, vectors: Path, tmp_path: Path
) -> None:
    given = ["-e", "50,100", "--target", "attack<=0.01"]
    result = run(topics, authors, vectors, tmp_path / "a", *given)
    assert result.exit_code == 1
    assert "of 2 settings none meets attack<=0.01; the nearest is laplace" in result.stderr
    body = json.loads((tmp_path / "a" / "tune.json").read_text(encoding="utf-8"))
    guessed = body["nearest"]["chance"]  # all authors wrote alike much: an even guess
    assert guessed == pytest.approx(1 / len(NAMES))
    assert f"(guessing: {guessed:.3f})" in " ".join(result.stderr.split())
    assert body["best"] is None
    assert body["held_out"] is None
    assert body["commands"] == []
    assert body["nearest"] in [
        {key: value for key, value in trial.items() if key != "frontier"}
        for trial in body["trials"]
    ]
    page = (tmp_path / "a" / "tune.html").read_text(encoding="utf-8")
    assert "No setting meets it" in page


def test_a_stopped_run_goes_on(
    topics: Path, authors: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["-e", "1,100", "--alpha", "1", "--target", "utility>=0.1", "--json"]
    real = PreparedEvaluation.measure
    measured: list[object] = []

    def stopped(self: PreparedEvaluation, *rest: Any, **options: Any) -> Any:
        if measured:
            raise KeyboardInterrupt
        measured.append(rest)
        return real(self, *rest, **options)

    monkeypatch.setattr(PreparedEvaluation, "measure", stopped)
    first = run(topics, authors, vectors, tmp_path / "a", *given)
    assert first.exit_code == 130
    assert "goes on from there" in first.stderr
    monkeypatch.setattr(PreparedEvaluation, "measure", real)
    second = run(topics, authors, vectors, tmp_path / "a", *given)
    assert second.exit_code == 0, second.output
    whole = run(topics, authors, vectors, tmp_path / "b", *given)
    assert second.stdout.replace("/a/", "/b/") == whole.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "attack<0.2"], "cannot read the target"),
        (["--target", "attack<=0.2", "--criterion", "largest-gap"], "two different goals"),
        (["--target", "attack<=0.2", "--most-attack", "0.2"], "two different goals"),
        (["--target", "attack<=0.2", "--split-column", "user"], "splits the texts itself"),
        (["--target", "attack<=0.2", "--vocabulary", "words.txt"], "embeddings import"),
        (["--target", "attack<=0.2", "--alpha", "0"], "alpha must be"),
        (["--target", "attack<=0.2", "--alpha", ""], "--alpha takes numbers"),
        (["--target", "attack<=0.2", "--smoothing", "x"], "--smoothing takes numbers"),
        (["--target", "attack<=0.2", "--form", "bow-50"], "raw or content"),
        (["--target", "attack<=0.2", "--test-share", "0.5"], "between 0 and 0.5"),
        (["--alpha", "1"], "--authors and --alpha can only be used with --target"),
        ([], "--authors can only be used with --target"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    topics: Path,
    authors: Path,
    vectors: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        PreparedEvaluation, "measure", lambda *_: pytest.fail("measured before refusing")
    )
    result = run(topics, authors, vectors, tmp_path / "a", "-e", "5", *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
