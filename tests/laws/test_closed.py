"""Nothing passes through in silence: default releases show words of the vocabulary and full
stops.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
from inkblur.documents.analysis import Analyst
from inkblur.documents.policies import TOKEN_CLASSES
from inkblur.documents.tokens import tokenize
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import seeded_rng
from tests.laws.catalogue import ALL, label, make

VOCABULARY = ["alpha", "beta", "gamma", "delta"]
TABLE = Embedding(VOCABULARY, [[0, 0], [0, 2], [2, 0], [2, 2]], name="four")
SHOWN = re.compile(r"(?:(?:alpha|beta|gamma|delta)(?: |$))*")

ODD = [
    *("alpha", "Beta", "GAMMA", "O'Brien", "x@y.org", "http://a.b/c?d=1", "@handle", "www.x.io"),
    *("1,234.5", "4th", "b2b", "😀", "👨\u200d👩\u200d👧", "שלום", "नमस्ते", "e\u0301", "a\u200db"),
    *("²", "\x00", "\u2028"),
]

texts = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(ODD),
        st.emails(),
    ),
    max_size=20,
).map(" ".join)


@given(texts)
@settings(deadline=None, max_examples=300)
def test_default_sequences_show_nothing_but_vocabulary_words(text: str) -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=1.0))
    assert SHOWN.fullmatch(blur.release(text, seeded_rng(1)).text)


@given(texts)
@settings(deadline=None, max_examples=100)
def test_default_bags_show_nothing_but_vocabulary_words(text: str) -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), release="bag", length=6)
    words = blur.release(text, seeded_rng(1)).text.split(" ")
    assert len(words) == 6
    assert set(words) <= set(VOCABULARY)
    assert words == sorted(words)


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_unknown_words_numbers_and_addresses_never_come_out(
    setting: tuple[str, dict[str, Any]],
) -> None:
    text = "Zebediah paid 4711 to zeb@corp.example via https://corp.example/4711 @zeb alpha."
    blur = Privatizer(make(setting, TABLE, 1.0))
    assert SHOWN.fullmatch(blur.release(text, seeded_rng(1)).text)


@given(texts)
@settings(deadline=None, max_examples=200)
def test_tokens_cover_everything_visible_and_offsets_are_code_points(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert text[token.start : token.end] == token.text
        assert token.start >= end
        assert not text[end : token.start].strip()
        end = token.end
    assert not text[end:].strip()


@pytest.mark.parametrize("name", TOKEN_CLASSES)
def test_every_class_can_be_kept_and_then_a_line_says_so(name: str) -> None:
    policies = TokenPolicies.of(keep=[name])
    closed, opened = (
        Privatizer(Laplace(TABLE, epsilon=1.0)),
        Privatizer(Laplace(TABLE, epsilon=1.0), policies=policies),
    )
    new = set(opened.guarantee.passed) - set(closed.guarantee.passed)
    assert len(new) == 1
    assert new.pop() in opened.guarantee.statement()


@pytest.mark.parametrize("release", ["sequence", "bag"])
def test_length_is_shown_unless_it_is_filled(release: str) -> None:
    open_length = Privatizer(Laplace(TABLE, epsilon=1.0), release=release, length="exact")
    filled = Privatizer(Laplace(TABLE, epsilon=1.0), release=release)
    fixed = Privatizer(Laplace(TABLE, epsilon=1.0), release=release, length=5)
    assert "the number of words" in open_length.guarantee.passed
    assert not fixed.guarantee.passed
    [size] = filled.guarantee.passed
    assert "rounded up to 8, 10, 13, 16, 20, 25 and so on" in size
    for text in ("", "alpha", "alpha. beta! " * 9):
        released = fixed.release(text, seeded_rng(1)).text
        # Five words and nothing else: a full stop before the filling would show where it begins.
        assert re.fullmatch(
            r"(?:alpha|beta|gamma|delta)(?: (?:alpha|beta|gamma|delta)){4}", released
        )


@pytest.mark.parametrize("name", TOKEN_CLASSES)
def test_what_is_kept_beside_a_fixed_length_shows_how_long_short_texts_are(name: str) -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), policies=TokenPolicies.of(keep=[name]), length=5)
    assert "the number of words of texts shorter than 5" in blur.guarantee.passed


def test_unknown_words_are_all_the_same_to_the_mechanism() -> None:
    """Two texts that differ in their unknown words, numbers and addresses enter as equal ids."""
    blur = Privatizer(Laplace(TABLE, epsilon=1.0))
    assert blur.ids("Zoe 12 a@b.de alpha").tolist() == blur.ids("Max 7 c@d.de ALPHA").tolist()


MARKS = st.sampled_from(["", ".", ",", "!", "?!", "...", " -", ";", ".)", " . ", "。"])


@given(st.lists(st.tuples(st.sampled_from(VOCABULARY), MARKS, MARKS), max_size=12))
@settings(deadline=None)
def test_punctuation_changes_neither_what_enters_nor_the_layout(
    marked: list[tuple[str, str, str]],
) -> None:
    """No epsilon hides where an author ends a sentence, and the lengths of sentences are a habit:
    so by default a release depends on the words alone.
    """
    analyst = Analyst(TABLE, TokenPolicies())
    first, second = (
        analyst.read(" ".join(word + marks[way] for word, *marks in marked)) for way in (0, 1)
    )
    assert first.ids == second.ids
    assert first.slots == second.slots


def test_full_stops_that_stay_are_named() -> None:
    """They are where the author put them, whatever words stand between them."""
    assert TokenPolicies().passed() == ()
    assert TokenPolicies.of(keep=["sentence-ends"]).passed() == ("where sentences end",)
