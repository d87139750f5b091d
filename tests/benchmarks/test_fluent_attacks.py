"""How author attacks on two bases are compared: text by text, whatever the passages and halves."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fluent_attacks import Naming
from inkblur.evaluation import Attempt, AuthorTexts

# Four authors. Author 3 has two texts, and the first text of author 2 has two passages.
SOURCE = np.array([0, 1, 2, 2, 3, 4])
TEXTS = AuthorTexts(("a",) * 4, np.arange(4), ("b",) * 6, np.array([0, 1, 2, 2, 3, 3]))


def naming(right: dict[str, list[int]]) -> Naming:
    """From whether each passage was named rightly, by attack; halves as `attempts` makes them."""
    tried = [
        Attempt(
            half,
            attack,
            "static",
            None,
            2,
            own.attacked_authors,
            np.array(hits)[np.isin(TEXTS.attacked_authors, own.attacked_authors)] == 1,
        )
        for half, own in enumerate(TEXTS.halves())
        for attack, hits in right.items()
    ]
    return Naming.of(tried, TEXTS, SOURCE)


def test_authors_count_alike_and_so_do_the_passages_of_a_text() -> None:
    found = naming({"one": [1, 0, 1, 0, 1, 0]})
    assert found.by_text["static one"].tolist() == [1, 0, 0.5, 1, 0]
    assert found.authors.tolist() == [0, 1, 2, 3, 3]
    assert found.facts()["static one"]["share"] == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)


def test_the_strongest_attacks_are_compared() -> None:
    strong = naming({"one": [0, 0, 0, 0, 0, 0], "other": [1, 1, 1, 1, 0, 0]})
    weak = naming({"one": [1, 0, 0, 0, 0, 0], "other": [0, 0, 0, 0, 0, 0]})
    more, low, high = strong.more_than(weak)
    assert more == pytest.approx(0.75 - 0.25)
    assert low <= more <= high
    assert strong.more_than(strong) == [0.0, 0.0, 0.0]
    assert weak.more_than(strong)[0] == pytest.approx(-more)
