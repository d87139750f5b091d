"""Counting an attack's success: strangers, silence and numbers in place of names."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pytest
from numpy.typing import ArrayLike

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW, attribute, number_authors
from inkblur.types import Ids


class Repeats:
    """Answers with the number that the text spells."""

    name = "repeats"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        return np.array([int(text) for text in texts])


def test_counts_and_shares() -> None:
    answers = ["0", "1", "1", "-1", "0", "1"]
    result = attribute(Repeats(), answers, [0, 0, 1, 1, 9, -1], known=[0, 0, 1, 4])
    assert (result.authors, result.known, result.unknown) == (3, 4, 4)
    assert (result.correct, result.undecided, result.strangers) == (2, 1, 2)
    assert result.accuracy == 0.5
    assert result.precision == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("known", "chance"),
    [
        ([0, 1, 4], 1 / 3),  # evenly among three
        ([0, 0, 1, 4], 0.75),  # always author 0, who has written most
        ([0, 1, 1, 4], 1 / 3),  # author 1 would be right once in four
        ([0, 0, 1, 1, 4], 0.5),  # 0 or 1, by a coin
    ],
)
def test_guessing_knows_who_has_written_most(known: list[int], chance: float) -> None:
    """An attack that answers one prolific author to everything has learned nothing from a text."""
    result = attribute(Repeats(), ["0"] * 4, [0, 0, 0, 1], known=known)
    assert result.accuracy == 0.75
    assert result.chance == pytest.approx(chance)


def test_an_attack_that_never_answers_has_no_precision() -> None:
    assert attribute(Repeats(), ["-1"], [0], known=[0, 1]).precision == 0.0


def test_only_strangers_is_an_error() -> None:
    with pytest.raises(ParameterError, match="no unknown text"):
        attribute(Repeats(), ["0", "0"], [5, DONT_KNOW], known=[0, 1])


def test_names_become_numbers() -> None:
    assert number_authors(["b", "a", None, "b", ("c", 1)]).tolist() == [0, 1, -1, 0, 2]
