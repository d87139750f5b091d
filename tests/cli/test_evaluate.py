"""`inkblur evaluate` and `inkblur tune`: files, JSON, terminal, and refusals before measuring."""

from __future__ import annotations

import csv
import json
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.cli.evaluate import read_columns
from inkblur.evaluation import evaluate as measuring
from tests.evaluation.made import NAMES, corpus, table, write_text_vectors

pytest.importorskip("sklearn")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    return write_text_vectors(tmp_path / "made.txt", table())


@pytest.fixture(autouse=True)
def one_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkblur.evaluation.attacks.catalogue.USUAL", ("koppel",))


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    return write_posts(tmp_path / "posts.csv", 12)


def write_posts(path: Path, each: int) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "user", "topic", "blank"])
        writer.writerows([*row, ""] for row in zip(*corpus(each=each), strict=True))
    return path


def run(command: str, posts: Path, vectors: Path, *arguments: str) -> Result:
    fixed = [command, str(posts), "--column", "body", "--set", f"embedding={vectors}"]
    both = ["--person", "user", "--label", "topic", "--repeats", "1"]
    return CliRunner().invoke(app, [*fixed, *both, *arguments], env={"COLUMNS": "160"})


def tried(setting: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in setting["measurements"] if row["status"] == "measured"]


def test_secrets_are_attacked_and_public_texts_teach_the_reader(posts: Path, vectors: Path) -> None:
    told = ("-e", "5", "--json", "--secret", "topic", "--public", str(posts))
    found = run("evaluate", posts, vectors, *told)
    assert found.exit_code == 0, found.output
    (setting,) = json.loads(found.stdout)["settings"]
    asked = {(row["question"], row["name"]) for row in tried(setting)}
    assert {("inference", ""), ("reading", "unigram"), ("reading", "trigram")} <= asked
    assert "meaning" in {row["question"] for row in tried(setting)}
    assert "public texts alone" in {row["attacker"] for row in tried(setting)}  # they have labels


def test_page_and_json_are_written_and_repeat(posts: Path, vectors: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    folder = tmp_path / "deep" / "out"
    first = run("evaluate", posts, vectors, "-e", "2,50", "-o", str(folder))
    assert first.exit_code == 0, first.output
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"evaluation.html", "evaluation.json"}
    for path in folder.iterdir():  # they show true texts, and figures about them
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    body = json.loads(before["evaluation.json"])
    assert [s["settings"]["epsilon"] for s in body["settings"]] == [2.0, 50.0]
    accuracy = tried(body["settings"][1])[0]["value"]["mean"]
    assert f"{accuracy:.1%}" in first.stdout
    assert f"{accuracy:.1%}" in before["evaluation.html"].decode()
    run("evaluate", posts, vectors, "-e", "2,50", "-o", str(folder))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    everything = first.output + "".join(data.decode() for data in before.values())
    assert not any(name in everything for name in NAMES)


def test_files_are_written_though_nobody_reads_what_is_printed(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("inkblur.cli.evaluate.print_report", closed)
    run("evaluate", posts, vectors, "-e", "2", "-o", str(tmp_path / "out"))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"evaluation.html", "evaluation.json"}


def test_json_goes_to_standard_output_alone(posts: Path, vectors: Path) -> None:
    several = ("-e", "5", "-m", "laplace,mahalanobis", "--set", "lam=1", "--json")
    result = run("evaluate", posts, vectors, *several)
    assert result.exit_code == 0, result.output
    names = [s["name"] for s in json.loads(result.stdout)["settings"]]
    assert names == ["laplace, epsilon 5", "mahalanobis, epsilon 5, lambda 1"]


def test_labels_alone_need_no_authors(posts: Path, vectors: Path) -> None:
    fixed = ["evaluate", str(posts), "--column", "body", "--set", f"embedding={vectors}"]
    arguments = [*fixed, "--label", "topic", "-e", "5", "--repeats", "1", "--json"]
    body = json.loads(CliRunner().invoke(app, arguments).stdout)
    (labels,) = body["before"]["measurements"]
    assert (labels["question"], labels["name"]) == ("labels", "logistic")
    assert labels["value"]["mean"] > 0.8


