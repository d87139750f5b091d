"""`inkblur embeddings`: data on standard output, talk on standard error, errors in one line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import inkblur
from inkblur import load_embedding
from inkblur.cli.app import app
from tests.embeddings.vector_files import as_text, packed, sample


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["embeddings", *map(str, arguments)])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    packed(tmp_path / "glove.txt", as_text(*sample(20, 3)) + b"w3 1 2 3\n")
    return tmp_path


def test_import_then_info_then_list() -> None:
    done = run("import", "glove.txt", "mine.ink", "--limit", "10")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("mine.ink: 10 words x 3, 0 duplicates dropped, mean norm ")

    facts = json.loads(run("info", "mine", "--json").stdout)
    table = load_embedding("mine")
    assert facts["name"] == "glove"
    assert (facts["words"], facts["dimension"], facts["sha256"]) == (10, 3, table.sha256)
    assert facts["provenance"]["source"] == "glove.txt"
    shown = run("info", "mine.ink").stdout
    assert "words       10\n" in shown
    assert run("list").stdout.splitlines()[-1].split() == ["mine", "10", "3"]


def test_duplicates_and_odd_words_are_reported() -> None:
    done = run("import", "glove.txt", "mine.ink")
    assert "20 words x 3, 1 duplicate dropped" in done.stderr
    words, vectors = sample(200)
    words[5] = b"\xff"
    packed(Path("odd.txt"), as_text(words, vectors))
    assert "1 word that is not UTF-8 was left out" in run("import", "odd.txt", "o.ink").stderr


def test_a_broken_store_does_not_hide_the_others() -> None:
    run("import", "glove.txt", "mine.ink")
    Path("broken.ink").write_bytes(b"ARROW1\0\0 and no more")
    done = run("list")
    assert done.exit_code == 0
    assert "mine" in done.stdout
    assert "left out: broken.ink is not a readable .ink file" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "missing.txt", "x.ink"], "no such file or embedding: missing.txt"),
        (["import", ".", "x.ink"], ". is a directory"),
        (["import", "glove.txt", "x.txt"], "must end in .ink"),
        (["import", "glove.txt", "no/x.ink"], "no such directory: no"),
        (["import", "glove.txt", "x.ink", "--limit", "0"], "limit must be a whole number"),
        (["import", "glove.txt", "x.ink", "--vocabulary", "bad.txt"], "only 0 of the 3 words in"),
        (["import", "bad.txt", "x.ink"], "line 1 of bad.txt is not a word followed by numbers"),
        (["import", "empty.txt", "x.ink"], "empty.txt is empty"),
        (["info", "bad[0].txt"], "line 2 of bad[0].txt has 1 number, expected 2"),
        (["info", "missing"], "no such file or embedding: missing"),
        (["list", "missing"], "no such directory: missing"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    here: Path, arguments: list[str], message: str
) -> None:
    (here / "bad.txt").write_text("some\nplain\nprose\n")
    (here / "bad[0].txt").write_text("a 1 2\nb 3\nc 4 5\n")
    (here / "empty.txt").touch()
    before = sorted(path.name for path in here.iterdir())
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == before


def test_a_terminal_sees_progress() -> None:
    packed(Path("big.txt"), as_text(*sample(3_000, 20)))
    main, child = pty.openpty()
    command = [sys.executable, "-c", "from inkblur.cli import main; main()"]
    started = subprocess.Popen(
        [*command, "embeddings", "import", "big.txt", "big.ink"],
        stderr=child,
        stdout=child,
        env={**os.environ, "PYTHONPATH": str(Path(inkblur.__file__).resolve().parents[1])},
    )
    os.close(child)
    seen = b""
    while True:
        try:
            block = os.read(main, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(main)
    assert started.wait() == 0
    assert b"importing" in seen
    assert b"MB/s" in seen
    assert b"3,000 words x 20" in seen
