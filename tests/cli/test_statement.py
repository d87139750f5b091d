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
from inkblur.evaluation.reports.statement import _UNITS, make_statement, markdown
from inkblur.evaluation.results import Interval, Measurement, SettingResult, UtilityResult
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.types import Unit

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
LENGTHS = [0, 0, 3, 5, 5, 9]  # words of the texts: the median of those with any is 5
JUDGMENTS = "strong weak safe secure good bad low high robust anonymous private excellent"


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
    fixed = ["in.csv", "-o", output, "--embedding", "small.ink", "--report", "report.json"]
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
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
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
    assert [table(text, "question")[name][1] for name in ("singling out", "inference")] == [
        "not measured",
        "not measured",
    ]
    checklist = table(text, "topic")
    assert list(checklist) == [
        "unit of privacy",
        "trust model",
        "composition",
        "mechanism",
        "utility",
        "implementation",
    ]
    assert "laplace, epsilon 3" in checklist["mechanism"][0]
    assert "delta" in checklist["implementation"][0]


def test_a_discrete_release_bounds_whole_texts(folder: Path) -> None:
    report = privatize("--mechanism", "staircase", "--epsilon", "2")
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


def test_one_word_is_counted_in_the_singular(folder: Path) -> None:
    (folder / "in.csv").write_text(f"id,text\n1,{WORDS[0]}\n")
    privatize("--mechanism", "staircase", "--epsilon", "2")
    rows = table(explained(), "for")
    assert [*rows][1:3] == ["the median text, 1 word", "the longest text, 1 word"]
    privatize("--mechanism", "staircase", "--epsilon", "2", "--length", "1")
    assert "cut or filled to 1 word." in explained()


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("--length", "5", "--release", "bag"), "out.csv"),
        (("--length", "5", "--release", "tf"), "out.jsonl"),
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
    built = ["pool", "build", "public.csv", "-o", "p.pool", "--embedding", "small.ink"]
    done = CliRunner().invoke(app, built)
    assert done.exit_code == 0, done.output
    privatize("--unit", "text", "--pool", "p.pool", "--epsilon", "4")
    text = explained()
    assert table(text, "for")["every text"] == ["4"]
    assert "Unit of protection: one text" in text
    assert "single text can be denied" in text
    assert "at most 98.3% sure" in text
    assert "as a whole" not in text


def test_a_seeded_run_has_no_guarantee(folder: Path) -> None:
    privatize("--mechanism", "laplace", "--epsilon", "3", "--seed", "7")
    result = statement()
    assert result.exit_code == 0
    assert "There is no privacy guarantee: not private: seeded." in result.stdout
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
    privatize("--mechanism", "staircase", "--epsilon", "2", "--no-ledger")
    assert "No ledger was kept" in explained()


@pytest.mark.parametrize("mechanism", ["laplace", "staircase"])
def test_no_adjective_stands_for_a_number(folder: Path, mechanism: str) -> None:
    privatize("--mechanism", mechanism, "--epsilon", "2")
    words = set(re.findall(r"[a-z]+", explained().lower()))
    assert not words & set(JUDGMENTS.split())


