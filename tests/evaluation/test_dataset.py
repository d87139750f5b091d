"""Texts with authors and labels: how they are split, who is a suspect, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, Names, halves, make_dataset, suspects

from .made import NAMES, corpus


def made(**options: Any) -> Dataset:
    texts, names, labels = corpus()
    return make_dataset(texts, authors=names, labels=labels, seed=5, **options)


def test_a_share_of_each_author_is_tested_and_the_seed_decides_which() -> None:
    data = made(test_share=0.25)
    assert np.bincount(data.test.authors).tolist() == [2, 2, 2, 2]
    assert data.test.texts == made(test_share=0.25).test.texts
    texts, names, labels = corpus()
    other = make_dataset(texts, authors=names, labels=labels, test_share=0.25, seed=6)
    assert data.test.texts != other.test.texts


def test_an_author_with_one_text_is_a_suspect_and_is_not_attacked() -> None:
    texts, names, labels = corpus()
    data = make_dataset(
        [*texts, "lone words"], authors=[*names, "Solo"], labels=[*labels, "sea"], seed=5
    )
    assert data.facts.single == 1
    assert 4 in suspects(data, "all")
    assert 4 not in data.test.authors


def test_copies_of_a_text_stay_in_one_part() -> None:
    """A static attacker who knows one copy would name the author of another by it."""
    texts, names, labels = corpus(each=6)
    copies = [*texts, *(f"{text.capitalize()}." for text in texts)]
    data = make_dataset(copies, authors=[*names] * 2, labels=[*labels] * 2, seed=5)
    known = {text.lower().rstrip(".") for text in data.train.texts}
    assert not known & {text.lower().rstrip(".") for text in data.test.texts}
    given = ["train"] * len(texts) + ["test"] * len(texts)  # as the data says
    data = make_dataset(copies, authors=[*names] * 2, parts=given, seed=5)
    assert data.facts.test == len(texts)


def test_halves_share_no_text_and_have_every_author_and_label() -> None:
    texts, names, labels = corpus(each=20)
    for copy in (12, 14, 16):  # of the same author and label
        texts[copy] = texts[10].upper()
    parts = ["train" if row % 20 < 10 else "test" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, labels=labels, parts=parts, seed=5)
    one, other = halves(data, 3)
    assert sorted(one.test.texts + other.test.texts) == sorted(data.test.texts)
    lower = [{text.lower() for text in half.test.texts} for half in (one, other)]
    assert not lower[0] & lower[1]
    for half in (one, other):
        assert half.train == data.train
        assert half.facts.test == len(half.test)
        assert set(half.test.authors) == set(data.test.authors)
        assert set(half.test.labels) == {"sea", "sky"}
    assert halves(data, 3)[0].test.texts == one.test.texts
    with pytest.raises(ParameterError, match="halved"):
        halves(make_dataset(["a b", "c d", "e f"], labels=["x", "y", "x"], seed=1), 1)


def test_a_hundred_thousand_authors_are_cut_to_those_with_most_texts() -> None:
    texts, names, _ = corpus()
    crowd = 100_000
    authors = [*names, *(f"user{n}" for n in range(crowd))]
    data = make_dataset([*texts, *["one text"] * crowd], authors=authors, seed=5)
    assert data.facts.authors == crowd + 4
    everyone = suspects(data, "all")
    assert len(everyone) == 1_000
    assert set(range(4)) <= set(everyone.tolist())
    assert suspects(data, "top-3").tolist() == [0, 1, 2]


def test_scenarios_choose_by_texts() -> None:
    texts, names, _ = corpus()
    names = ["busy" if name in NAMES[:2] else name for name in names]
    data = make_dataset(texts, authors=names, seed=5)
    assert suspects(data, "top-2").tolist() == [0, 1]
    with pytest.raises(ParameterError, match="needs 9 authors"):
        suspects(data, "top-9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "authors, labels or secrets"),
        ({"texts": ["", " "], "authors": ["a", "b"]}, "not empty"),
        ({"authors": ["kim"] * 4}, "2 authors are needed, found 1"),
        ({"authors": [None] * 4}, "2 authors are needed, found 0"),
        ({"labels": ["x"] * 4}, "2 different labels are needed, found 1"),
        ({"labels": [None] * 4}, "2 different labels are needed, found 0"),
        ({"authors": ["a", "b", "c", "d"]}, "has one text only"),
        ({"texts": ["p", "p", "q", "q!"], "authors": ["a", "a", "b", "b"]}, "copies of one"),
        ({"authors": ["a", "b"]}, "4 texts need as many authors, got 2"),
        ({"authors": ["a", "b"] * 2, "parts": ["train"] * 4}, "both are needed"),
        ({"authors": ["a", "b"] * 2, "parts": ["train", "dev", "test", "test"]}, "train or test"),
        ({"authors": [*"abcd"], "parts": ["train", "train", "test", "test"]}, "in both parts"),
        ({"authors": ["a", "b"] * 2, "test_share": 1.0}, "test_share"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_dataset(**{"texts": ["p", "q", "r", "s"], "seed": 1, **options})


def test_masking_spares_words_that_only_look_alike() -> None:
    names = Names(["Will Ho", "r2d2", None, "bob@mail.org"])
    assert names.masked("I will ask Will, WILL HO, R2D2 and bob@mail.org.") == (
        "I will ask [name], [name], [name] and [name]."
    )
