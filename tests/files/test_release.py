"""`privatize_file`: what protects someone is refused behind the door, not in the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, OutputError, ParameterError, PrivateCalibration

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    write_store(tmp_path / "small.ink", Embedding(WORDS, vectors, name="small"))
    rows = "".join(f"{row},{' '.join(WORDS[row : row + 3])}\n" for row in range(20))
    (tmp_path / "in.csv").write_text("id,text\n" + rows + "19,waa\n")
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    return tmp_path


def spec(folder: Path, **changes: Any) -> inkblur.ReleaseSpec:
    return inkblur.ReleaseSpec.of(
        **{"epsilon": 2.0, "embedding": str(folder / "small.ink"), **changes}
    )


def copied(folder: Path) -> str:
    shutil.copy(folder / "words.txt", folder / "in.txt")
    return str(folder / "words.txt")


@pytest.mark.parametrize(
    ("source", "described", "options", "error", "message"),
    [
        ("in.txt", lambda f: {"vocabulary": copied(f)}, {}, PrivateCalibration, "`vocabulary="),
        ("in.csv", lambda f: {"embedding": str(f / "in.csv")}, {}, PrivateCalibration, "embedding"),
        (
            "in.txt",
            lambda f: {"reference": copied(f), "release": "tf", "length": 3},
            {},
            PrivateCalibration,
            "`reference=`",
        ),
        ("in.csv", lambda f: {"columns": ["body"]}, {}, InputError, "no column 'body'"),
        ("in.csv", lambda f: {"id_column": "id"}, {}, InputError, "repeats an id"),
        ("in.csv", lambda f: {}, {"report": "in.csv"}, OutputError, "report would overwrite"),
        ("in.csv", lambda f: {}, {"report": "small.ink"}, OutputError, "report would overwrite"),
        ("in.csv", lambda f: {}, {"report": "no/r.json"}, OutputError, "its folder exists"),
        ("in.csv", lambda f: {}, {"workers": 0}, ParameterError, "workers must be"),
    ],
)
def test_what_would_harm_is_refused_and_writes_nothing(
    folder: Path,
    source: str,
    described: Callable[[Path], dict[str, Any]],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    release = spec(folder, **described(folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    if "report" in options:
        options = {"report": folder / options["report"]}
    with pytest.raises(error, match=message):
        inkblur.privatize_file(folder / source, folder / "out.csv", release, **options)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_input_is_never_the_output(folder: Path) -> None:
    before = (folder / "in.csv").read_bytes()
    with pytest.raises(OutputError, match="input"):
        inkblur.privatize_file(folder / "in.csv", folder / "in.csv", spec(folder))
    assert (folder / "in.csv").read_bytes() == before


def test_it_reports_and_tells_how_far_it_is(folder: Path) -> None:
    told: list[tuple[int, int | None, int]] = []
    summary = inkblur.privatize_file(
        folder / "in.csv",
        folder / "out.csv",
        spec(folder),
        report=folder / "report.json",
        on_progress=lambda done, total, words: told.append((done, total, words)),
    )
    assert summary.guarantee.private
    size = (folder / "in.csv").stat().st_size
    assert told[-1] == (size, size, summary.counts["drawn"])
    body = json.loads((folder / "report.json").read_text())
    assert inkblur.ReleaseSpec.from_json(body["spec"]).epsilon == 2.0
    assert body["guarantee"] == json.loads(json.dumps(summary.guarantee.to_json()))