def test_every_unit_is_explained() -> None:
    assert {unit.value for unit in Unit} <= set(_UNITS)


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

    def share(value: float) -> Interval:
        return Interval(value, value - 0.05, value + 0.05, (value,))

    def attacks(value: float) -> tuple[Measurement, ...]:
        return tuple(
            Measurement(
                "author",
                name,
                "all",
                attacker,
                value=share(accuracy),
                chance=0.05,
                authors=20,
                attacked=40,
            )
            for name, attacker, accuracy in (("koppel", "static", 0.1), ("svm", "adaptive", value))
        )

    def scores(value: float) -> tuple[UtilityResult, ...]:
        # Higher for one who studied true texts: the evaluation begins with the other.
        return tuple(
            UtilityResult("svm", analyst, mean, mean, mean, mean, 80, 40, 2, 0)
            for analyst, mean in (("adaptive", share(value)), ("static", share(value + 0.05)))
        )

    settings = {**report["spec"], "columns": ["text"], **changes}
    guarantee = Guarantee.from_json(report["guarantee"])
    found = Interval(0.31, 0.25, 0.4, (0.31,))
    said = Interval(0.12, 0.1, 0.15, (0.12,))
    others = (
        Measurement("singling out", "", "originals found among 50", value=found, chance=0.02),
        Measurement("reading", "unigram", "words recovered", value=said),
        Measurement("reading", "unigram", "numbers recovered", value=said),
    )
    after = SettingResult(
        "s", settings, guarantee, (), share(0.4), (*attacks(0.22), *others), scores(0.7), None
    )
    before = SettingResult("before", {}, None, (), None, attacks(0.69), scores(0.9), None)
    made: dict[str, Any] = {"data": {"texts": 1_200}}
    made |= {"before": before.to_json(), "settings": [after.to_json()]}
    made["embedding"] = {"sha256": report["spec"]["embedding_sha256"]}
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def test_what_was_measured_answers_the_three_questions(folder: Path) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    Path("evaluation.json").write_text(json.dumps(measured(report)))
    text = explained("--evaluation", "evaluation.json")
    author = "22% of 40 texts (interval 17% to 27%) by the attack svm (adaptive), among 20 authors"
    assert f"{author}; guessing 5%, original texts 69%." in text
    answers = table(text, "question")
    assert answers["singling out"][1] == (
        "originals found among 50: 0.31 (interval 0.25 to 0.40); guessing 0.02"
    )
    assert author in answers["linkability"][1]
    assert answers["inference"][1] == (
        "reading (unigram), words recovered: 0.12 (interval 0.10 to 0.15)"
    )
    assert "F1 0.70 (svm, 40 texts, original texts 0.90)" in table(text, "topic")["utility"][0]


def test_what_was_not_measured_is_said_with_its_reason(folder: Path) -> None:
    """Attacks that had been left out were missing, or stood there as 0.00."""
    body = measured(privatize("--mechanism", "laplace", "--epsilon", "3"))
    body["settings"][0]["measurements"] += [
        Measurement("author", "svm", "all", reason="left out").to_json(),
        Measurement("singling out", "", "traced", reason="one text").to_json(),
        Measurement("reading", "trigram", "words recovered", reason="no public texts").to_json(),
    ]
    Path("evaluation.json").write_text(json.dumps(body))
    answers = table(explained("--evaluation", "evaluation.json"), "question")
    assert answers["singling out"][1].endswith("; traced: not measured (one text)")
    assert answers["linkability"][1].endswith("; author identified by svm: not measured (left out)")
    assert (
        "reading (trigram), words recovered: not measured (no public texts)"
        in (answers["inference"][1])
    )


def test_an_evaluation_of_an_older_version_is_refused(folder: Path) -> None:
    body = measured(privatize("--mechanism", "laplace", "--epsilon", "3"))
    del body["settings"][0]["measurements"]
    Path("evaluation.json").write_text(json.dumps(body))
    result = statement("--evaluation", "evaluation.json")
    assert result.exit_code == 1
    assert "run `inkblur evaluate` again" in result.stderr


def test_which_texts_were_evaluated_is_said(folder: Path) -> None:
    """Six texts were released; an evaluation of others with the same settings is no lie, but the
    reader must know.
    """
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    assert "evaluation of" not in explained()
    Path("evaluation.json").write_text(json.dumps(measured(report)))
    text = explained("--evaluation", "evaluation.json")
    assert "an evaluation of 1,200 texts with the settings of this release" in text
    assert "Whether they are the released texts was not checked" in text


def test_the_author_is_named_by_the_strongest_attack_before_and_after(folder: Path) -> None:
    """Untouched is what the strongest attack on true texts reached, whichever it was; and of two
    scenarios the one of the larger risk counts.
    """
    body = measured(privatize("--mechanism", "laplace", "--epsilon", "3"))
    body["before"]["measurements"][0]["value"]["mean"] = 0.81  # koppel; svm 0.69
    found = body["settings"][0]["measurements"]
    pairs = {**found[1], "scenario": "top-2", "authors": 2, "chance": 0.5}
    pairs["value"] = {**found[1]["value"], "mean": 0.66}
    found.append(pairs)  # 16 points above chance, of 50: a risk of 0.32; before 0.17 of 0.95
    body["before"]["measurements"].append({**pairs, "value": {**pairs["value"], "mean": 0.97}})
    Path("evaluation.json").write_text(json.dumps(body))
    text = explained("--evaluation", "evaluation.json")
    assert "among 2 authors; guessing 50%, original texts 97%." in text
    found.pop()
    Path("evaluation.json").write_text(json.dumps(body))
    text = explained("--evaluation", "evaluation.json")
    assert "among 20 authors; guessing 5%, original texts 81%." in text


