"""`python -m reproduction` runs, resumes, shows and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from reproduction.__main__ import reproduce
from reproduction.experiments import EXPERIMENTS
from reproduction.runner import held_records
from tests.reproduction.made import NAME, Made

app = typer.Typer()
app.command()(reproduce)


def test_the_list_names_every_experiment() -> None:
    result = CliRunner().invoke(app, ["--list"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert all(name in result.output for name in EXPERIMENTS)


def test_verdicts_go_to_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Made(monkeypatch)
    out = tmp_path / "out"
    words = [NAME, "--data", str(tmp_path), "-o", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"holds  {NAME}  rises\n"
    assert (out / "reproduction.html").is_file()
    assert (out / "records" / "made-up.json").is_file()


def test_a_stopped_run_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    made.stop_at = "b"
    words = [NAME, "--data", str(tmp_path), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 130
    assert "the same command goes on" in " ".join(result.stderr.split())
    made.stop_at = None
    result = CliRunner().invoke(app, [*words, "--finished"])  # measures nothing
    assert result.exit_code == 0, result.output
    assert made.done == ["a"]
    assert result.stdout == ""
    assert CliRunner().invoke(app, words).exit_code == 0
    assert made.done == ["a", "b"]
    result = CliRunner().invoke(app, [*words, "--finished"])
    assert result.stdout == f"holds  {NAME}  rises\n"
    assert made.done == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["made/down"], "unknown experiment"),
        ([], "name an experiment"),
        (["thesis/topics", "--data", "no-such-folder"], "does not exist"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, words, env={"INKBLUR_DATA": ""})
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_the_page_of_several_folders_is_made_without_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(monkeypatch)
    for folder, seed in (("first", "1"), ("second", "2")):
        words = [NAME, "--data", str(tmp_path), "-o", str(tmp_path / folder), "--seed", seed]
        assert CliRunner().invoke(app, words).exit_code == 0
    measured = list(made.done)
    out = tmp_path / "out"
    words = [w for folder in ("first", "second") for w in ("--records", str(tmp_path / folder))]
    result = CliRunner().invoke(app, [*words, "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert made.done == measured
    text = (out / "reproduction.md").read_text()
    (second,) = held_records(tmp_path / "second")
    assert f"measured on {second.days[0]} (UTC), seed 2," in text
    assert "seed 1," not in text
    assert text == (tmp_path / "second" / "reproduction.md").read_text()
    for wrong, said in ((["thesis/topics"], "leave out the experiments"), ([], "holds no records")):
        result = CliRunner().invoke(app, ["--records", str(tmp_path / "none"), *wrong])
        assert result.exit_code == 1
        assert said in result.stderr
