"""`inkblur statement`: every figure comes from the report, and a release without a guarantee says so."""

from __future__ import annotations

import csv
import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.results import ADAPTIVE, RELEASED, STATIC, TRUE, Measurement, SettingResult
from inkblur.guarantees import rounded_up
from tests.evaluation.made import attack, interval, labels

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
LENGTHS = [0, 0, 3, 5, 5, 9]  # words of the texts: the median of those with any is 5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    write_store(tmp_path / "small.ink", Embedding(WORDS, vectors, name="small"))
    rows = [[i, " ".join(WORDS[i : i + n])] for i, n in enumerate(LENGTHS)]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["<b>id", "text"], *rows])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def privatize(*arguments: str, output: str = "out.csv") -> dict[str, Any]:
    fixed = ["in.csv", "-o", output, "--set", "embedding=small.ink", "--report", "report.json"]
    done = CliRunner().invoke(app, ["privatize", *fixed, *arguments])
    assert done.exit_code == 0, done.output
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


def statement(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["statement", "report.json", *arguments])


def explained(*arguments: str) -> str:
    result = statement(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def table(text: str, first: str) -> dict[str, list[str]]:
    """The rows of the Markdown table whose head begins so, by their first cell."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    start = next(i for i, row in enumerate(rows) if row[0] == first)
    return {row[0]: row[1:] for row in rows[start + 1 :]}


def test_a_metric_release(folder: Path) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3", "--length", "exact")
    assert report["documents"]["draws"] == {"median": 5, "longest": 9}
    text = explained()
    rows = table(text, "for")
    typical = report["bound_at_typical_distances"]
    for name, count in (
        ("one word", 1),
        ("the median text, 5 words", 5),
        ("the longest text, 9 words", 9),
    ):
        losses = [typical[at]["loss"] for at in ("nearest_neighbor", "median_pair")]
        assert rows[name] == [rounded_up(count * loss) for loss in losses]
    assert "Epsilon is 3 per word and unit of euclidean distance." in text
    assert report["guarantee"]["sentence"] in text
    for line in (*report["guarantee"]["passed"], *report["guarantee"]["assumptions"]):
        assert line[1:] in text.replace("&lt;", "<")
    assert "According to the ledger" in text
    assert table(text, "question")["inference"][1] == "not measured"
    checklist = table(text, "topic")
    assert "laplace, epsilon 3" in checklist["mechanism"][0]
    assert "delta" in checklist["implementation"][0]


def test_a_discrete_release_bounds_whole_texts(folder: Path) -> None:
    report = privatize("--mechanism", "staircase", "--epsilon", "2", "--length", "exact")
    epsilon = report["guarantee"]["epsilon"]
    text = explained()
    rows = table(text, "for")
    assert rows["the median text, 5 words"] == [rounded_up(5 * epsilon)]
    assert rows["the longest text, 9 words"] == [rounded_up(9 * epsilon)]
    sure = 100 / (1 + np.exp(-epsilon))
    found = re.search(r"single word can be denied: .* is at most ([\d.]+)% sure", text)
    assert found is not None
    assert sure <= float(found[1]) <= sure + 0.1
    assert "two texts of 5 words the bound is a factor of 22,027" in text  # not 2.203e+04
    assert "A text as a whole cannot" in text  # e^10: nothing is ruled out


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("--length", "5", "--set", "release=bag"), "out.csv"),
        (("--length", "5", "--set", "release=tf"), "out.jsonl"),
    ],
)
def test_one_bound_for_all_texts_of_a_fixed_size(
    folder: Path, arguments: tuple[str, ...], output: str
) -> None:
    report = privatize("--mechanism", "staircase", "--epsilon", "2", *arguments, output=output)
    text = explained()
    assert table(text, "for")["every text"] == [rounded_up(5 * report["guarantee"]["epsilon"])]
    assert "between two texts of 5 " in text


def test_a_release_from_a_pool(folder: Path) -> None:
    with (folder / "public.csv").open("w", newline="") as file:
        rows = [[f"{WORDS[i]} {WORDS[i + 1]} {WORDS[i + 2]}."] for i in range(50)]
        csv.writer(file).writerows([["text"], *rows])
    built = ["pool", "build", "public.csv", "-o", "p.pool", "--encoder", "small.ink"]
    done = CliRunner().invoke(app, built)
    assert done.exit_code == 0, done.output
    privatize("--pool", "p.pool", "--epsilon", "4")
    text = explained()
    assert table(text, "for")["every text"] == ["4"]
    assert "Unit of protection: one text" in text
    assert "single text can be denied" in text
    assert "at most 98.3% sure" in text
    assert "as a whole" not in text


def test_a_mechanism_without_a_guarantee_has_none(folder: Path) -> None:
    privatize("--mechanism", "angular-laplace", "-e", "3", "--set", "accept_no_guarantee=true")
    result = statement()
    assert result.exit_code == 0
    assert "There is no privacy guarantee:" in result.stdout
    assert "no figure bounds what this release shows" in result.stdout
    assert "equally likely" not in result.stdout
    assert "no privacy guarantee" in result.stderr


def test_releases_of_one_text_are_counted(folder: Path) -> None:
    one = privatize("--mechanism", "staircase", "--epsilon", "2", "--ledger", "ledger.db")
    two = privatize("--mechanism", "staircase", "--epsilon", "2", "--ledger", "ledger.db")
    losses = [report["ledger"]["largest_loss_of_a_record"] for report in (one, two)]
    assert losses[1] == pytest.approx(2 * losses[0])
    text = explained()
    assert "released up to 2 times" in text
    assert f"is at most {rounded_up(losses[1])} of a record" in text
    privatize("--mechanism", "staircase", "--epsilon", "2", "--ledger", "none")
    assert "No ledger was kept" in explained()


def test_the_page_is_for_its_owner_and_escaped(folder: Path) -> None:
    privatize("--mechanism", "laplace", "--epsilon", "3", "--keep-column", "<b>id")
    assert "<b>id" not in explained()
    assert statement("-o", "page.html").exit_code == 0
    assert statement("-o", "page.md").exit_code == 0
    page = Path("page.html").read_text()
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o600
    assert "&lt;b&gt;id" in page
    assert "<b>id" not in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert Path("page.md").read_text() == explained()


def test_words_that_were_copied_are_not_called_replaced(folder: Path) -> None:
    with Path("in.csv").open("a") as file:
        file.write("9,the of and zork " + " ".join(WORDS[:20]) + "\n")
    privatize("--mechanism", "staircase", "--epsilon", "1", "--keep", "stop-words")
    first = explained().split("\n\n")[1]
    assert "random draws, except what was copied (stop-words); " in first
    share = re.search(r"(\d+)% of the words, copied ones included", first)
    assert share is not None
    assert int(share[1]) >= 6  # 3 of 45, and some that stayed


def measured(report: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An evaluation of the report's release, as `inkblur evaluate` writes it."""
    suspects = {"authors": 20, "known": 80, "chance": 0.05}
    found = (
        attack(STATIC, 0.1, **suspects),
        attack(ADAPTIVE, 0.22, name="svm", **suspects),
        Measurement("author", "likelihood", "all", reason="left out"),
        Measurement("singling out", "", "originals found", value=interval(0.31), chance=0.02),
        Measurement("singling out", "", "traced", reason="one text"),
        Measurement("reading", "unigram", "words recovered", value=interval(0.12)),
        Measurement("reading", "unigram", "numbers recovered", value=interval(0.12)),
        Measurement("reading", "trigram", "words recovered", reason="no public texts"),
        labels(RELEASED, RELEASED, 0.7),
        labels(TRUE, RELEASED, 0.75),  # of who needs true texts: not what the statement says
    )
    before = attack(STATIC, 0.69, **suspects), labels(TRUE, TRUE, 0.9)
    settings = {**report["spec"], "columns": ["text"], **changes}
    body = {
        "data": {"texts": 1_200},
        "before": SettingResult("before", {}, None, (), before).to_json(),
        "settings": [SettingResult("s", settings, None, (), found).to_json()],
        "embedding": {"sha256": report["spec"]["embedding_sha256"]},
    }
    return json.loads(json.dumps(body))  # type: ignore[no-any-return]


def beside(evaluation: dict[str, Any]) -> Result:
    Path("evaluation.json").write_text(json.dumps(evaluation))
    return statement("--evaluation", "evaluation.json")


def test_what_was_measured_answers_the_three_questions(folder: Path) -> None:
    """And what was not measured is said with its reason."""
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    assert "evaluation of" not in explained()
    text = beside(measured(report)).stdout
    author = "22% of 40 texts (interval 17% to 27%) by the attack svm (adaptive), among 20 authors"
    assert f"{author}; guessing 5%, original texts 69%." in text
    answers = table(text, "question")
    assert answers["singling out"][1] == (
        "originals found: 0.31 (interval 0.26 to 0.36); guessing 0.02; traced: not measured "
        "(one text)"
    )
    assert author in answers["linkability"][1]
    missing = "; author identified by likelihood: not measured (left out)"
    assert answers["linkability"][1].endswith(missing)
    assert answers["inference"][1] == (
        "reading (unigram), words recovered: 0.12 (interval 0.07 to 0.17); reading (trigram), "
        "words recovered: not measured (no public texts)"
    )
    assert "F1 0.70 (svm, 40 texts, original texts 0.90)" in table(text, "topic")["utility"][0]
    # Six texts were released: whoever reads this must know that others may have been evaluated.
    assert "an evaluation of 1,200 texts with the settings of this release" in text


def test_an_older_evaluation_is_read_unless_it_names_an_attack_that_left(folder: Path) -> None:
    """It had a list for each kind of figure, and left some out without a word."""
    share = {"mean": 0.31, "low": 0.25, "high": 0.4, "values": [0.31], "over": "texts"}
    old: dict[str, Any] = {
        "attack": "svm",
        "scenario": "all",
        "attacker": "adaptive",
        "accuracy": share,
    }
    old |= {"f1": share, "chance": 0.05, "authors": 20, "known": 80, "attacked": 40, "strangers": 0}
    found = {"attack": "reading (unigram)", "measure": "words recovered", "value": share}
    score = {"model": "svm", "analyst": "adaptive", "f1": share, "tested": 40}
    body = measured(privatize("--mechanism", "laplace", "--epsilon", "3"))
    for each in (body["before"], *body["settings"]):
        del each["measurements"]
        each |= {"attacks": [old], "utility": [score]}
        each["disclosures"] = [{**found, "chance": None, "by_chance": ""}]
    body["before"]["utility"] = [{**score, "analyst": "static"}]
    body["settings"][0]["guarantee"] = {"epsilon": 3.0}
    text = beside(body).stdout
    answers = table(text, "question")
    for asked in ("singling out", "linkability", "inference"):
        assert "not measured (an older evaluation" in answers[asked][1]
    assert "31% of 40 texts" in answers["linkability"][1]
    assert "words recovered: 0.31" in answers["inference"][1]
    assert "F1 0.31 (svm, 40 texts" in text
    old["attack"] = "density"
    body["settings"][0]["attacks"] = [old]
    refused = beside(body)
    assert refused.exit_code == 1
    assert "the attack density, which this version does not have" in refused.stderr


def test_the_author_is_named_by_the_strongest_attack_before_and_after(folder: Path) -> None:
    """Untouched is what the strongest attack on true texts reached, whichever it was; and of two
    scenarios the one of the larger risk counts.
    """
    body = measured(privatize("--mechanism", "laplace", "--epsilon", "3"))
    pairs = {"scenario": "top-2", "authors": 2, "chance": 0.5}
    for each, kind, share in (
        (body["settings"][0], ADAPTIVE, 0.66),  # 16 points above chance, of 50: a risk of 0.32
        (body["before"], STATIC, 0.97),
        (body["before"], STATIC, 0.81),
    ):
        each["measurements"].append(attack(kind, share, **pairs).to_json())
    assert "among 2 authors; guessing 50%, original texts 97%." in beside(body).stdout


@pytest.mark.parametrize("changes", [{"epsilon": 4.0}, {"length": 7}, {"names": "keep"}])
def test_an_evaluation_of_another_release_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    result = beside(measured(privatize("--mechanism", "laplace", "--epsilon", "3"), **changes))
    assert result.exit_code == 1
    assert "no figures for this release (laplace, epsilon 3)" in result.stderr
    assert "Run `inkblur evaluate` with the options of the release" in result.stderr


@pytest.mark.parametrize(
    ("mechanism", "changes", "message"),
    [
        ("laplace", {"form": "content"}, "texts were shortened"),
        ("laplace", {"embedding": {"sha256": "0" * 64}}, "other word vectors"),
        # Its guarantee measures no distance, and so names no vectors.
        ("exponential", {"embedding": {"sha256": "0" * 64}}, "other word vectors"),
    ],
)
def test_an_evaluation_of_other_texts_or_vectors_is_refused(
    folder: Path, mechanism: str, changes: dict[str, Any], message: str
) -> None:
    result = beside(measured(privatize("--mechanism", mechanism, "--epsilon", "3")) | changes)
    assert result.exit_code == 1
    assert message in result.stderr


def older(report: dict[str, Any], *path: str) -> str:
    body = json.loads(json.dumps(report))
    place = body
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return json.dumps(body)


@pytest.mark.parametrize(
    "path",
    [
        ("guarantee",),
        ("ledger",),
        ("documents", "draws"),
        ("tokens", "unchanged_share"),
    ],
)
def test_older_reports_give_one_line(folder: Path, path: tuple[str, ...]) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    Path("report.json").write_text(older(report, *path))
    result = statement()
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert "run `inkblur privatize` again" in result.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("no json", (), "it is not JSON"),
        ("[1]", (), "holds no JSON object"),
        ("{}", ("-o", "page.pdf"), "a statement is .html or .md"),
        ("{}", ("--evaluation", "nowhere.json"), "No such file"),
    ],
)
def test_wrong_files_give_one_line(
    folder: Path, content: str, arguments: tuple[str, ...], message: str
) -> None:
    Path("report.json").write_text(content)
    result = statement(*arguments)
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert message in result.stderr


def test_the_example_in_the_docs_is_what_the_commands_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what differs from run to run: shares of words, and the release's name."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "ledger.db"))
    source = str(root / "examples" / "reviews.csv")
    asked = ["privatize", source, "-o", "out.csv", "--strength", "strong"]
    asked += ["--keep-column", "stars", "--report", "report.json"]
    assert CliRunner().invoke(app, asked).exit_code == 0

    def lasting(page: str) -> list[str]:
        plain = re.sub(r"\d+%|release [0-9a-f]{8}|^#+", "", page, flags=re.MULTILINE)
        return [line.strip() for line in plain.splitlines() if line.strip()]

    page = (root / "docs" / "privacy-officer.md").read_text(encoding="utf-8")
    _, _, example = page.partition("\n---\n")
    beginning = lasting(example)
    assert len(beginning) > 20
    assert beginning == lasting(explained())[1 : len(beginning) + 1]  # without the title
