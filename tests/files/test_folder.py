from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from inkblur.arrow import one_batch, release
from inkblur.cli.app import app
from inkblur.errors import BudgetExceeded, InputError, OutputError, ParameterError
from inkblur.files.doors import open_sink
from inkblur.files.folder import privatize_folder
from inkblur.files.formats import is_folder
from inkblur.files.records import Source
from inkblur.ledger import Ledger, open_ledger
from inkblur.release import Limits
from inkblur.rng import keyed_rng, read_key, secure_rng, write_key
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged, rows
from tests.files.passing import through

SPEC = ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id", "stars"))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    write_key(path)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sixty rows in three files, two of them in partitions."""
    folder = tmp_path / "data"
    for start, name in ((0, "a.parquet"), (20, "year=2025/b.parquet"), (40, "year=2026/c.parquet")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(60).slice(start, 20), path)
    (folder / "_SUCCESS").touch()
    return folder


def written(out: Path) -> pa.Table:
    files = sorted(out.rglob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(file).read() for file in files]).sort_by("id")


def test_a_folder_comes_out_as_from_an_engine(data: Path, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_ledger(tmp_path / "ledger.db") as ledger:
        summary = privatize_folder(data, out, SPEC, rng=keyed_rng(read_key(key)), ledger=ledger)
        assert summary is not None
        assert summary.documents == 60
        assert [entry["state"] for entry in ledger.history()] == ["confirmed"]
    assert written(out) == pa.Table.from_batches(
        [release(one_batch(rows(60)), SPEC, key_file=key, ledger=False)]
    )
    assert summary.fate.telling.keys() == {"id"}
    assert "which texts lie in one file" in " ".join(summary.guarantee.lines())
    (out / "notes.txt").write_text("not of this run")
    with pytest.raises(OutputError, match=r"holds notes\.txt"):
        privatize_folder(data, out, SPEC, rng=keyed_rng(read_key(key)), ledger=False)


def test_the_guarantee_names_what_any_of_the_files_shows(key: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.jsonl").write_text('{"id": 1, "age": 71, "text": "the doctor was angry"}\n')
    (data / "b.csv").write_text("id,age,text\n2,60,so was I\n")
    rng, spec = keyed_rng(read_key(key)), SPEC.varied(keep_columns=("id", "age"), length="exact")
    summary = privatize_folder(data, tmp_path / "out", spec, rng=rng, ledger=False)
    assert summary is not None
    assert '"age": 71' in (tmp_path / "out" / "part-00001.jsonl").read_text()
    for shown in ("'age', copied as is", "missing (null)"):
        assert any(shown in line for line in summary.guarantee.passed)
    assert summary.fate.copied == ("id", "age")


def test_a_pattern_chooses_files(data: Path, key: Path, tmp_path: Path) -> None:
    pattern = data / "*" / "*.parquet"
    assert is_folder(pattern)
    privatize_folder(pattern, tmp_path / "out", SPEC, rng=keyed_rng(read_key(key)), ledger=False)
    assert written(tmp_path / "out")["id"].to_pylist() == [7 * i for i in range(20, 60)]


def test_a_run_that_was_cut_short_is_run_again_into_its_own_output_at_no_further_cost(
    data: Path, key: Path, tmp_path: Path
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    rng = keyed_rng(read_key(key))
    privatize_folder(data, whole, SPEC, rng=rng, ledger=False)

    def crash(name: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with open_ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(KeyboardInterrupt):
            privatize_folder(data, out, SPEC, rng=rng, ledger=ledger, on_file=crash)
        assert _states(ledger) == ["reserved"]
        assert not (out / "part-00003.parquet").exists()
        spent = charged(ledger)
        privatize_folder(data, out, SPEC, rng=rng, ledger=ledger)
        assert _states(ledger) == ["reserved", "confirmed"]
        whole_cost = charged(ledger)
        assert whole_cost > spent > 0
        privatize_folder(data, tmp_path / "again", SPEC, rng=rng, ledger=ledger)
        assert charged(ledger) == whole_cost  # nothing was charged twice
    assert written(out) == written(whole)


def test_a_run_that_failed_before_anything_showed_begins_a_new_entry(
    data: Path, key: Path, tmp_path: Path
) -> None:
    out, rng = tmp_path / "out", keyed_rng(read_key(key))

    def crash(name: str, done: int, total: int) -> None:
        raise MemoryError

    with open_ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(MemoryError):
            privatize_folder(data, out, SPEC, rng=rng, ledger=ledger, on_file=crash)
        assert _states(ledger) == ["void"]
        privatize_folder(data, out, SPEC, rng=rng, ledger=ledger)
        assert _states(ledger) == ["void", "confirmed"]
        assert ledger.verify() == []


def test_a_run_that_failed_in_its_first_file_leaves_no_folders(
    data: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command would be refused: the folder is not empty."""
    out, rng = tmp_path / "out", keyed_rng(read_key(key))
    source = data / "year=*" / "*.parquet"

    def interrupted(target: Path, source: Source, **how: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr("inkblur.files.folder.open_sink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            privatize_folder(source, out, SPEC, rng=rng, ledger=False)
    assert not out.exists()
    privatize_folder(source, out, SPEC, rng=rng, ledger=False)
    assert written(out).num_rows == 40


def test_a_second_run_into_the_folder_is_refused_while_the_first_runs(
    data: Path, key: Path, tmp_path: Path
) -> None:
    """It would go on with the first one's release, and show what that one may then give up."""
    out, rng = tmp_path / "out", keyed_rng(read_key(key))

    def begin_again(name: str, done: int, total: int) -> None:
        with pytest.raises(OutputError, match="another run is writing"):
            privatize_folder(data, out, SPEC, rng=rng, ledger=ledger)

    with open_ledger(tmp_path / "ledger.db") as ledger:
        privatize_folder(data, out, SPEC, rng=rng, ledger=ledger, on_file=begin_again)
        assert _states(ledger) == ["confirmed"]
    assert written(out).num_rows == 60


def test_a_folder_that_cannot_be_locked_is_refused(
    data: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing would keep a second run out."""

    def no_locks(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(OutputError, match="cannot"):
        privatize_folder(data, tmp_path / "out", SPEC, rng=keyed_rng(read_key(key)), ledger=False)


def test_a_budget_holds_over_all_files_before_anything_is_drawn(
    data: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = keyed_rng(read_key(key))
    short = Limits(budget=8.0 * 6)  # texts have up to 12 words
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(BudgetExceeded, match="records would exceed"):
            privatize_folder(data, tmp_path / "out", SPEC, rng=rng, ledger=ledger, limits=short)
        assert not (tmp_path / "out").exists()
        assert _states(ledger) == ["void"]


def test_an_interrupted_command_says_what_is_finished(
    data: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(target: Path, source: Source, **how: Any) -> Any:
        if target.name == "part-00003.parquet":
            raise KeyboardInterrupt
        return open_sink(target, source, **how)

    monkeypatch.setattr("inkblur.files.folder.open_sink", interrupted)
    options = ["--mechanism", "staircase", "--epsilon", "8", "--keep-column", "id"]
    given = ["privatize", str(data), *options, "--ledger", "none", "--key-file", str(key)]
    done = CliRunner().invoke(app, [*given, "--id", "id", "-o", str(tmp_path / "out")])
    assert done.exit_code == 130
    assert "2 files are finished" in done.output
    assert "no output file" not in done.output


def _states(ledger: Ledger) -> list[str]:
    return [entry["state"] for entry in ledger.history()]


def test_what_is_refused(data: Path, key: Path, tmp_path: Path) -> None:
    out, rng = tmp_path / "out", keyed_rng(read_key(key))
    with pytest.raises(ParameterError, match="id_column"):
        privatize_folder(data, out, SPEC.varied(id_column=None), rng=rng)
    with pytest.raises(ParameterError, match="key that is kept"):
        privatize_folder(data, out, SPEC, rng=secure_rng())
    with pytest.raises(ParameterError, match="`id_column=` and `rng=`"):
        privatize_folder(data, out, SPEC.varied(id_column=None), rng=secure_rng())
    (data / "one.txt").write_text("a text without an id\n")
    for spec in (SPEC, SPEC.varied(id_column=None)):  # neither with nor without can it be done
        with pytest.raises(InputError, match=r"one\.txt has no ids.*one file at a time"):
            privatize_folder(data, out, spec, rng=rng)
    (data / "one.txt").unlink()
    with pytest.raises(OutputError, match="input itself"):
        privatize_folder(data, data, SPEC, rng=rng)
    with pytest.raises(InputError, match="no files"):
        privatize_folder(data / "*.csv", out, SPEC, rng=rng)
    pq.write_table(rows(21).slice(20), data / "d.parquet")
    with pytest.raises(InputError, match=r"b\.parquet repeats an id"):
        privatize_folder(data, out, SPEC, rng=rng)
    (data / "d.parquet").unlink()
    assert not out.exists()


def test_names_of_files_and_folders_are_not_copied(data: Path, key: Path, tmp_path: Path) -> None:
    """Who wrote a file is often in its name; a folder such as `year=2026` is a column."""
    names = ["ann@example.org.csv.gz", "ann smith/notes.parquet", "author=ann/year=2027/d.parquet"]
    for place, name in enumerate(names, 60):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        through(_one(tmp_path, place), data / name)
    out, rng = tmp_path / "out", keyed_rng(read_key(key))
    summary = privatize_folder(data, out, SPEC, rng=rng, ledger=False)
    assert summary is not None
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == [
        "part-00001.parquet",
        "part-00002.parquet",
        "part-00003.csv.gz",
        "part-00004.parquet",
        "part-00005.parquet",
        "part-00006.parquet",
    ]
    assert {"author", "year", "spare"} <= set(summary.fate.not_copied)
    kept, spec = tmp_path / "kept", SPEC.varied(keep_columns=("id", "year"))
    summary = privatize_folder(data, kept, spec, rng=rng, ledger=False)
    assert summary is not None
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("year=*/*")) == [
        "year=2025/part-00005.parquet",
        "year=2026/part-00006.parquet",
        "year=2027/part-00004.parquet",
    ]
    assert "ann" not in " ".join(str(path.relative_to(kept)) for path in kept.rglob("*"))
    assert "'year', copied as is" in " ".join(summary.guarantee.lines())
    assert "year" not in summary.fate.not_copied


def _one(folder: Path, place: int) -> Path:
    """A file of one row."""
    pq.write_table(rows(80).slice(place, 1).select(["id", "text", "stars"]), folder / "one.parquet")
    return folder / "one.parquet"


def test_a_column_that_is_also_a_partition_is_kept(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "in" / "author=ann" / "a.csv"
    path.parent.mkdir(parents=True)
    path.write_text("id,author,text\n1,ann,the cat sat\n", encoding="utf-8")
    spec = SPEC.varied(keep_columns=("author", "id"))
    out = tmp_path / "out"
    privatize_folder(tmp_path / "in", out, spec, rng=keyed_rng(read_key(key)), ledger=False)
    first = (out / "author=ann" / "part-00001.csv").read_text(encoding="utf-8").splitlines()[1]
    assert first.startswith("1,ann,")


def test_the_command_takes_a_folder(data: Path, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--mechanism", "staircase", "--epsilon", "8", "--keep-column", "id"]
    given = ["privatize", str(data), *options, "--ledger", "none", "--key-file", str(key)]
    runner = CliRunner()
    assert runner.invoke(app, [*given, "-o", str(out)]).exit_code == 1  # no ids
    given += ["--id", "id"]
    assert runner.invoke(app, given).exit_code == 2  # nowhere to write
    assert runner.invoke(app, [*given, "-o", str(out), "--budget", "9"]).exit_code == 1  # uncounted
    assert runner.invoke(app, [*given, "-o", str(out), "--report", "r.json"]).exit_code == 2
    assert not out.exists()
    done = runner.invoke(app, [*given, "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert len(written(out)) == 60
