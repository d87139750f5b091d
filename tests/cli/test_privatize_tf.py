"""`inkblur privatize --release tf`: files of synthetic vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import load_npz
from typer.testing import CliRunner, Result

from inkblur import load_embedding
from inkblur.cli.app import app
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding

WORDS = [f"q{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(80)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    write_store(tmp_path / "small.ink", Embedding(WORDS, vectors, name="small"))
    (tmp_path / "in.txt").write_text("qaa qab qac\n\nunheard of\nqba qaa qaa\n")
    (tmp_path / "public.txt").write_text("qaa qab\nqac qad qaa\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def tf(*arguments: str) -> Result:
    return CliRunner().invoke(
        app,
        ["privatize", "in.txt", "--set", "release=tf", "--set", "embedding=small.ink", *arguments],
    )


def test_npz_holds_vectors_of_the_asked_length(folder: Path) -> None:
    result = tf("--length", "15", "-e", "8", "-o", "v.npz", "--report", "r.json")
    assert result.exit_code == 0, result.output
    vectors = load_npz(folder / "v.npz")
    assert vectors.shape == (4, len(WORDS))
    assert vectors.toarray().sum(axis=1).tolist() == [15] * 4
    report = json.loads((folder / "r.json").read_text())
    assert report["documents"] == {
        "total": 4,
        "without_known_terms": 2,
        "repeated": 0,
        "left_out_as_public": 0,
        "draws": {"median": 15, "longest": 15},
    }
    assert report["note"].endswith("not protected: do not publish this report.")
    guarantee = report["guarantee"]
    assert guarantee["unit"] == "vector"
    assert guarantee["epsilon"] < guarantee["bounds"]["improved"] <= guarantee["bounds"]["standard"]
    assert report["loss_between_any_two_documents"] == pytest.approx(15 * guarantee["epsilon"])


@pytest.mark.parametrize("release", ["tf", "bag"])
def test_an_output_of_no_known_format_is_refused_before_any_work(
    folder: Path, release: str
) -> None:
    """Before the vectors are even opened: the tight bound over all pairs takes a minute."""
    described = [f"release={release}", "embedding=missing.ink", "length=15"]
    given = [word for each in described for word in ("--set", each)]
    given += ["-e", "8", "-o", "v.doc", "--ledger", "l.db"]
    result = CliRunner().invoke(app, ["privatize", "in.txt", *given])
    assert result.exit_code == 1
    assert "cannot tell the format of v.doc" in result.stderr
    assert not (folder / "l.db").exists()


def test_standard_output_carries_json_lines_and_a_key_replays(folder: Path) -> None:
    (folder / "key").write_text("5f1c9ae27b04d8633ee1527fc6a90b18d42b7c05619fe38a0d74b6f2883ac15e")
    first, second = (tf("--length", "5", "-e", "8", "--key-file", "key") for _ in range(2))
    assert first.stdout == second.stdout
    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert [sum(row["counts"].values()) for row in rows] == [5, 5, 5, 5]


def test_a_public_reference_makes_the_vocabulary(folder: Path) -> None:
    result = tf("--length", "5", "-e", "8", "--set", "reference=public.txt", "-o", "v.npz")
    assert result.exit_code == 0, result.output
    assert load_npz(folder / "v.npz").shape == (4, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "8"], "--length"),
        (["-e", "8", "--length", "0"], "length"),
        (["-e", "8", "--length", "5", "-m", "laplace"], "exponential"),
        (["-e", "8", "--length", "5", "--keep", "numbers"], "--keep"),
        (["-e", "8", "--length", "5", "--set", "reference=in.txt"], "leak"),
        (["-e", "8", "--length", "5", "--set", "weighting=tf-idf"], "give --set reference="),
        (["-e", "8", "--length", "5", "--set", "morphology=stem"], "lemma, lower, as-is"),
        (["-e", "8", "--length", "5", "--set", "bigram=2"], "bigram"),
        (["-e", "8", "--length", "5", "--set", "lam=1"], "no parameter lam"),
        (["-e", "1e9", "--length", "5"], "epsilon must be at most"),
        (["-e", "8", "--length", "5", "-o", "v.docx"], ".npz"),
        (["--set", "level=1", "--set", "radius=2", "--length", "5"], "measures distances"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, arguments: list[str], message: str) -> None:
    before = {path.name for path in folder.iterdir()} | {"cache"}
    result = tf(*arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert {path.name for path in folder.iterdir()} <= before


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Der Arzt sagte, niemand solle sich vor dem Ende des Frühlings sorgen, denn der Regen", 1),
        ("The doctor said that nobody should worry about the weather before the end of spring", 0),
    ],
    ids=["German", "English"],
)
def test_texts_in_another_language_are_noticed(folder: Path, text: str, asked: int) -> None:
    (folder / "in.txt").write_text(f"{text}\n" * 4, encoding="utf-8")
    # The texts' words are in this part where they are in the whole, whose bound takes a minute.
    words = load_embedding().words
    part = [*words[:1500], *(word for word in words if word.lower() in text.lower())]
    (folder / "part.txt").write_text("\n".join(part), encoding="utf-8")
    arguments = ["privatize", "in.txt", "--set", "release=tf", "--length", "5", "-e", "8"]
    arguments += ["--set", "vocabulary=part.txt"]
    result = CliRunner().invoke(app, [*arguments, "-o", "v.npz", "--report", "r.json"])
    assert result.exit_code == 0, result.output
    told = " ".join(result.stderr.split())
    assert told.count("are not in the English vocabulary: is that the texts' language") == asked
    report = json.loads((folder / "r.json").read_text())["vocabulary"]
    assert report["fits_the_texts"] is not bool(asked)


def test_the_id_column_is_written_if_it_is_named(folder: Path) -> None:
    (folder / "in.csv").write_text("id,text,stars\nk7,qaa qab,5\nk8,qac qba,4\n")
    arguments = [
        "privatize",
        "in.csv",
        "--set",
        "release=tf",
        "--set",
        "embedding=small.ink",
        "-e",
        "8",
    ]
    arguments += ["--length", "5", "--id", "id", "--report", "r.json", "-o", "v.jsonl"]
    result = CliRunner().invoke(app, [*arguments, "--keep-column", "id"])
    assert result.exit_code == 0, result.output
    assert "columns copied unchanged: id" in result.stderr
    report = json.loads((folder / "r.json").read_text())
    assert report["columns"] == {"released": ["text"], "copied": ["id"], "not_copied": ["stars"]}
    assert "the column 'id', copied as is" in report["guarantee"]["passed"]
    assert [json.loads(line)["id"] for line in (folder / "v.jsonl").read_text().splitlines()] == [
        "k7",
        "k8",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["id"] for line in (folder / "v.jsonl").read_text().splitlines()] == [
        "0",
        "1",
    ]
    report = json.loads((folder / "r.json").read_text())
    assert report["columns"]["copied"] == []
    assert not any("id" in line.split() for line in report["guarantee"]["passed"])


def test_ids_that_hold_the_texts_are_copied_with_a_warning(folder: Path) -> None:
    (folder / "in.csv").write_text("slug,text\nqaa-qab-qac,Qaa qab qac\nqba-qaa-qad,qba qaa qad!\n")
    arguments = [
        "privatize",
        "in.csv",
        "--set",
        "release=tf",
        "--set",
        "embedding=small.ink",
        "-e",
        "8",
    ]
    arguments += ["--length", "5", "--id", "slug", "-o", "v.jsonl"]
    assert "warning" not in CliRunner().invoke(app, arguments).stderr
    result = CliRunner().invoke(app, [*arguments, "--keep-column", "slug"])
    assert result.exit_code == 0, result.output
    assert "'slug' is copied: it holds the words of the texts" in result.stderr
    assert "qaa" not in result.stderr.lower()


def test_stop_words_and_names_say_nothing_about_the_language() -> None:
    vectorizer = Vectorizer(Embedding(WORDS, np.eye(len(WORDS)), name="small"))
    *_, coverage = vectorizer.read("the of John Garcia's qaa zork 12 :-) Qab")
    assert (coverage.known, coverage.unknown) == (2, 1)
