"""Proper nouns go, and nothing else: spaces, signs and other words stay as they are."""

from __future__ import annotations

import pytest

pytest.importorskip("textblob")

from reproduction.proper_nouns import without_proper_nouns


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        ("the cat sat; it was 3.5 kg.", "the cat sat; it was 3.5 kg."),
        ("We met Xanthippos\nin Ypsilanti (twice).", "We met \nin (twice)."),
        ("Don't ask Xanthippos’s doctor!", "Don't ask ’s doctor!"),
    ],
)
def test_what_is_left(text: str, left: str) -> None:
    assert without_proper_nouns(text) == left


def test_long_texts_keep_their_other_words() -> None:
    sentence = "the old bridge was closed last winter because the river had risen, and so on. "
    text = sentence * 50
    assert without_proper_nouns(text) == text
