"""`inkblur embeddings adapt`: an .ink file out, which info and privatize understand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from inkblur import load_embedding
from inkblur.cli.app import app

VECTORS = "goal 0 1\nteam 0 2\nvote 5 1\nlaw 5 2\nbread 9 9\n"
ROWS = [
    ("goal team", "sport", "loud"),
    ("Team! Goal...", "sport", "quiet"),
    ("vote law", "politics", "loud"),
    ("law, bread", "politics", ""),
    ("", "politics", "loud"),
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def adapt(*more: str) -> Result:
    given = ["--corpus", "public.csv", "--label", "topic", "-o", "topic.ink"]
    return run("embeddings", "adapt", "glove.txt", *given, *more)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "glove.txt").write_text(VECTORS)
    lines = ["text,topic,tone", *(f'"{text}",{topic},{tone}' for text, topic, tone in ROWS)]
    (tmp_path / "public.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_adapt_then_info_then_privatize() -> None:
    done = adapt("--label", "tone")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("topic.ink: 5 words x 4\n")
    assert "corpus: 4 texts (1 more without a label or a known word)" in done.stderr

    shown = run("embeddings", "info", "topic").stdout
    told = load_embedding("topic").adaptations[0]
    assert f"adapted     base: glove, sha256 {load_embedding('glove.txt').sha256}\n" in shown
    assert told.corpus_sha256 in shown
    assert "beta 3, smoothing 10; 5 words have a profile" in shown
    assert "column: topic, 2 labels (politics 2, sport 2)" in shown
    facts = json.loads(run("embeddings", "info", "topic", "--json").stdout)
    assert facts["provenance"]["adapted"] == [told.to_json()]

    Path("mine.txt").write_text("a vote on bread\n")
    how = ["-m", "laplace", "--epsilon", "3", "--set", "embedding=topic.ink"]
    done = run("privatize", "mine.txt", *how, "-o", "out.txt", "--report", "report.json")
    assert done.exit_code == 0, done.output
    metric = "x word vector of glove ; 3 x profile of 2 labels 'topic' and profile of 2 labels"
    assert metric in done.stderr
    report = json.loads(Path("report.json").read_text())
    assert metric in report["guarantee"]["reveals"][0]
    assert report["embedding"]["adapted"] == [told.to_json()]


def test_privatize_by_label_and_again_from_its_report() -> None:
    assert adapt().exit_code == 0
    Path("mine.txt").write_text("a vote on bread\n")
    how = ["--epsilon", "3", "--set", "near=label", "--report", "report.json"]
    done = run("privatize", "mine.txt", "--set", "embedding=topic.ink", *how, "-o", "out.txt")
    assert done.exit_code == 0, done.output
    assert "at most 20.09 times as likely" in done.stderr
    spec = json.loads(Path("report.json").read_text())["spec"]
    assert spec["parameters"]["near"] == "label"
    assert spec["parameters"].get("tau") is None  # so that the same spec is not refused
    done = run("privatize", "mine.txt", "--spec", "report.json", "-o", "again.txt")
    assert done.exit_code == 0, done.output
    done = run("privatize", "mine.txt", "--set", "embedding=glove.txt", *how, "-o", "no.txt")
    assert done.exit_code == 1
    assert "glove knows no label" in done.stderr
    assert "leave out --set near=" in done.stderr


def test_privatize_refuses_a_text_of_the_corpus_and_leaves_nothing(here: Path) -> None:
    assert adapt().exit_code == 0
    Path("mine.csv").write_text("text\nvote\nThe vote: a law\n")
    before = sorted(path.name for path in here.iterdir())
    how = ["-m", "laplace", "--epsilon", "3", "--set", "embedding=topic.ink"]
    for release in (["--set", "release=sequence"], ["--set", "release=bag"]):
        done = run("privatize", "mine.csv", *how, *release, "-o", "out.csv")
        assert done.exit_code == 1
        assert "line 3 has the same content words as a text of the public corpus" in done.stderr
    tf = ["--set", "embedding=topic.ink", "--set", "release=tf", "--length", "4", "--epsilon", "3"]
    assert "line 3 has the same" in run("privatize", "mine.csv", *tf, "-o", "out.npz").stderr
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_strength_is_refused() -> None:
    assert adapt().exit_code == 0
    Path("mine.txt").write_text("a vote on bread\n")
    done = run("privatize", "mine.txt", "--strength", "medium", "--set", "embedding=topic.ink")
    assert done.exit_code == 1
    assert "give --epsilon" in " ".join(done.stderr.split())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_missing_text_column_names_the_option_of_this_command(suffix: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(f"other.{suffix}")
    if suffix == "parquet":
        pq.write_table(pa.table({"a": ["b"], "topic": ["c"]}), str(path))
    else:
        comma = "\t" if suffix == "tsv" else ","
        rows = '{"a": "b", "topic": "c"}\n' if suffix == "jsonl" else f"a{comma}topic\nb{comma}c\n"
        path.write_text(rows)
    done = adapt("--corpus", str(path))
    assert done.exit_code == 1
    assert done.stderr.endswith("choose with --column\n")
    done = run("privatize", str(path), "--epsilon", "3", "-o", f"out.{suffix}")
    header = (
        ", or add --set no_header=true if that line is a record" if suffix in ("csv", "tsv") else ""
    )
    assert done.stderr.endswith(f"choose with --column{header}\n")


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet"])
def test_a_corpus_in_another_format_gives_the_same(suffix: str) -> None:
    assert adapt().exit_code == 0
    expected = load_embedding("topic").sha256
    names = ("text", "topic", "tone")
    path = Path(f"public.{suffix}")
    if suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(
            pa.table({n: [row[i] for row in ROWS] for i, n in enumerate(names)}), str(path)
        )
    elif suffix == "tsv":
        path.write_text("\n".join("\t".join(row) for row in [names, *ROWS]) + "\n")
    else:
        records = (json.dumps(dict(zip(names, row, strict=True))) for row in ROWS)
        path.write_text("\n".join(records) + "\n")
    assert adapt("--corpus", str(path)).exit_code == 0
    assert load_embedding("topic").sha256 == expected


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--label", "mood"], "public.csv has no column 'mood' among '"),
        (
            ["--column", "body"],
            "the first line of public.csv has no column 'body' among '",
        ),
        (["--column", "topic"], "'topic' is the text column"),
        (["--corpus", "missing.csv"], "no such file: missing.csv"),
        (["--corpus", "glove.txt"], "glove.txt has no columns"),
        (["--corpus", "foreign.csv"], "no text of the corpus has a word that glove knows"),
        (["--corpus", "single.csv"], "the column 'topic' has 1 label"),
        (["-o", "topic.txt"], "must end in .ink"),
        (["-o", "no/topic.ink"], "no such directory: no"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(here: Path, more: list[str], message: str) -> None:
    (here / "foreign.csv").write_text("text,topic\nxyzzy,a\nplugh,b\n")
    (here / "single.csv").write_text("text,topic\ngoal,a\nlaw,a\n")
    before = sorted(path.name for path in here.iterdir())
    done = adapt(*more)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == before


def test_the_base_is_never_overwritten() -> None:
    assert run("embeddings", "import", "glove.txt", "topic.ink").exit_code == 0
    given = ["--corpus", "public.csv", "--label", "topic", "-o", "topic.ink"]
    done = run("embeddings", "adapt", "topic.ink", *given)
    assert done.exit_code == 1
    assert "is the source itself" in done.stderr
