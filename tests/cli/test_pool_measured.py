"""`evaluate`, `tune`, `audit`, `preview` and `statement` take a release from a pool as any other."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.pools import Pool, build_pool
from inkblur.pools.order import Marked
from inkblur.pools.pool import write_pool
from inkblur.types import Ids
from tests.evaluation.made import corpus, table

pytest.importorskip("sklearn")
LABELS = ("--label", "label")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("measured")
    write_store(made / "toy.ink", table())
    write_pool(made / "p.pool", pool())
    texts, authors, labels = corpus()
    with (made / "mine.csv").open("w", newline="") as file:
        rows = zip(texts, authors, labels, strict=True)
        csv.writer(file).writerows([("text", "author", "label"), *rows])
    return made


def pool(seed: int = 11) -> Pool:
    texts, _, labels = corpus(each=30, authors=1, seed=seed)
    return build_pool(texts, table(), labels=labels, name="made", license="CC0")


def run(folder: Path, command: str, *words: str) -> Result:
    """The command, with files of the folder by their names."""
    given = [str(folder / w) if (folder / w).exists() else w for w in words]
    return CliRunner().invoke(app, [command, *given, "--set", f"embedding={folder / 'toy.ink'}"])


def test_evaluate_tells_labels_judges_meaning_and_attacks(folder: Path) -> None:
    out = folder / "evaluated"
    result = run(
        folder, "evaluate", "mine.csv", "--pool", "p.pool", "--epsilon", "2,8", "--set", "keep_meaning=0.5", "--person", "author", "--label", "label", "--judge", "toy.ink",
        "--attacks", "koppel", "--repeats", "1", "-o", str(out),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    report = json.loads((out / "evaluation.json").read_text())
    assert len(report["settings"]) == 2
    for setting in report["settings"]:
        found = [m for m in setting["measurements"] if m["status"] == "measured"]
        assert "judge: made" in {m["name"] for m in found}
        taught = {m["attacker"] for m in found if m["scenario"] == "original texts"}
        assert taught == {"public texts alone", "released texts", "both"}
    page = (out / "evaluation.html").read_text()
    assert "nearest in the pool" in page
    assert "public texts alone" in page


def test_tune_measures_settings_of_a_pool_beside_its_texts_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "mine.csv", "--pool", "p.pool", "--epsilon", "1,8", "--set", "keep_meaning=0.5",
        *LABELS, "--person", "author", "--target", "attack<=0.99", "--repeats", "1", "-o", str(folder / "tuned"),
    )  # fmt: skip
    monkeypatch.setattr("inkblur.evaluation.attacks.catalogue.USUAL", ("svm",))
    result = run(folder, "tune", *words)
    body = json.loads((folder / "tuned" / "tune.json").read_text())
    assert len(body["trials"]) == 2
    for trial in body["trials"]:
        alone, released, _ = (each["value"]["mean"] for each in trial["taught"])
        f1 = trial["labels"]["value"]["mean"]
        assert bool(trial["worthless"]) is (released <= alone or f1 <= 0.5)
    assert (result.exit_code == 0) is (body["chosen"] is not None)


def test_audit_passes_a_true_pool_and_convicts_a_false_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkblur.cli.audit._DRAWS", 1_000)
    words = ("--pool", "p.pool", "--epsilon", "1,6", "--json")
    result = run(folder, "audit", *words)
    assert result.exit_code == 0, result.output
    audits = json.loads(result.stdout)["audits"]
    assert [each["flagged"] for each in audits] == [False, False]
    assert [each["bound"] for each in audits] == [1.0, 6.0]
    assert all(each["assumed"] in each["verdict"] for each in audits)

    def nearest_alone(self: Marked, ids: Ids, places: Ids) -> Ids:
        return honest(self, ids, places // 4)

    honest = Marked.at
    monkeypatch.setattr(Marked, "at", nearest_alone)
    result = run(folder, "audit", *words)
    assert result.exit_code == 1
    assert "the claim is false" in result.stderr


def test_preview_shows_stand_ins_and_what_to_expect(folder: Path) -> None:
    result = run(
        folder, "preview", "mine.csv", "--pool", "p.pool", "--epsilon", "2,6", "--html",
        str(folder / "preview.html"),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    out = " ".join(result.stdout.split())
    assert "label kept" in out
    assert "license: CC0" in out
    assert "--pool" in out
    assert ">original<" in (folder / "preview.html").read_text()


def test_a_statement_explains_the_release_with_its_evaluation(folder: Path) -> None:
    report = folder / "report.json"
    result = run(
        folder, "privatize", "mine.csv", "-o", str(folder / "out.csv"), "--pool", "p.pool",
        "--epsilon", "8", "--ledger", "none", "--report", str(report),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["documents"]["draws"] == {"median": 1, "longest": 1}
    measured = folder / "measured"
    words = ("--label", "label", "--repeats", "1")
    evaluated = run(folder, "evaluate", "mine.csv", "--pool", "p.pool", "--epsilon", "8", *words,
                    "-o", str(measured))  # fmt: skip
    assert evaluated.exit_code == 0, evaluated.output
    figures = ["statement", str(report), "--evaluation", str(measured / "evaluation.json")]
    explained = CliRunner().invoke(app, figures)
    assert explained.exit_code == 0, explained.output
    assert "any two texts, whatever their words and length" in explained.stdout
    assert "labels: F1" in explained.stdout
    write_pool(folder / "p.pool", pool(seed=12))
    run(folder, "evaluate", "mine.csv", "--pool", "p.pool", "--epsilon", "8", *words,
        "-o", str(measured))  # fmt: skip
    other = CliRunner().invoke(app, figures)
    write_pool(folder / "p.pool", pool())
    assert other.exit_code == 1
    assert "another pool" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "mine.csv", *LABELS, "--set", "unit=text", "-e", "2"), "a text is replaced by one of a pool"),
        (("evaluate", "mine.csv", *LABELS, "--pool", "p.pool", "-m", "laplace"), "leave out --mechanism"),
        (("evaluate", "mine.csv", *LABELS, "--pool", "p.pool", "--set", "release=bag"), "leave out --mechanism"),
        (("evaluate", "mine.csv", *LABELS, "--pool", "p.pool", "--set", "lam=1"), "staircase has no parameter lam"),
        (("audit", "--pool", "p.pool", "-o", "out"), "--output cannot be used with --pool"),
        (("preview", "mine.csv", "--pool", "p.pool", "--set", "keep=numbers"), "nothing of a text"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(
    folder: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(folder, *words)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