@pytest.mark.parametrize(
    "changes", [{"weighting": "tf-idf", "reference": "public.txt"}, {"reference": "public.txt"}]
)
def test_an_evaluation_of_other_vectors_of_terms_is_refused(
    folder: Path, changes: dict[str, Any]
) -> None:
    how = ("--release", "tf", "--length", "4", "--epsilon", "3", "--mechanism", "staircase")
    report = privatize(*how, output="out.jsonl")
    Path("evaluation.json").write_text(json.dumps(measured(report)))
    assert "22% of 40 texts" in explained("--evaluation", "evaluation.json")
    Path("evaluation.json").write_text(json.dumps(measured(report, **changes)))
    result = statement("--evaluation", "evaluation.json")
    assert result.exit_code == 1
    assert re.search(
        r"no figures for this release \(staircase, epsilon 3.*tf, length 4\)", result.stderr
    )


@pytest.mark.parametrize("changes", [{"epsilon": 4.0}, {"length": 7}, {"names": "keep"}])
def test_an_evaluation_of_another_release_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    Path("evaluation.json").write_text(json.dumps(measured(report, **changes)))
    result = statement("--evaluation", "evaluation.json")
    assert result.exit_code == 1
    assert "no figures for this release (laplace, epsilon 3)" in result.stderr
    assert "Run `inkblur evaluate` with the options of the release" in result.stderr


@pytest.mark.parametrize("shortened", [{"form": "content"}, {"proper_nouns_redacted": True}])
def test_an_evaluation_of_shortened_texts_is_refused(
    folder: Path, shortened: dict[str, Any]
) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    Path("evaluation.json").write_text(json.dumps(measured(report) | shortened))
    result = statement("--evaluation", "evaluation.json")
    assert result.exit_code == 1
    assert "texts were shortened" in result.stderr


@pytest.mark.parametrize("mechanism", ["laplace", "staircase", "exponential"])
def test_an_evaluation_with_other_vectors_is_refused(folder: Path, mechanism: str) -> None:
    """Also of a mechanism whose guarantee measures no distance, and so names no vectors."""
    body = measured(privatize("--mechanism", mechanism, "--epsilon", "3"))
    body["embedding"]["sha256"] = "0" * 64
    Path("evaluation.json").write_text(json.dumps(body))
    result = statement("--evaluation", "evaluation.json")
    assert result.exit_code == 1
    assert "other word vectors" in result.stderr


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
        ("guarantee", "metric"),
        ("ledger",),
        ("spec",),
        ("documents", "draws"),
        ("columns",),
        ("bound_at_typical_distances",),
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


def test_python_makes_the_same(folder: Path) -> None:
    report = privatize("--mechanism", "laplace", "--epsilon", "3")
    assert markdown(make_statement(report)) == explained()


def test_the_example_in_the_docs_is_what_the_commands_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what differs from run to run: shares of words, and the release's name."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "ledger.db"))
    source = str(root / "examples" / "reviews.csv")
    asked = [
        "privatize",
        source,
        "-o",
        "out.csv",
        "--strength",
        "strong",
        "--keep-column",
        "stars",
        "--report",
        "report.json",
    ]
    assert CliRunner().invoke(app, asked).exit_code == 0

    def lasting(page: str) -> list[str]:
        plain = re.sub(r"\d+%|release [0-9a-f]{8}|^#+", "", page, flags=re.MULTILINE)
        return [line.strip() for line in plain.splitlines() if line.strip()]

    page = (root / "docs" / "privacy-officer.md").read_text(encoding="utf-8")
    _, _, example = page.partition("\n---\n")
    assert lasting(example) == lasting(explained())[1:]  # without the title
