"""What a copied column tells by its first rows is said, in a warning: whose a text is, or what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inkblur import Laplace, Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.files import open_sink
from inkblur.files.identifiers import ROWS
from inkblur.files.summary import Summary
from inkblur.rng import secure_rng
from tests.files.passing import opened
from tests.files.releasing import run

NEAR_UNIQUE, HOLDS_THE_TEXT = "nearly every value differs", "holds the words of the texts"


def released(path: Path, toy: Embedding, **options: Any) -> Summary:
    out = path.with_name(f"out{path.suffix}")
    with opened(path, **options) as source, open_sink(out, source) as sink:
        summary = run(source, sink, Privatizer(Laplace(toy, epsilon=1.0)), secure_rng())
    assert isinstance(summary, Summary)
    return summary


def told(path: Path, toy: Embedding, **options: Any) -> dict[str, str]:
    """What was said of which column."""
    summary = released(path, toy, **options)
    said = "\n".join(summary.lines())
    assert all(f"warning: the column {name!r} is" in said for name in summary.fate.telling)
    return dict(summary.fate.telling)


def lines_of(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


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
        ([i % 5 for i in range(100)], False),
    ],
)
def test_a_column_whose_values_nearly_all_differ(
    tmp_path: Path, toy: Embedding, values: list[Any], tells: bool
) -> None:
    rows = [{"text": "wordaa", "col": value, "stars": 5} for value in values]
    found = told(lines_of(tmp_path / "in.jsonl", rows), toy)
    assert found.keys() == ({"col"} if tells else set())
    assert all(NEAR_UNIQUE in why for why in found.values())


def test_rows_after_the_first_thousand_are_not_looked_at(tmp_path: Path, toy: Embedding) -> None:
    rows = [{"text": "wordaa", "col": max(0, i - ROWS)} for i in range(20 * ROWS)]
    assert not told(lines_of(tmp_path / "in.jsonl", rows), toy)


SAID = (
    "The nurse was friendly and the soup arrived hot.",
    "Our train stood in the rain for two hours.",
    "Nobody answered the phone on Monday morning!",
    "Thanks.",  # too short to judge
)


@pytest.mark.parametrize(
    "beside",
    [
        lambda text: text.upper(),
        lambda text: {"raw": [text]},
        lambda text: text.split(),
        lambda text: f"A question came in: {text} Somebody answers it here, at great length.",
        lambda text: " ".join(text.split()[-4:]),  # half of the content words
    ],
    ids=["capitals", "nested", "tokens", "quoted", "half"],
)
def test_a_copied_column_that_holds_the_texts(
    tmp_path: Path, toy: Embedding, beside: Callable[[str], object]
) -> None:
    """Every word of the text would be published beside its release."""
    rows = [{"text": text, "stars": 5, "clean": beside(text)} for text in SAID]
    path = lines_of(tmp_path / "in.jsonl", rows)
    found = told(path, toy, keep_columns=["clean", "stars"])
    assert found.keys() == {"clean"}
    assert HOLDS_THE_TEXT in found["clean"]
    assert not told(path, toy, keep_columns=["stars"])  # the other is not copied


@pytest.mark.parametrize(
    "texts",
    [
        ["今天我去看医生了，他说我的血压太高。", "我的密码不能用了！"],
        ["วันนี้ฉันไปหาหมอ", "อาหารอร่อยมาก"],
        ["chest pain?", "HIV test, positive"],
    ],
    ids=["Chinese", "Thai", "two words"],
)
@pytest.mark.parametrize(
    "beside",
    [
        lambda text: text,
        lambda text: f"> {text}\n",
        lambda text: [sign for sign in text if sign.isalpha()],
    ],
    ids=["as it is", "quoted", "letters"],
)
def test_texts_of_few_words_are_known_by_their_letters(
    tmp_path: Path, toy: Embedding, texts: list[str], beside: Callable[[str], object]
) -> None:
    """A sentence without spaces is one word, and an answer often has two."""
    rows = [{"text": text, "stars": 5, "raw": beside(text)} for text in texts]
    found = told(lines_of(tmp_path / "in.jsonl", rows), toy)
    assert found.keys() == {"raw"}
    assert HOLDS_THE_TEXT in found["raw"]


def test_a_copied_column_that_holds_texts_of_other_rows(tmp_path: Path, toy: Embedding) -> None:
    """What a message answers is a message too, and to be protected like it."""
    answered = ["", *SAID[:-1]]
    rows = [{"text": text, "reply_to": other} for text, other in zip(SAID, answered, strict=True)]
    found = told(lines_of(tmp_path / "in.jsonl", rows), toy)
    assert HOLDS_THE_TEXT in found["reply_to"]


def test_a_column_that_shares_some_words_with_the_texts(tmp_path: Path, toy: Embedding) -> None:
    topics = ["Hospital food", "The train and the rain", "Phone calls", "Thanks"]
    rows = [{"text": text, "topic": topic} for text, topic in zip(SAID, topics, strict=True)]
    assert not told(lines_of(tmp_path / "in.jsonl", rows), toy)


def test_a_column_that_holds_words_of_any_text_of_its_row(tmp_path: Path, toy: Embedding) -> None:
    rows = [{"title": "Ok", "body": t, "seen": " ".join(t.split()[-4:])} for t in SAID]
    path = lines_of(tmp_path / "in.jsonl", rows)
    assert HOLDS_THE_TEXT in told(path, toy, column=["title", "body"])["seen"]


def test_several_columns_are_all_in_the_guarantee(tmp_path: Path, toy: Embedding) -> None:
    path = tmp_path / "in.csv"
    path.write_text("title,body\nwordaa,wordaa\n")
    summary = released(path, toy, column=["title", "body"])
    line = summary.guarantee.reveals[0]
    assert "'title', 'body'" in line
    assert "add up" in line
    assert not any("copied" in line for line in summary.guarantee.passed)
    assert summary.documents == 2
