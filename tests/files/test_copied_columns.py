"""A column that was named to be copied: by its first rows, a warning of what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inkblur import Embedding, Privatizer
from inkblur.files import open_sink
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import secure_rng
from tests.files.passing import opened
from tests.files.releasing import run

NEAR_UNIQUE, HOLDS_THE_TEXT = "nearly every value differs", "holds the words of the texts"
SAID = [
    "The nurse was friendly and the soup arrived hot.",
    "今天我去看医生了，他说我的血压太高。",
    "HIV test, positive",
    "Thanks.",  # too short to judge
]


def told(folder: Path, toy: Embedding, rows: list[dict[str, Any]], **options: Any) -> str:
    """What was said of the columns beside the texts."""
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with opened(path, **options) as source, open_sink(folder / "out.jsonl", source) as sink:
        summary = run(source, sink, Privatizer(Laplace(toy, epsilon=1.0)), secure_rng())
    return "\n".join(line for line in summary.lines() if line.startswith("warning"))


@pytest.mark.parametrize(
    ("values", "tells"),
    [
        ([f"{i}" for i in range(20)], True),
        ([f"{i}" for i in range(19)], False),  # too few to say
        ([i % 18 for i in range(20)], True),  # 90 %
        ([i % 17 for i in range(20)], False),
        ([{"from": [{"nr": i}]} for i in range(30)], True),
        ([None if i % 2 else i for i in range(40)], True),  # of those that are there
        (["", " "] * 40, False),
        ([max(0, i - 1000) for i in range(5000)], False),  # by the first thousand
    ],
)
def test_values_that_nearly_all_differ(
    tmp_path: Path, toy: Embedding, values: list[Any], tells: bool
) -> None:
    rows = [{"text": "wordaa", "col": value, "stars": 5} for value in values]
    found = told(tmp_path, toy, rows)
    assert (f"'col' is copied: {NEAR_UNIQUE}" in found) == tells
    assert "stars" not in found


@pytest.mark.parametrize(
    "beside",
    [
        lambda text: text,
        lambda text: text.upper(),
        lambda text: {"raw": [text]},
        lambda text: [sign for sign in text if sign.isalpha()],
        lambda text: f"A question came in: {text} Somebody answers it here, at great length.",
    ],
    ids=["as it is", "capitals", "nested", "letters", "quoted"],
)
def test_values_that_hold_the_texts(tmp_path: Path, toy: Embedding, beside: Any) -> None:
    """Every word of the text would be published beside its release; of any text of its row."""
    rows = [{"title": "Ok", "text": text, "stars": 5, "raw": beside(text)} for text in SAID]
    found = told(tmp_path, toy, rows, column=["title", "text"], keep_columns=["raw", "stars"])
    assert f"'raw' is copied: it {HOLDS_THE_TEXT}" in found
    assert "stars" not in found
    assert not told(tmp_path, toy, rows, column=["title", "text"], keep_columns=["stars"])


def test_values_that_share_some_words_with_the_texts(tmp_path: Path, toy: Embedding) -> None:
    topics = ["Hospital food", "医生", "tests", "Thanks"]
    rows = [{"text": text, "topic": topic} for text, topic in zip(SAID, topics, strict=True)]
    assert not told(tmp_path, toy, rows)


def test_several_columns_are_all_in_the_guarantee(tmp_path: Path, toy: Embedding) -> None:
    path = tmp_path / "in.csv"
    path.write_text("title,body\nwordaa,wordaa\n")
    with (
        opened(path, column=["title", "body"]) as source,
        open_sink(tmp_path / "out.csv", source) as sink,
    ):
        summary = run(source, sink, Privatizer(Laplace(toy, epsilon=1.0)), secure_rng())
    line = summary.guarantee.reveals[0]
    assert "'title', 'body'" in line
    assert "add up" in line
    assert not any("copied" in line for line in summary.guarantee.passed)
    assert summary.documents == 2


NANOSECONDS = """
import sys
class Missing:
    def find_spec(self, name, *more):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import inkblur, pyarrow as pa, pyarrow.parquet as pq
kinds = {"when": pa.timestamp("ns", "Europe/Berlin"), "took": pa.duration("ns"), "at": pa.time64("ns")}
columns = {name: pa.array([1_001, None], kind) for name, kind in kinds.items()}
columns["all"] = pa.array([[1_001], None], pa.list_(pa.timestamp("ns")))
table = pa.table({"text": ["good soup", "bad bread"], **columns})
pq.write_table(table, "in.parquet")
spec = inkblur.ReleaseSpec("staircase", 8.0, keep_columns=tuple(columns), keep_order=True)
inkblur.privatize_file("in.parquet", "out.parquet", spec, ledger=False)
assert pq.read_table("out.parquet").drop(["text"]).equals(table.drop(["text"]))
"""


def test_nanoseconds_are_copied_where_pandas_is_not_installed(tmp_path: Path) -> None:
    """Python's own times hold microseconds: Arrow makes values of them with pandas, or not."""
    done = subprocess.run(
        [sys.executable, "-c", NANOSECONDS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
