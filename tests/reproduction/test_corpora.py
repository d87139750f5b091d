"""The loaders find what the data folder's own notes say is there."""

import io
import os
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from inkblur.errors import InputError, ParameterError
from reproduction import corpora
from reproduction.corpora import Corpus

needs_data = pytest.mark.skipif(
    not os.environ.get(corpora.VARIABLE), reason=f"set {corpora.VARIABLE} to the data folder"
)


@needs_data
def test_reuters_c50() -> None:
    split = corpora.reuters_c50()
    for part in (split.train, split.test):
        assert part.authors is not None
        assert Counter(part.authors.tolist()) == dict.fromkeys(range(50), 50)
    words = [len(text.split()) for text in split.train.texts + split.test.texts]
    assert np.mean(words) == pytest.approx(505, abs=5)
    assert len(split.test.first_of_each_author(10)) == 500


@needs_data
@pytest.mark.parametrize(
    ("problem", "authors", "known", "unknown"), [(1, 20, 140, 105), (2, 5, 35, 21)]
)
def test_pan18(problem: int, authors: int, known: int, unknown: int) -> None:
    split = corpora.pan18(problem)
    assert split.train.authors is not None
    assert split.test.authors is not None
    assert (len(split.train), len(split.test)) == (known, unknown)
    assert set(split.train.authors.tolist()) == set(range(authors))
    assert set(split.test.authors.tolist()) <= set(range(authors))


@needs_data
def test_english_novels() -> None:
    split = corpora.english_novels()
    assert split.train.authors is not None
    assert split.test.authors is not None
    assert Counter(split.train.authors.tolist()) == dict.fromkeys(range(33), 30)
    assert Counter(split.test.authors.tolist()) == dict.fromkeys(range(33), 15)
    words = [len(text.split()) for text in split.train.texts + split.test.texts]
    assert np.mean(words) == pytest.approx(400, abs=5)


@needs_data
def test_newsgroups() -> None:
    split = corpora.newsgroups()
    assert (len(split.train), len(split.test)) == (11314, 7532)
    assert split.train.labels is not None
    assert split.test.labels is not None
    assert len(set(split.train.labels)) == 20
    assert set(split.train.labels) == set(split.test.labels)
    assert split.train.authors is not None
    assert split.test.authors is not None
    assert (split.train.authors >= 0).mean() > 0.99
    shared = set(split.train.authors.tolist()) & set(split.test.authors.tolist())
    assert len(shared) > 500  # numbers mean the same author in both parts


@needs_data
def test_short_messages() -> None:
    assert Counter(corpora.sms_spam().labels) == {"ham": 4827, "spam": 747}
    tweets = corpora.disaster_tweets()
    assert Counter(tweets.labels) == {"0": 4342, "1": 3271}
    assert tweets.texts[0].startswith("Our Deeds are the Reason of this #earthquake")


def test_a_missing_folder_or_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(corpora.VARIABLE, raising=False)
    with pytest.raises(InputError, match=corpora.VARIABLE):
        corpora.sms_spam()
    with pytest.raises(InputError, match="does not exist"):
        corpora.sms_spam(tmp_path / "nowhere")
    with pytest.raises(InputError, match="SMSSpamCollection"):
        corpora.sms_spam(tmp_path)
    with pytest.raises(ParameterError, match="problems 1 and 2"):
        corpora.pan18(3, tmp_path)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "sms-spam").mkdir()
    (tmp_path / "sms-spam" / "SMSSpamCollection").write_text("ham\tfine\nno tab here\n")
    with pytest.raises(InputError, match="line 2"):
        corpora.sms_spam(tmp_path)


def test_line_ends_inside_a_message_do_not_cut_it(tmp_path: Path) -> None:
    (tmp_path / "sms-spam").mkdir()
    message = "one\u2028two\x85three"
    (tmp_path / "sms-spam" / "SMSSpamCollection").write_bytes(f"ham\t{message}\n".encode())
    assert corpora.sms_spam(tmp_path).texts == (message,)


def test_authors_of_postings_are_numbers_and_bodies_have_no_headers(tmp_path: Path) -> None:
    postings = {
        "20news-bydate-train/a.b/1": b"From: Someone <x@example.org>\nSubject: s\n\nhello\n\nthere",
        "20news-bydate-test/a.b/2": b"Subject: s\nFrom: X@EXAMPLE.ORG (Someone)\n\nagain",
        "20news-bydate-test/c.d/3": b"Subject: none\n\nFrom: quoted@example.org",
    }
    (tmp_path / "20newsgroups").mkdir()
    with tarfile.open(tmp_path / "20newsgroups" / "20news-bydate.tar.gz", "w:gz") as tar:
        for name, data in postings.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    split = corpora.newsgroups(tmp_path)
    assert split.train.authors is not None
    assert split.test.authors is not None
    assert split.train.authors.tolist() == [0]
    assert split.test.authors.tolist() == [0, -1]  # a From line in the body names nobody
    assert split.test.labels == ("a.b", "c.d")
    assert corpora.posting_body(split.train.texts[0]) == "hello\n\nthere"


def test_choosing_by_author() -> None:
    corpus = Corpus("toy", ("a", "b", "c", "d"), np.array([1, 0, 1, -1]), ("w", "x", "y", "z"))
    first = corpus.first_of_each_author(1)
    assert (first.texts, first.labels) == (("a", "b"), ("w", "x"))
    with pytest.raises(ParameterError, match="no authors"):
        Corpus("toy", ("a",)).first_of_each_author(1)
