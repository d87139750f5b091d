"""The command as a stranger uses it: good files, and every kind of bad one."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.embeddings.store import load_embedding, write_store
from inkblur.embeddings.table import Embedding
from inkblur.ledger import open_ledger
from inkblur.mechanisms import CATALOGUE
from tests.made_strengths import make_strengths

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
KEY = "5f1c9ae27b04d8633ee1527fc6a90b18d42b7c05619fe38a0d74b6f2883ac15e"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    write_store(tmp_path / "small.ink", Embedding(WORDS, vectors, name="small"))
    rows = [[i, " ".join(WORDS[i : i + 5]) + ", 47!", i % 3] for i in range(30)]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text", "stars"], *rows])
    (tmp_path / "key").write_text(KEY)
    (tmp_path / "key").chmod(0o600)
    return tmp_path


def inkblur(folder: Path, *arguments: str) -> Result:
    """Run `inkblur privatize` in the folder with the small embedding."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, ["privatize", *arguments, "--set", "embedding=small.ink"])
    finally:
        os.chdir(before)


def refused(folder: Path, *arguments: str) -> str:
    """A run that must fail: exit 1, one line, no output, nothing else changed; gives the line."""
    before = {p.name for p in folder.iterdir()}
    result = inkblur(folder, *arguments, "-o", "out.csv")
    assert result.exit_code == 1, result.output
    assert {p.name for p in folder.iterdir()} == before
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


