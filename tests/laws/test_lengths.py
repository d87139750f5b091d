"""How long texts come out: on a public list of sizes, filled with the null word at places that no
reader knows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur import Embedding, Privatizer, TokenPolicies
from inkblur.evaluation.attacks.lengths import TextLengths
from inkblur.evaluation.measures.intervals import clopper_pearson
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import Rng, keyed_rng, secure_rng
from inkblur.types import NULL_ID, SIZES, Ids, Record, next_size
from tests.laws.catalogue import ALL, label, make

# "null" lies where the null word does, so with next to no noise it comes out for that alone.
PLACES = Embedding(
    ["null", "cat", "dog", "sky", "sea"],
    [[0.0, 0.0], [9.0, 0.0], [-9.0, 0.0], [0.0, 9.0], [0.0, -9.0]],
    name="places",
)
WORDS = ("cat", "dog", "sky", "sea")


def clear(**options: Any) -> Privatizer:
    """Draws every word as it is, and the null word as "null"."""
    return Privatizer(Laplace(PLACES, epsilon=500.0), **options)


def text_of(words: int) -> str:
    return " ".join(WORDS[i % 4] for i in range(words))


def released(blur: Privatizer, texts: Sequence[str], rng: Rng) -> list[list[str]]:
    records = [Record(str(place), text) for place, text in enumerate(texts)]
    return [text.split() for text in blur.release_batch(records, rng).texts]


def test_sizes_are_a_quarter_apart_and_rounded_up() -> None:
    assert SIZES[:12] == (8, 10, 13, 16, 20, 25, 31, 39, 48, 60, 75, 94)
    assert all(next_size(words) >= words for words in range(3000))
    assert {next_size(words) for words in range(95)} == {*SIZES[:12]}
    assert SIZES[-1] > 10_000_000  # a text has at most so many letters


@pytest.mark.parametrize("release", ["sequence", "bag"])
@pytest.mark.parametrize("setting", ALL, ids=label)
def test_a_text_is_released_and_charged_at_a_size_of_the_list(
    setting: Any, release: str, toy: Embedding
) -> None:
    """The empty one too, and whatever is dropped."""
    lengths = [0, 1, 7, 8, 9, 13, 14, 40, 117, 118]
    texts = [" ".join(toy.words[i % len(toy)] for i in range(words)) for words in lengths]
    texts += ["the of and 12 zork", "the of and 12 zork a@b.org but or so not"]
    dropping = TokenPolicies.of(drop=["stop-words", "numbers", "unknown", "addresses"])
    for policies in (TokenPolicies(), dropping):
        blur = Privatizer(make(setting, toy, 1.0), release=release, policies=policies)
        sizes = [next_size(words) for words in (*lengths, 5, 10)]
        assert [len(words) for words in released(blur, texts, secure_rng())] == sizes
        assert blur.read(texts).draws == tuple(sizes)


@pytest.mark.parametrize("length", [None, 12])
@pytest.mark.parametrize("setting", ALL, ids=label)
def test_what_fills_a_text_enters_as_the_null_word(
    setting: Any, length: int | None, toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the last true word it would tell that word many times."""
    blur = Privatizer(make(setting, toy, 1.0), length=length)
    entered: list[Ids] = []
    replace = type(blur.mechanism).replace

    def spied(self: Any, ids: Ids, *rows: Any) -> Ids:
        entered.append(ids)
        return replace(self, ids, *rows)

    monkeypatch.setattr(type(blur.mechanism), "replace", spied)
    blur.release(" ".join(toy.words[:9]), secure_rng())
    filled = 1 if length is None else 3
    assert entered[0][entered[0] != NULL_ID].tolist() == [*range(9)]
    assert np.count_nonzero(entered[0] == NULL_ID) == filled


@pytest.mark.parametrize("length", [None, 60])
def test_what_fills_a_text_comes_out_as_the_null_word_does(length: int | None) -> None:
    [words] = released(clear(length=length), [text_of(49)], secure_rng())
    assert [word for word in words if word != "null"] == text_of(49).split()
    assert words.count("null") == 11


def test_no_place_shows_whether_it_is_filled() -> None:
    """Every place, and every two places, as often as any other."""
    texts, blur = [text_of(9)] * 4000, clear()
    for rng in (secure_rng(), keyed_rng(bytes(range(32)))):
        filled = np.array([[w == "null" for w in words] for words in released(blur, texts, rng)])
        assert (filled.sum(axis=1) == 1).all()
        # 400 each; a standard deviation is 19
        assert np.abs(filled.sum(axis=0) - 400).max() < 5 * 19
    # Two places are filled together as often as any other two: 14 of 16 words, 120 pairs.
    filled = np.array(
        [[w == "null" for w in words] for words in released(blur, [text_of(14)] * 12_000, rng)]
    ).astype(int)
    together = (filled.T @ filled)[np.triu_indices(16, 1)]
    assert np.abs(together - 100).max() < 55


@pytest.mark.parametrize("kept", [("punctuation",), ("sentence-ends",), ("numbers", "unknown")])
def test_what_is_copied_keeps_its_place_among_the_words(kept: tuple[str, ...]) -> None:
    text = '"Cat," dog-sky (sea). Cat! Zork 12 dog... sky; sea cat dog sky sea? Cat'
    policies = TokenPolicies.of(keep=kept)
    [plain] = released(clear(policies=policies, length="exact"), [text], secure_rng())
    for _ in range(50):
        filled = clear(policies=policies).release(text, secure_rng()).text
        pieces = filled.replace("null", " ").split()
        assert "".join(pieces) == "".join("".join(plain).replace("null", ""))


@pytest.mark.parametrize("length", [None, "exact", 40])
@pytest.mark.parametrize("setting", ALL, ids=label)
def test_noise_is_bound_to_the_text(setting: Any, length: int | str | None, toy: Embedding) -> None:
    """An edited text under its id draws anew at every place: where the rest came out as before,
    two releases would show which word was changed.
    """
    blur = Privatizer(make(setting, toy, 0.1), length=length)
    words = [toy.words[i % len(toy)] for i in range(39)]
    rng = keyed_rng(bytes(range(32)))
    first, again, edited = [
        blur.release_batch([Record("7", " ".join(each))], rng).texts[0].split()
        for each in (words, words, [*words[:-1], toy.words[3]])
    ]
    assert first == again
    assert sum(map(str.__eq__, first, edited)) < len(first) / 2


@pytest.mark.skipif("INKBLUR_DATA" not in os.environ, reason="needs PAN 2018")
def test_sizes_do_not_name_the_authors_of_pan_2018() -> None:
    """Its 105 unknown texts have 77 lengths and four sizes."""
    from reproduction.corpora import pan18

    split, table = pan18(1), inkblur.load_embedding()
    assert split.train.authors is not None
    assert split.test.authors is not None
    named, different = {}, {}
    for length in ("exact", None):
        blur = Privatizer(Exponential(table, epsilon=1.0), length=length)
        attack = TextLengths(table, blur.ids).fit(split.train.texts, split.train.authors)
        shown = [" ".join(["the"] * len(blur.ids(text))) for text in split.test.texts]
        named[length] = int((attack.predict(shown) == split.test.authors).sum())
        different[length] = len(set(shown))
    assert different == {"exact": 77, None: 4}
    low, high = clopper_pearson(named[None], len(split.test.texts), 0.95)
    assert low <= 1 / 20 <= high
    assert named[None] <= named["exact"] / 2
