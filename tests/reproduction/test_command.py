"""`python -m reproduction` runs, resumes, shows and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.experiments import EXPERIMENTS
from reproduction.runner import held_records
from tests.reproduction.made import NAME, Made


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in EXPERIMENTS)


def test_verdicts_go_to_standard_output(
    tmp_path: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([NAME, "--data", str(tmp_path), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"holds  {NAME}  rises\n"
    assert (out / "reproduction.md").is_file()
    assert (out / "records" / "made-up.json").is_file()


def test_a_stopped_run_says_how_to_go_on(
    tmp_path: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    made.stop_at = "b"
    words = [NAME, "--data", str(tmp_path), "-o", str(tmp_path / "out")]
    assert main(words) == 130
    assert "the same command goes on" in capsys.readouterr().err
    made.stop_at = None
    assert main(words) == 0
    assert made.done == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["made/down"], "unknown experiment"),
        ([], "name an experiment"),
        (["thesis/topics", "--data", "no-such-folder"], "does not exist"),
        (["thesis/topics", "--records", "none"], "leave out the experiments"),
        (["--records", "none"], "holds no records"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path), *words]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_the_document_is_made_again_without_measuring(tmp_path: Path, made: Made) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    assert main([NAME, "--data", str(tmp_path), "-o", str(first)]) == 0
    done = list(made.done)
    assert main(["--records", str(first), "-o", str(again)]) == 0
    assert made.done == done
    assert (again / "reproduction.md").read_text() == (first / "reproduction.md").read_text()
    assert held_records(first)