def test_other_columns_pass_and_the_report_says_what_happened(folder: Path) -> None:
    result = inkblur(
        *(folder, "in.csv", "-o", "out.csv", "-e", "2", "--report", "r.json"),
        *("--keep-column", "id", "--keep-column", "stars"),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "warning: the column 'id' is copied: nearly every value differs" in result.stderr
    assert "not copied" not in result.stderr
    before = list(csv.DictReader((folder / "in.csv").read_text().splitlines()))
    after = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    copied = [[(row["id"], row["stars"]) for row in rows] for rows in (before, after)]
    assert copied[0] != copied[1]  # they come out in random order
    assert sorted(copied[0]) == sorted(copied[1])
    for row in after:
        assert set(row["text"].rstrip(".").split()) <= set(WORDS)
        assert len(row["text"].split()) == 8  # six, filled
    report = json.loads((folder / "r.json").read_text())
    assert report["documents"] == {
        "total": 30,
        "empty": 0,
        "repeated": 0,
        "left_out_as_public": 0,
        "draws": {"median": 8, "longest": 8},
    }
    assert report["tokens"]["total"] == 240  # the 60 signs too
    assert report["tokens"]["replaced"] + report["tokens"]["unchanged"] == 150
    assert report["tokens"]["null_words"] == 30
    assert report["mechanism"]["name"] == "staircase"
    assert report["mechanism"]["epsilon"] == 2.0
    assert report["embedding"]["words"] == len(WORDS)
    assert report["guarantee"]["private"]
    assert "the columns 'id', 'stars', copied as is" in report["guarantee"]["passed"]
    bound = report["bound_at_typical_distances"]
    assert bound["nearest_neighbor"]["loss"] == bound["median_pair"]["loss"] == 2.0
    assert "guarantee:" in result.stderr
    said = " ".join(result.stderr.split())
    assert "a factor of 7.39 if they differ in one word, and exp(16)" in said


def test_a_key_replays(folder: Path) -> None:
    keyed = [inkblur(folder, "in.csv", "-e", "1", "--key-file", "key").stdout for _ in range(2)]
    assert keyed[0] == keyed[1] != ""
    assert inkblur(folder, "in.csv", "-e", "1").stdout != keyed[0]


@pytest.mark.parametrize(
    "extra", [[], ["-m", "mahalanobis"], ["-m", "exponential", "--length", "4"]]
)
def test_processes_never_change_the_output(folder: Path, extra: list[str]) -> None:
    common = ["in.csv", "-e", "1", "--key-file", "key", *extra]
    result = inkblur(folder, *common, "--processes", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout == inkblur(folder, *common).stdout


def test_the_angular_mechanism_needs_a_yes(folder: Path) -> None:
    angular = ("in.csv", "-m", "angular-laplace", "-e", "3")
    assert "--set accept_no_guarantee=true" in refused(folder, *angular)
    result = inkblur(folder, *angular, "--set", "accept_no_guarantee=true")
    assert result.exit_code == 0
    assert "No privacy guarantee" in result.stderr


def test_level_and_radius_give_epsilon(folder: Path) -> None:
    result = inkblur(
        folder,
        *("in.csv", "-o", "o.csv", "-m", "laplace", "--set", "level=3", "--set", "radius=2"),
        *("--report", "r.json"),
    )
    assert result.exit_code == 0, result.output
    assert json.loads((folder / "r.json").read_text())["mechanism"]["epsilon"] == 1.5


def test_a_strength_is_a_measured_risk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(folder, "in.csv", "--strength", "strong")
    assert "give --epsilon, or --set level= with --set radius=" in told
    make_strengths(monkeypatch, load_embedding(folder / "small.ink"))
    result = inkblur(folder, "in.csv", "--strength", "strong", "--report", "r.json", "-o", "o.csv")
    assert result.exit_code == 0, result.output
    epsilon = json.loads((folder / "r.json").read_text())["mechanism"]["epsilon"]
    again = inkblur(folder, "in.csv", "-e", str(epsilon), "-o", "p.csv", "--report", "s.json")
    for ran, report in ((result, "r.json"), (again, "s.json")):
        kept = json.loads((folder / report).read_text())["risks"]
        assert [risk["measured"] for risk in kept["risks"]] == [None] * 3
        [line] = kept["sentences"]
        assert line in ran.stderr


def test_three_risks_are_printed_and_kept_in_the_report(folder: Path) -> None:
    (folder / "in.txt").write_text("The waiter was friendly and the soup was hot. " * 12 + "\n")
    described = [str(folder / "in.txt"), "-o", str(folder / "o.txt"), "--strength", "strong"]
    report = folder / "r.json"
    told = CliRunner().invoke(app, ["privatize", *described, "--report", str(report)])
    assert told.exit_code == 0, told.output
    kept = json.loads(report.read_text())["risks"]
    assert kept["strength"] == "strong"
    shares = [risk["measured"]["share"] for risk in kept["risks"]]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)
    places = [told.stderr.index(line) for line in kept["sentences"]]
    assert places == sorted(places)


def test_kept_classes_are_counted(folder: Path) -> None:
    result = inkblur(folder, "in.csv", "-e", "2", "--keep", "numbers", "--keep", "punctuation")
    assert "30 numbers" in result.stderr
    assert "everything with a digit in it" in result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert len(rows) == 30
    assert all(", 47!" in row["text"] for row in rows)


def test_empty_texts_are_kept_and_counted(folder: Path) -> None:
    (folder / "in.txt").write_text("waa wab\n\n \nwac\n")
    result = inkblur(folder, "in.txt", "-e", "2")
    assert result.exit_code == 0, result.output
    assert "(2 empty)" in result.stderr
    assert len(result.stdout.splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "-e", "1"], "missing.csv"),
        (["in.csv", "-e", "1", "--column", "body"], "no column 'body' among 'id', 'text', 'stars'"),
        (["in.csv", "-e", "0"], "epsilon must be a finite number above 0"),
        (["in.csv", "-e", "-1"], "epsilon"),
        (["in.csv", "-e", "nan"], "epsilon"),
        (["in.csv", "-e", "inf"], "epsilon"),
        (["in.csv", "-e", "1", "-m", "mahalanobis", "--set", "lam=1.5"], "lambda must lie between 0 and 1"),
        (["in.csv", "-e", "1", "-m", "mahalanobis", "--set", "lam=nan"], "lambda"),
        (["in.csv", "-e", "1", "--set", "lam=0.5"], "staircase has no parameter lam"),
        (["in.csv", "-e", "1", "-m", "laplace", "--set", "lam=0.5"], "laplace has no parameter lam"),
        (["in.csv", "-e", "1", "-m", "gauss"], "unknown mechanism 'gauss'"),
        (["in.csv", "--strength", "extreme"], "light, medium, strong"),
        (["in.csv", "-e", "1", "--set", "release=letter"], "sequence, bag"),
        (["in.csv", "-e", "1", "--length", "0"], "length"),
        (["in.csv", "-e", "1", "--length", "99999999999"], "length must be at most 1,000,000"),
        (["in.csv", "-e", "1", "--keep", "all"], "stop-words"),
        (["in.csv", "-e", "1", "--key-file", "in.csv"], "not a key"),
        (["in.csv", "-e", "1", "--report", "nowhere/r.json"], "nowhere"),
        (["in.csv", "-e", "1", "--set", "vocabulary=in.csv"], "public word list"),
        (["in.csv", "-e", "1e-308"], "at least 1e-100"),
        (["x" * 300 + ".csv", "-e", "1"], "cannot"),
        (["in.csv", "-e", "1", "--processes", "0"], "workers"),
        (["in.csv", "-e", "1", "--strength", "light"], "only one of --epsilon and --strength"),
        (["in.csv", "--set", "level=2"], "--set level= and --set radius= go together"),
        (["in.csv", "-e", "1", "--set", "lenght=2"], "did you mean --length?"),
        (["in.csv", "-e", "1", "--set", "encoding=klingon"], "klingon"),
        (["bad.jsonl", "-e", "1"], "line 2"),
        (["array.json", "-e", "1"], ".jsonl"),
        (["ragged.csv", "-e", "1"], "line 3"),
        (["latin.txt", "-e", "1"], "--set encoding=cp1252"),
        (["nul.txt", "-e", "1"], "NUL"),
        (["empty.csv", "-e", "1"], "empty"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "bad.jsonl").write_text('{"text": "waa"}\n{"text": \n')
    (folder / "array.json").write_text('[{"text": "waa"}]')
    (folder / "ragged.csv").write_text("text,a\nwaa,1\nwab\n")
    (folder / "latin.txt").write_bytes(b"waa caf\xe9\n")
    (folder / "nul.txt").write_bytes(b"waa \x00 wab\n")
    (folder / "empty.csv").write_bytes(b"")
    assert message in refused(folder, *arguments)


