from __future__ import annotations

import numpy as np
import pytest

from inkblur import Privatizer
from inkblur.documents import TokenPolicies, Treatment
from inkblur.documents.analysis import known_id
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import seeded_rng

WORDS = ["the", "doctor", "was", "angry", "do", "it's", "café", "paris", "Rome"]
TABLE = Embedding(WORDS, np.eye(len(WORDS)) * 50, name="far")  # so far apart that words survive
SURE = Laplace(TABLE, epsilon=20.0)


def released(text: str, *, keep: list[str] = [], drop: list[str] = []) -> str:  # noqa: B006
    blur = Privatizer(SURE, policies=TokenPolicies.of(keep=keep, drop=drop), length="exact")
    return blur.release(text, seeded_rng(1)).text


def test_words_are_replaced_in_place_under_the_closed_layout() -> None:
    assert released("  The  Doctor,\nwas ANGRY!!  the doctor ") == "the doctor was angry the doctor"
    assert released("The doctor... was (angry).") == "the doctor was angry"
    assert released("the-doctor") == "the doctor"


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (["punctuation"], "the doctor, was (angry)!"),
        (["sentence-ends"], "the doctor was angry."),
        (["sentence-ends", "punctuation"], "the doctor, was (angry)!"),
    ],
)
def test_what_is_kept_is_copied(keep: list[str], expected: str) -> None:
    assert released("The  Doctor, was (ANGRY)!", keep=keep) == expected


def test_kept_unknown_words_numbers_and_addresses() -> None:
    text = "Zork the 47 a@b.org doctor"
    assert released(text, keep=["unknown", "numbers", "addresses"]) == "zork the 47 a@b.org doctor"
    dropped = released(text, drop=["unknown", "numbers", "addresses"]).split()
    assert [dropped[1], dropped[4]] == ["the", "doctor"]
    assert len(dropped) == 5  # the null word stands for each of the others


def test_stop_words_can_be_dropped_or_kept() -> None:
    dropped = released("The doctor was angry.", drop=["stop-words"]).split()
    assert dropped[1::2] == ["doctor", "angry"]
    assert len(dropped) == 4
    noisy = Laplace(TABLE, epsilon=0.001)
    kept = Privatizer(noisy, policies=TokenPolicies.of(keep=["stop-words"]), length="exact")
    words = kept.release("The doctor was angry", seeded_rng(3)).text.split()
    assert words[0] == "the"
    assert words[2] == "was"


def test_a_kept_sentence_end_is_one_full_stop_whatever_it_was() -> None:
    text = "...The doctor?! Was, angry... the doctor"
    kept = released(text, keep=["sentence-ends"])
    assert kept == "the doctor. was angry. the doctor"
    assert released(text, drop=["punctuation", "sentence-ends"]) == released(text)


@pytest.mark.parametrize(
    ("written", "known"),
    [("DOCTOR", "doctor"), ("doctor's", "doctor"), ("don't", "do"), ("It’s", "it's"), ("cafe\u0301", "café"),
     ("Rome", "Rome"), ("PARIS", "paris"), ("unheard", None)],
)  # fmt: skip
def test_how_written_words_are_looked_up(written: str, known: str | None) -> None:
    assert known_id(TABLE, written) == (TABLE.id(known) if known else -1)


def test_bags_are_sorted_and_of_one_size() -> None:
    blur = Privatizer(SURE, release="bag", length=3)
    assert blur.release("was the doctor angry", seeded_rng(1)).text == "doctor the was"
    assert len(blur.release("", seeded_rng(1)).text.split()) == 3


def test_a_bag_copies_nothing() -> None:
    with pytest.raises(ParameterError, match="copies nothing"):
        Privatizer(SURE, release="bag", policies=TokenPolicies.of(keep=["numbers"]), length="exact")


@pytest.mark.parametrize("length", [0, -3, 1.5, True])
def test_length_is_a_whole_number(length: int) -> None:
    with pytest.raises(ParameterError, match="length"):
        Privatizer(SURE, length=length)


def test_policies_refuse_contradictions() -> None:
    with pytest.raises(ParameterError, match="both"):
        TokenPolicies.of(keep=["numbers"], drop=["numbers"])
    with pytest.raises(ParameterError, match="unknown token class"):
        TokenPolicies.of(keep=["everything"])
    with pytest.raises(ParameterError, match="cannot be dropped"):
        TokenPolicies(names=Treatment.DROP)


def test_a_spelling_met_as_a_word_is_judged_anew_as_a_number() -> None:
    blur = Privatizer(SURE, policies=TokenPolicies.of(keep=["numbers"]), length="exact")
    assert blur.release("n doctor", seeded_rng(1)).text.endswith(" doctor")
    assert blur.release("n't1", seeded_rng(1)).text == "n t1"
