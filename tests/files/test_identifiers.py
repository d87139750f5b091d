"""A copied column that seems to say who wrote a text, or what it says, stops the run unless it is kept by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inkblur import Laplace, Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import PrivacyError
from inkblur.files import open_sink
from inkblur.files.identifiers import ROWS, by_header, by_values, refuse_identifiers
from inkblur.files.run import run
from inkblur.files.summary import Summary
from inkblur.rng import secure_rng
from tests.files.passing import opened


def released(path: Path, toy: Embedding, **options: Any) -> Summary:
    out = path.with_name(f"out{path.suffix}")
    with opened(path, **options) as source, open_sink(out, source) as sink:
        summary = run(source, sink, Privatizer(Laplace(toy, epsilon=1.0)), secure_rng())
    assert isinstance(summary, Summary)
    return summary


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "Name",
        "author",
        "authorName",
        "user_id",
        "UserID",
        "username",
        "e-mail",
        "email_address",
        "phone",
        "Telephone",
        "address",
        "ip",
        "ip_address",
        "IPAddress",
        "reviewer",
        "first_name",
        "lastname",
    ],
)
def test_headers_that_tell_a_person(name: str) -> None:
    assert by_header(name)


@pytest.mark.parametrize(
    "name", ["id", "stars", "text", "date", "shipping", "tip", "zipped", "filenames_", "label"]
)
def test_headers_that_do_not(name: str) -> None:
    assert by_header(name) is None


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["a"] * 500 + ["write to ann@example.org"], "e-mail"),
        (["", "10.0.0.1"], "IP"),
        (["2001:db8:85a3:0:0:8a2e:370:7334"], "IP"),
        (["+44 20 7946 0018", "+1 (555) 010-9999"], "phone"),
        (["555-010-9999"], "phone"),
        (["0341.123456", "01.23.45.67.89", "0044/20/79460018"], "phone"),
        (["12 Baker Street", "7b Long Lane, Leeds"], "street"),
        (["Ann Smith", "Bob A. Jones", "Çelik Öz"], "names"),
    ],
)
def test_values_that_tell_a_person(values: list[str], form: str) -> None:
    assert form in str(by_values(values))


@pytest.mark.parametrize(
    "values",
    [
        ["2026-11-15", "2025-01-01"],
        ["1", "2", "30000", "1.5", "-7"],
        ["Customer Service"] * 50 + ["Late Delivery"] * 50,
        ["good", "bad"],
        ["2026-11-15T20:00:00Z"],
        ["0.3333333333333333", "0.0712345", "0.98"],
        ["01/15/2026", "03.11.1998", "09-9-2024"],
        [],
    ],
)
def test_values_that_do_not(values: list[str]) -> None:
    assert by_values(values) is None


def test_all_are_named_at_once_and_can_be_kept_or_dropped(tmp_path: Path, toy: Embedding) -> None:
    path = tmp_path / "in.csv"
    path.write_text("user,stars,contact,text\nu1,5,ann@example.org,wordaa\n")
    with pytest.raises(PrivacyError, match=r"'user' .*'contact' .*drop_columns=.*keep_columns="):
        released(path, toy)
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(PrivacyError) as caught:
        released(path, toy, keep_columns=["user"])
    assert "'user'" not in str(caught.value)
    assert "ann@" not in str(caught.value)
    summary = released(path, toy, keep_columns=["user"], drop_columns=["contact"])
    assert "columns copied unchanged: user, stars" in summary.lines()
    assert summary.to_json()["columns"] == {
        "released": ["text"],
        "copied": ["user", "stars"],
        "dropped": ["contact"],
    }
    assert any("'user', 'stars', copied as is" in line for line in summary.guarantee.passed)
    assert "ann@" not in (tmp_path / "out.csv").read_text()


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
def test_a_copied_column_that_holds_the_texts_stops_the_run(
    tmp_path: Path, toy: Embedding, beside: Callable[[str], object]
) -> None:
    """Every word of the text would be published beside its release."""
    path = tmp_path / "in.jsonl"
    rows = [{"text": text, "stars": 5, "clean": beside(text)} for text in SAID]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PrivacyError, match=r"'clean.*words of the texts.*drop_columns=") as caught:
        released(path, toy)
    assert "stars" not in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()
    released(path, toy, keep_columns=["clean"])
    released(path, toy, drop_columns=["clean"])


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
    path = tmp_path / "in.jsonl"
    rows = [{"text": text, "stars": 5, "raw": beside(text)} for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PrivacyError, match=r"'raw' \(its values look like the words of the texts"):
        released(path, toy)


def test_a_copied_column_that_holds_texts_of_other_rows_stops_the_run(
    tmp_path: Path, toy: Embedding
) -> None:
    """What a message answers is a message too, and to be protected like it."""
    path = tmp_path / "in.jsonl"
    answered = ["", *SAID[:-1]]
    rows = [{"text": text, "reply_to": told} for text, told in zip(SAID, answered, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PrivacyError, match=r"'reply_to' \(its values look like the words of the"):
        released(path, toy)


def test_a_column_that_shares_some_words_with_the_texts_is_copied(
    tmp_path: Path, toy: Embedding
) -> None:
    path = tmp_path / "in.jsonl"
    topics = ["Hospital food", "The train and the rain", "Phone calls", "Thanks"]
    rows = [{"text": text, "topic": topic} for text, topic in zip(SAID, topics, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    released(path, toy)


def test_nested_values_and_late_keys(tmp_path: Path, toy: Embedding) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "wordaa", "meta": {"from": [{"email": "x"}]}}\n')
    # The name to give to the option that the message names is that of the whole column.
    with pytest.raises(
        PrivacyError, match=r"are: 'meta' \(its part 'from\.email', by its name an e"
    ):
        released(path, toy)
    released(path, toy, keep_columns=["meta"])
    released(path, toy, drop_columns=["meta"])
    plain = json.dumps({"text": "wordaa"}) + "\n"
    path.write_text(plain * (20 * ROWS) + '{"text": "wordaa", "author": 7}\n')
    with pytest.raises(PrivacyError, match="'author'"):
        released(path, toy)


def test_rows_of_later_batches_are_judged_before_the_first_is_released(tmp_path: Path) -> None:
    """Of long texts, a batch holds few rows."""
    path = tmp_path / "in.csv"
    path.write_text("text,seen\n" + "wordaa,x\n" * (ROWS - 1) + "wordaa,ann@example.org\n")
    with opened(path) as source:
        batches = refuse_identifiers(source, source.batches(10, 10_000))
        with pytest.raises(PrivacyError, match=r"'seen' \(its values look like e-mail addresses"):
            next(batches)


def test_a_column_that_holds_words_of_any_text_of_its_row_stops_the_run(
    tmp_path: Path, toy: Embedding
) -> None:
    path = tmp_path / "in.jsonl"
    rows = [{"title": "Ok", "body": t, "seen": " ".join(t.split()[-4:])} for t in SAID]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PrivacyError, match=r"'seen' \(its values look like the words of the texts"):
        released(path, toy, column=["title", "body"])


def test_several_columns_are_all_in_the_guarantee(tmp_path: Path, toy: Embedding) -> None:
    path = tmp_path / "in.csv"
    path.write_text("title,body\nwordaa,wordaa\n")
    summary = released(path, toy, column=["title", "body"])
    (line,) = summary.guarantee.reveals
    assert "'title', 'body'" in line
    assert "add up" in line
    assert not any("copied" in line for line in summary.guarantee.passed)
    assert summary.documents == 2