def test_a_copied_vocabulary_is_a_leak_too(folder: Path) -> None:
    (folder / "copy.txt").write_bytes((folder / "in.csv").read_bytes())
    assert "leak" in refused(folder, "in.csv", "-e", "1", "--set", "vocabulary=copy.txt")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that nobody can read")
def test_a_vocabulary_that_cannot_be_read_is_one_line(folder: Path) -> None:
    (folder / "in.csv").write_bytes(b"")  # of the same length, or it would not be compared
    line = refused(folder, "in.csv", "-e", "1", "--set", "vocabulary=/proc/self/mem")
    assert "cannot compare" in line


def test_output_equal_to_input_is_refused_and_the_input_survives(folder: Path) -> None:
    before = (folder / "in.csv").read_bytes()
    result = inkblur(folder, "in.csv", "-e", "1", "-o", "in.csv")
    assert result.exit_code == 1
    assert (folder / "in.csv").read_bytes() == before


@pytest.mark.parametrize(
    "name", ["in.csv", "out.csv", "key", "small.ink", "ledger.db", "ledger.db.secret"]
)
def test_the_report_overwrites_nothing(folder: Path, name: str) -> None:
    open_ledger(folder / "ledger.db").close()
    before = (folder / name).read_bytes() if (folder / name).exists() else None
    given = ("--key-file", "key", "--ledger", "ledger.db", "--report", name)
    line = refused(folder, "in.csv", "-e", "1", *given)
    assert "would overwrite" in line
    assert before is None or (folder / name).read_bytes() == before


@pytest.mark.parametrize("name", ["key.txt", "words.txt", "ledger.txt", "spec.txt"])
def test_the_output_overwrites_nothing_that_the_run_reads(folder: Path, name: str) -> None:
    open_ledger(folder / "ledger.txt").close()
    (folder / "key").rename(folder / "key.txt")
    (folder / "words.txt").write_text("\n".join(WORDS))
    described = {"epsilon": 1.0, "vocabulary": "words.txt"}
    (folder / "spec.txt").write_text(json.dumps(described))
    before = (folder / name).read_bytes()
    given = ("--spec", "spec.txt", "--key-file", "key.txt", "--ledger", "ledger.txt")
    with chdir(folder):
        result = CliRunner().invoke(app, ["privatize", "in.csv", "-o", name, *given])
    assert result.exit_code == 1
    assert f"the output would overwrite {name}" in result.stderr
    assert (folder / name).read_bytes() == before


def test_a_folder_is_no_report(folder: Path) -> None:
    (folder / "reports").mkdir()
    assert "name a file in it" in refused(folder, "in.csv", "-e", "1", "--report", "reports")


def test_a_budget_for_people_asks_for_their_column(folder: Path) -> None:
    assert "--person" in refused(folder, "in.csv", "-e", "1", "--person-budget", "3")


def test_an_existing_output_survives_a_failed_run(folder: Path) -> None:
    (folder / "out.jsonl").write_text("precious")
    (folder / "bad.jsonl").write_text('{"text": "waa"}\n' * 5000 + "{")
    assert inkblur(folder, "bad.jsonl", "-e", "1", "-o", "out.jsonl").exit_code == 1
    assert (folder / "out.jsonl").read_text() == "precious"
    assert not list(folder.glob(".*.partial"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["in.csv"],
        ["in.csv", "-e", "one"],
        ["in.csv", "-e", "1", "--set", "tau"],
        ["in.csv", "-e", "1", "--set", "tau=0.1", "--set", "tau=0.2"],
    ],
)
def test_wrong_usage_is_exit_code_2(folder: Path, arguments: list[str]) -> None:
    assert inkblur(folder, *arguments).exit_code == 2


def test_a_singular_covariance_is_refused_only_at_lambda_one(folder: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 4))
    vectors[:, 2] = 1.0
    write_store(folder / "small.ink", Embedding(WORDS, vectors, name="flat"))
    common = ["in.csv", "-e", "1", "-m", "mahalanobis"]
    assert "singular" in refused(folder, *common, "--set", "lam=1")
    assert inkblur(folder, *common, "--set", "lam=0.9").exit_code == 0


