"""`inkblur evaluate`: the files, the JSON, the terminal, and refusals before any measuring."""

from __future__ import annotations

import csv
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner, Result

from inkblur.cli.evaluate import evaluate
from inkblur.cli.texts import read_columns
from inkblur.evaluation import evaluate as measuring
from tests.evaluation.made import NAMES, corpus, table, write_text_vectors

pytest.importorskip("sklearn")
app = typer.Typer()
app.command()(evaluate)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    return write_text_vectors(tmp_path / "made.txt", table())


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    path = tmp_path / "posts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "user", "topic", "blank"])
        writer.writerows([*row, ""] for row in zip(*corpus(), strict=True))
    return path


def run(posts: Path, vectors: Path, *arguments: str) -> Result:
    fixed = [
        str(posts),
        "--text-column",
        "body",
        "--embedding",
        str(vectors),
        "--attacks",
        "koppel",
    ]
    both = ["--author-column", "user", "--label-column", "topic"]
    quick = ["--models", "naive-bayes", "--repeats", "2", "--seed", "3"]
    return CliRunner().invoke(app, [*fixed, *both, *quick, *arguments], env={"COLUMNS": "160"})


def tried(setting: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in setting["measurements"] if row["status"] == "measured"]


def test_secrets_are_attacked_and_public_texts_teach_the_reader(posts: Path, vectors: Path) -> None:
    found = run(
        posts, vectors, "-e", "5", "--json", "--secret-column", "topic", "--public", str(posts)
    )
    assert found.exit_code == 0, found.output
    (setting,) = json.loads(found.stdout)["settings"]
    asked = {(row["question"], row["name"]) for row in tried(setting)}
    assert {("inference", ""), ("reading", "unigram"), ("reading", "trigram")} <= asked
    plain = run(posts, vectors, "-e", "5", "--json", "--read-texts", "0")
    (setting,) = json.loads(plain.stdout)["settings"]
    questions = {row["question"] for row in tried(setting)}
    assert questions == {"author", "repetition", "singling out", "linking", "labels", "meaning"}


def test_page_and_json_are_written_and_repeat(posts: Path, vectors: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    folder = tmp_path / "deep" / "out"
    first = run(posts, vectors, "-e", "2,50", "-o", str(folder))
    assert first.exit_code == 0, first.output
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"evaluation.html", "evaluation.json"}
    for path in folder.iterdir():  # they show true texts, and figures about them
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    body = json.loads(before["evaluation.json"])
    assert [s["settings"]["epsilon"] for s in body["settings"]] == [2.0, 50.0]
    assert body["seed"] == 3
    accuracy = tried(body["settings"][1])[0]["value"]["mean"]
    assert f"{accuracy:.1%}" in first.stdout
    assert f"{accuracy:.1%}" in before["evaluation.html"].decode()
    run(posts, vectors, "-e", "2,50", "-o", str(folder))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    everything = first.output + "".join(data.decode() for data in before.values())
    for name in NAMES:
        assert name not in everything


def test_files_are_written_though_nobody_reads_what_is_printed(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("inkblur.cli.evaluate.print_report", closed)
    run(posts, vectors, "-e", "2", "--read-texts", "0", "-o", str(tmp_path / "out"))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"evaluation.html", "evaluation.json"}


def test_json_goes_to_standard_output_alone(posts: Path, vectors: Path) -> None:
    result = run(posts, vectors, "-e", "5", "-m", "laplace,mahalanobis", "--lambda", "1", "--json")
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    names = [s["name"] for s in body["settings"]]
    assert names == ["laplace, epsilon 5", "mahalanobis, epsilon 5, lambda 1"]
    assert [m["attacker"] for m in tried(body["settings"][0])][:2] == ["adaptive", "static"]


def test_labels_alone_need_no_authors(posts: Path, vectors: Path) -> None:
    fixed = [str(posts), "--text-column", "body", "--embedding", str(vectors), "--label-column"]
    arguments = [*fixed, "topic", "-e", "5", "--repeats", "1", "--json"]
    body = json.loads(CliRunner().invoke(app, arguments).stdout)
    (labels,) = body["before"]["measurements"]
    assert (labels["question"], labels["name"]) == ("labels", "logistic")
    assert labels["value"]["mean"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--author-column", "nobody"], "no column 'nobody'"),
        (["--label-column", "blank"], "empty in every record"),
        (["--text-column", "nothing"], "nothing"),
        (["--split-column", "topic"], "train or test"),
        (["--attacks", "magic"], "unknown attack"),
        (["--models", "magic"], "unknown model"),
        (["--scenarios", "top-9"], "needs 9 authors"),
        (["--epsilon", "5;10"], "--epsilon takes numbers"),
        (["--epsilon", "0"], "epsilon must be"),
        (["-m", "mahalanobis", "--lambda", "2"], "lambda must lie"),
        (["-m", "laplace", "--lambda", "1"], "--lambda is not an option"),
        (["-m", "magic"], "unknown mechanism"),
        (["-m", "angular-laplace"], "accept-no-guarantee"),
        (["--release", "tf", "-m", "exponential"], "needs --length"),
        (["--repeats", "0"], "repeats"),
        (["--test-share", "0"], "test_share"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    posts: Path,
    vectors: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured before refusing")

    monkeypatch.setattr(measuring.PreparedEvaluation, "baseline", never)
    result = run(posts, vectors, "-e", "5", *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_file_without_columns_or_records_is_refused(vectors: Path, tmp_path: Path) -> None:
    plain = tmp_path / "posts.txt"
    plain.write_text("one\ntwo\n", encoding="utf-8")
    empty = tmp_path / "posts.csv"
    empty.write_text("body,user,topic\n", encoding="utf-8")
    for path, message in ((plain, "no columns"), (empty, "no records")):
        result = run(path, vectors, "-e", "5")
        assert result.exit_code == 1
        assert message in result.stderr
    neither = CliRunner().invoke(app, [str(empty), "--text-column", "body"])
    assert "--author-column, --label-column or both" in neither.stderr


def test_without_jinja_the_extra_is_named_before_measuring(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run(posts, vectors, "-e", "5", "-o", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "jinja2" in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_values_in_jsonl_are_missing(vectors: Path, tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    rows = [
        {"body": text, "user": name, "topic": label}
        for text, name, label in zip(*corpus(), strict=True)
    ]
    rows[0]["user"] = None  # type: ignore[assignment]
    del rows[1]["topic"]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    body = json.loads(run(path, vectors, "-e", "5", "--json").stdout)
    assert (body["data"]["without_author"], body["data"]["without_label"]) == (1, 1)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_what_has_no_author_is_nobodys(tmp_path: Path, suffix: str) -> None:
    """pandas and polars write NaN for a missing number: it would be one author of many texts."""
    path = tmp_path / f"posts{suffix}"
    users = [7.0, float("nan"), 8.0, None]
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": "a", "user": user}) + "\n" for user in users))
    else:
        pq.write_table(pa.table({"text": ["a"] * 4, "user": pa.array(users)}), path)
    assert read_columns(str(path), "text", ["user"])[1] == {"user": ["7.0", None, "8.0", None]}
