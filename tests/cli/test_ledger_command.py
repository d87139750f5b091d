"""`inkblur ledger`: the account from the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

from inkblur.cli.app import app
from inkblur.cli.console import print_table
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.ledger import Charge, micros, open_ledger
from tests.ledger.stores import write_first_version


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = str(tmp_path / "ledger.db")
    with open_ledger(path) as ledger:
        spec = {"spec": {"mechanism": "staircase"}}
        with ledger.open_release(spec, draw="k") as release:
            release.charge([Charge("1", "text", "words", 12, micros(8.0, 12), "ada")])
            release.confirm()
    return path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["ledger", *arguments])
    return result.exit_code, result.output


def test_show_spent_and_export(place: str) -> None:
    code, output = run("show", place)
    assert code == 0
    for word in ("staircase", "confirmed", "96", "12"):
        assert word in output
    assert run("spent", "ada", place)[1].startswith("96\n")
    assert "nothing was released" in run("spent", "bob", place)[1]
    assert len(run("export", place)[1].splitlines()) == 2


def test_a_narrow_terminal_cuts_no_figure(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for words in (["ledger", "show", place], ["mechanisms"]):
        output = CliRunner().invoke(app, words).stdout
        assert "…" not in output
        assert len(output.splitlines()[0]) == 40


@pytest.mark.parametrize("width", range(72, 120, 3))
def test_a_table_of_many_columns_breaks_no_word_where_they_all_fit(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    heads = ("classifier", "texts", "trained on", "accuracy", "F1", "of before")
    words = ("naive-bayes", "staircase, epsilon 8", "released texts", "1,234,567", "0.722", "73%")
    table = Table(*heads)
    table.add_row(*words)
    print_table(table)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    shown = {word for line in lines for word in re.findall(r"[^\s│┃]+", line)}
    assert shown >= set(" ".join((*heads, *words)).split())


def test_verify_tells_a_changed_ledger(place: str) -> None:
    anchor = run("anchor", place)[1].strip()
    assert run("verify", "--anchor", anchor, place)[0] == 0
    with open_ledger(place) as ledger:
        ledger.store.run("UPDATE charge SET amount = 0")
    code, output = run("verify", place)
    assert code == 1
    assert "was changed" in output


def test_verify_without_a_true_anchor_raises_no_alarm(place: str) -> None:
    for wrong in ("zzz", "9" * 5000 + ":00", "1:"):
        code, output = run("verify", "--anchor", wrong, place)
        assert code == 1
        assert output.startswith("error: ")
        assert "is not an anchor" in output


@pytest.mark.parametrize(
    "command", [["show"], ["verify"], ["anchor"], ["export"], ["spent", "ada"], ["confirm", "9f"]]
)
def test_looking_makes_no_ledger(tmp_path: Path, command: list[str]) -> None:
    code, output = run(*command, str(tmp_path / "mistyped.db"))
    assert code == 1
    assert "there is no ledger" in output
    assert "there is no ledger" in output
    assert not list(tmp_path.iterdir())


def test_what_is_no_ledger_has_lost_no_secret(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text("id,text\n1,hello\n")
    for name in ("posts.csv", ""):
        code, output = run("show", str(tmp_path / name))
        assert code == 1
        assert "is not a ledger" in output


def test_a_secret_that_cannot_be_read_is_one_line(place: str) -> None:
    secret = Path(place + ".secret")
    secret.unlink()
    secret.mkdir(mode=0o700)
    code, output = run("show", place)
    assert code == 1
    assert "cannot read the ledger's secret" in output


def test_another_database_is_not_taken_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="no mysql:// URL"):
        open_ledger("mysql://ada:hidden@host/ledger")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["", ".", "/", "-"])
def test_a_ledger_without_a_name_is_one_line(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="a ledger is a file"):
        open_ledger(place)
    monkeypatch.setenv("INKBLUR_LEDGER", place)
    code, output = run("show")
    assert code == 1
    assert output.startswith("error: a ledger is a file")


def test_a_reserved_release_is_confirmed_by_how_its_name_begins(place: str) -> None:
    with open_ledger(place) as ledger:
        (confirmed,) = [entry["release"] for entry in ledger.history()]
        name = ledger.open_release({}, draw="k").release
    assert "inkblur ledger confirm" in " ".join(run("show", place)[1].split())
    code, output = run("confirm", confirmed, place)
    assert (code, "not reserved" in output) == (1, True)
    assert run("confirm", "x", place)[0] == 1
    assert run("confirm", name[:8], place)[0] == 0
    with open_ledger(place) as ledger:
        assert [entry["state"] for entry in ledger.history()] == ["confirmed"] * 2
        assert ledger.verify() == []


def test_what_an_earlier_version_measured_by_distance_is_converted(tmp_path: Path) -> None:
    table = Embedding(["waa", "wab", "wac"], [[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]], name="three")
    write_store(tmp_path / "three.ink", table)
    place, at = str(tmp_path / "old.db"), f"on {table.sha256[:12]}, sequence, per unit of distance"
    spaces = [f"euclidean {at}", f"mahalanobis (lambda 0.5) {at}", "euclidean on 0123456789ab, x"]
    write_first_version(
        place,
        [(space, str(n), "x", f"p{n}", "key a", 2_000_000) for n, space in enumerate(spaces)],
    )
    assert "inkblur ledger migrate" in " ".join(run("show", place)[1].split())
    code, output = run("migrate", "--embedding", str(tmp_path / "three.ink"), place)
    assert (code, output.count("converted"), output.count("left as it is")) == (0, 2, 1)
    with open_ledger(place) as ledger:
        assert micros(2.0 * 5) <= ledger.spent("p0").amount <= micros(2.0 * 6)
        assert ledger.spent("p0").amount != ledger.spent("p1").amount
        assert [ledger.spent(f"p{n}").unbounded for n in range(3)] == [False, False, True]
        assert ledger.verify() == []
    assert "besides" in run("spent", "p2", place)[1]


def test_the_largest_loss_is_that_of_a_record_and_of_a_person(place: str) -> None:
    """A sum over different people says nothing about any of them."""
    with open_ledger(place) as ledger, ledger.open_release({}, draw="k") as release:
        release.charge([Charge("2", "text", "words", 3, micros(8.0, 3), "ada")])
        release.charge([Charge("3", "text", "words", 4, micros(8.0, 4), "bob")])
        release.confirm()
    output = run("show", place)[1]
    assert "largest loss of a record, all releases together: 96\n" in output
    assert "largest loss of a person, all releases together: 120\n" in output
