"""Each collection is the one its name says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from reproduction.context import Context
from reproduction.corpora import Corpus, Split
from reproduction.datasets import Datasets
from reproduction.thesis.postings import Postings, suspected
from reproduction.thesis.suspects import NEWSGROUPS, case_of


def _split(authors: int, each: int) -> Split:
    numbers = np.repeat(np.arange(authors), each)
    texts = tuple(f"From: {n}@example.org\n\nText of {n}.\n\nEnd." for n in numbers)
    return Split(*(Corpus("made", texts, numbers, ("misc",) * len(texts)) for _ in range(2)))


@pytest.fixture
def work(tmp_path: Path) -> Context:
    problems = {1: _split(20, 2), 2: _split(5, 2)}
    held = SimpleNamespace(pan18=problems.__getitem__, c50=_split(50, 5), newsgroups=_split(25, 15))
    datasets: Any = SimpleNamespace(restricted_to=lambda experiment, needs: held)
    return Context("made", cast(Datasets, datasets), seed=1, quick=False, folder=tmp_path)


@pytest.mark.parametrize(
    ("data", "authors", "asked"),
    [
        (NEWSGROUPS, 20, 240),
        ("C50", 50, 150),
        ("PAN 2018, 20 authors", 20, 40),
        ("PAN 2018, 5 authors", 5, 10),
    ],
)
def test_a_collection_has_its_authors(work: Context, data: str, authors: int, asked: int) -> None:
    case = case_of(work, data)
    for part in (case.known, case.asked):
        assert part.authors is not None
        assert len(set(part.authors.tolist())) == authors
    assert len(case.asked) == asked
    if data == NEWSGROUPS:
        assert not any("@" in text for text in (*case.known.texts, *case.asked.texts))


def test_nothing_is_learned_from_a_suspects_posting(work: Context) -> None:
    whole = work.datasets.newsgroups.train
    assert whole.authors is not None
    suspects = suspected(work, 20)
    assert suspects == set(range(20))  # of 25 authors who posted as much: the first
    learned = Postings(work, train=1_000, test=0, vocabulary=0, suspects=20).train
    assert learned.authors is not None
    assert set(learned.authors.tolist()) == set(range(20, 25))
    everybody = Postings(work, train=1_000, test=0, vocabulary=0).train
    assert len(everybody) == len(whole)