def test_a_text_of_12_mb_is_one_clear_line(folder: Path) -> None:
    (folder / "long.txt").write_text("waa " * 3_000_000)
    assert "split it" in refused(folder, "long.txt", "-e", "1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    (folder / "big.txt").write_text("waa wab wac wad\n" * 2_000_000)
    # A shell starts what runs in its background with SIGINT ignored: these tests may be that.
    heard = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    )
    code = f"{heard}; from inkblur.cli import main; main()"
    command = [sys.executable, "-c", code, "privatize", "big.txt", "-o", "out.txt", "-e", "1"]
    run = subprocess.Popen(
        [*command, "--set", "embedding=small.ink"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    while not list(folder.glob(".out.txt.*.partial")) and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(number)
    _, talk = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "interrupted" in talk
    assert not [path for path in folder.iterdir() if "out" in path.name]


def test_standard_input_and_output(folder: Path) -> None:
    command = [sys.executable, "-c", "from inkblur.cli import main; main()", "privatize", "-"]
    done = subprocess.run(
        [*command, "--set", "format=txt", "-e", "2", "--set", f"embedding={folder / 'small.ink'}"],
        input="waa wab\nwac\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert [len(line.split()) for line in done.stdout.splitlines()] == [8, 8]  # filled


def test_keygen_writes_a_private_key_once(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    assert CliRunner().invoke(app, ["keygen", str(path)]).exit_code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(bytes.fromhex(path.read_text().strip())) == 32
    again = CliRunner().invoke(app, ["keygen", str(path)])
    assert again.exit_code == 1
    assert "never overwritten" in again.stderr


def test_several_columns_are_all_blurred_and_named(folder: Path) -> None:
    (folder / "two.csv").write_text("mark,title,body\n1,waa wab,wac\n2,wad,wae waf\n")
    done = inkblur(
        *(folder, "two.csv", "-e", "0.001", "--column", "title", "--column", "body"),
        *("-o", "out.csv", "--report", "report.json", "--keep-column", "mark", "--keep-order"),
    )
    assert done.exit_code == 0, done.output
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["mark"] for row in rows] == ["1", "2"]
    true = {"title": ["waa wab", "wad"], "body": ["wac", "wae waf"]}
    for column, texts in true.items():
        assert [row[column] for row in rows] != texts
        assert [len(row[column].split()) for row in rows] == [8, 8]
    assert "columns copied unchanged: mark" in done.stderr.splitlines()
    assert "the losses of its columns add up" in done.stderr
    report = json.loads((folder / "report.json").read_text())
    assert report["columns"]["released"] == ["title", "body"]
    assert report["spec"]["columns"] == ["title", "body"]
    assert stat.S_IMODE((folder / "report.json").stat().st_mode) == 0o600


def test_what_is_not_copied_is_said_with_what_to_type(folder: Path) -> None:
    (folder / "users.csv").write_text("first name,text,dob\nann,waa,1970\n")
    arguments = ("users.csv", "-e", "1", "-o", "out.csv", "--report", "r.json")
    done = inkblur(folder, *arguments)
    assert done.exit_code == 0
    [line] = [line for line in done.stderr.splitlines() if line.startswith("not copied: ")]
    assert line.startswith("not copied: first name, dob (--keep-column 'first name' ")
    assert (folder / "out.csv").read_text().startswith("text\n")
    report = json.loads((folder / "r.json").read_text())
    assert report["columns"]["not_copied"] == ["first name", "dob"]
    kept = inkblur(folder, *arguments, "--keep-column", "first name")
    assert kept.exit_code == 0
    assert (folder / "out.csv").read_text().startswith("first name,text\nann,")
    refused(folder, "users.csv", "-e", "1", "--keep-column", "name")


def test_csv_without_header_and_with_another_delimiter(folder: Path) -> None:
    (folder / "bare.csv").write_text("1;waa wab\n2;wac\n")
    assert "--set no_header=true" in refused(folder, "bare.csv", "-e", "1", "--set", "delimiter=;")
    done = inkblur(
        *(
            folder,
            "bare.csv",
            "-e",
            "1",
            "--set",
            "no_header=true",
            "--set",
            "delimiter=;",
            "--column",
            "2",
        ),
        *("-o", "out.csv", "--keep-column", "1"),
    )
    assert done.exit_code == 0, done.output
    written = (folder / "out.csv").read_text().splitlines()
    assert sorted(line[:2] for line in written) == ["1;", "2;"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_epsilon_near_the_largest_float_is_one_line(folder: Path, name: str) -> None:
    consent = ["--set", "accept_no_guarantee=true"] if not CATALOGUE[name].private else []
    refused(folder, "in.csv", "--mechanism", name, "--epsilon", "1e308", *consent)
