"""Nothing that nobody sees comes out: a message hidden in signs, spaces or unseen characters."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
from inkblur.documents.analysis import PUNCTUATION
from inkblur.documents.policies import TOKEN_CLASSES
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import seeded_rng
from tests.laws.catalogue import ALL, label, make

TABLE = Embedding(["alpha", "beta", "abba"], [[0, 0], [0, 2], [2, 1]], name="three")
EVERYTHING = TokenPolicies.of(keep=TOKEN_CLASSES)
NAME = "garcia"
HIDDEN = {
    "tag characters": "".join(chr(0xE0000 + ord(letter)) for letter in NAME),
    "variation selectors": "".join(chr(0xE0100 + ord(letter)) for letter in NAME),
    "private use": "".join(chr(0xE000 + ord(letter)) for letter in NAME),
    "zero width": "".join("\u200b\u200c"[ord(letter) % 2] for letter in NAME),
    "joiners": "\u200d\u200c\u2060\ufeff",
    "unassigned letters": "\U000323b0\U000323b1",
    "emoji": "👩🏽\u200d⚕\ufe0f",
    "spaces": "\u2000\u2001\u2002\u2003\x1c\x85",
    "fillers": "\u3164\u115f\uffa0",
    "control characters": "\x00\x01\x7f",
}
FRAMES = (
    "alpha {} beta",
    "alpha{}beta",
    "see http://a.b/{}c now",
    "12{}34",
    "a{}@b.org",
    "{}",
    "z{}q!",
)


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_no_hidden_character_comes_out_even_if_everything_is_kept(
    setting: tuple[str, dict[str, Any]],
) -> None:
    blur = Privatizer(make(setting, TABLE, 1.0), policies=EVERYTHING, length="exact")
    for kind, hidden in HIDDEN.items():
        for frame in FRAMES:
            if kind == "emoji" and "://" in frame:
                continue  # an address is copied with all that can be seen of it
            released = blur.release(frame.format(hidden), seeded_rng(1)).text
            assert set(hidden).isdisjoint(released), (kind, frame)


@given(st.text(max_size=30))
@settings(deadline=None, max_examples=300)
def test_keep_punctuation_copies_punctuation_and_nothing_else(text: str) -> None:
    blur = Privatizer(
        Laplace(TABLE, epsilon=1.0), policies=TokenPolicies.of(keep=["punctuation"]), length="exact"
    )
    released = blur.release(text, seeded_rng(1)).text
    assert set(released) <= PUNCTUATION | set("alphabet ")


def test_common_punctuation_is_kept() -> None:
    blur = Privatizer(
        Laplace(TABLE, epsilon=1.0), policies=TokenPolicies.of(keep=["punctuation"]), length="exact"
    )
    marks = f"{string.punctuation.replace('@', '')}“”‘…"
    assert blur.release(marks, seeded_rng(1)).text == marks