@pytest.mark.parametrize("command", ["evaluate", "tune"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--person", "nobody"], "no column 'nobody'"),
        (["--label", "blank"], "empty in every record"),
        (["--column", "nothing"], "nothing"),
        (["--epsilon", "5;10"], "--epsilon takes numbers"),
        (["--epsilon", "0"], "epsilon must be"),
        (["-m", "mahalanobis", "--set", "lam=2"], "lambda must lie"),
        (["-m", "laplace", "--set", "lam=1"], "laplace has no parameter lam"),
        (["-m", "magic"], "unknown mechanism"),
        (["--set", "release=tf", "-m", "exponential"], "needs --length"),
        (["--set", "length=ten"], "length must be"),
        (["--repeats", "0"], "repeats"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    command: str,
    posts: Path,
    vectors: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured before refusing")

    monkeypatch.setattr(measuring.PreparedEvaluation, "baseline", never)
    target = ["--target", "attack<=0.2"] if command == "tune" else []
    result = run(command, posts, vectors, "-e", "5", *target, *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_what_is_weighed_must_be_there(posts: Path, vectors: Path) -> None:
    fixed = [str(posts), "--column", "body", "-e", "5"]
    neither = CliRunner().invoke(app, ["evaluate", *fixed])
    assert "--person, --label or both" in neither.stderr
    one = CliRunner().invoke(app, ["tune", *fixed, "--target", "attack<=0.2", "--person", "user"])
    assert "--person and --label" in one.stderr
    for wrong, message in (("attack<0.2", "in quotes"), ("attack<=2", "")):
        result = run("tune", posts, vectors, "-e", "5", "--target", wrong)
        assert result.exit_code == 1
        assert message in result.stderr


def test_a_file_without_columns_or_records_is_refused(vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "posts.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "posts.csv").write_text("body,user,topic\n", encoding="utf-8")
    for name, message in (("posts.txt", "no columns"), ("posts.csv", "no records")):
        result = run("evaluate", tmp_path / name, vectors, "-e", "5")
        assert result.exit_code == 1
        assert message in result.stderr


def test_without_jinja_the_extra_is_named_before_measuring(
    posts: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("evaluate", posts, vectors, "-e", "5", "-o", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "jinja2" in result.stderr
    assert not (tmp_path / "out").exists()


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


def test_tune_chooses_prints_writes_and_releases(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jinja2")
    posts, folder = write_posts(tmp_path / "many.csv", 20), tmp_path / "tuned"
    wanted = ["-m", "laplace", "-e", "0.1,3,100", "--target", "utility>=0.8", "-o", str(folder)]
    result = run("tune", posts, vectors, *wanted)
    assert result.exit_code == 0, result.output
    body = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
    allowed = [t for t in body["trials"] if t["utility"] >= 0.8 and not t["worthless"]]
    assert body["chosen"] == min(allowed, key=lambda t: t["attack"]["value"]["mean"])
    assert body["judged"]["setting"] == body["chosen"]["setting"]
    page = (folder / "tune.html").read_text(encoding="utf-8")
    assert body["chosen"]["name"] in page
    assert not any(name in result.output + json.dumps(body) + page for name in NAMES)

    program, *arguments = shlex.split(body["command"])
    assert program == "inkblur"
    monkeypatch.chdir(tmp_path)
    Path("private.csv").write_text("body\nthe wave and a house\n", encoding="utf-8")
    released = CliRunner().invoke(app, arguments)
    assert released.exit_code == 0, released.output
    assert Path("blurred.csv").is_file()


@pytest.mark.parametrize("target", ["attack<=0.01", "utility>=0.1"])
def test_tune_chooses_nothing_where_no_setting_meets_the_target_or_is_worth_it(
    posts: Path, vectors: Path, tmp_path: Path, target: str
) -> None:
    pytest.importorskip("jinja2")
    epsilon = "100" if target.startswith("attack") else "0.0001"
    asked = ("-m", "laplace", "-e", epsilon, "--target", target, "-o", str(tmp_path / "a"))
    result = run("tune", posts, vectors, *asked)
    assert result.exit_code == 1
    body = json.loads((tmp_path / "a" / "tune.json").read_text(encoding="utf-8"))
    assert (body["chosen"], body["command"]) == (None, None)
