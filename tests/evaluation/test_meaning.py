"""Meaning kept: right numbers on known movements, and honest counts of what has none."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.measures.meaning import meaning_kept


def test_nothing_moved_is_distance_0_and_cosine_1(toy: Embedding) -> None:
    texts = ["wordaa wordab wordac", "wordba wordbb"]
    found = meaning_kept(texts, list(texts), toy)
    assert found.earth_movers == 0.0
    assert found.cosine == pytest.approx(1.0)
    assert (found.compared, found.left_out) == (2, 0)


def test_one_word_moves_by_its_vectors(toy: Embedding) -> None:
    apart = np.linalg.norm(toy.vectors[0].astype(float) - toy.vectors[3].astype(float))
    assert meaning_kept(["wordaa"], ["wordad"], toy).earth_movers == pytest.approx(apart)
    half = meaning_kept(["wordaa wordab"], ["wordad wordab"], toy)
    assert half.earth_movers == pytest.approx(apart / 2)


def test_order_costs_nothing(toy: Embedding) -> None:
    found = meaning_kept(["wordaa wordab wordac"], ["wordac wordaa wordab"], toy)
    assert found.earth_movers == 0.0


def test_other_sizes_are_compared_by_shares(toy: Embedding) -> None:
    pytest.importorskip("ot", reason="needs POT")
    assert meaning_kept(
        ["wordaa wordab"], ["wordaa wordaa wordab wordab"], toy
    ).earth_movers == pytest.approx(0.0)
    moved = meaning_kept(["wordaa"], ["wordaa wordad"], toy).earth_movers
    apart = np.linalg.norm(toy.vectors[0].astype(float) - toy.vectors[3].astype(float))
    assert moved == pytest.approx(apart / 2)


def test_the_cosine_does_not_see_the_vocabulary_s_mean(toy: Embedding) -> None:
    far = Embedding(toy.words, toy.vectors + 100.0, name="shifted")
    plain = meaning_kept(["wordaa wordbf"], ["wordam wordbq"], toy).cosine
    assert meaning_kept(["wordaa wordbf"], ["wordam wordbq"], far).cosine == pytest.approx(
        plain, abs=1e-3
    )
    assert plain < 0.9


def test_texts_without_a_known_word_are_counted_not_scored(toy: Embedding) -> None:
    found = meaning_kept(["wordaa", "", "zebra", "wordab"], ["wordaa", "wordaa", "wordaa", ""], toy)
    assert (found.compared, found.left_out) == (1, 3)
    assert found.earth_movers == 0.0
    with pytest.raises(ParameterError, match="nothing can be"):
        meaning_kept(["zebra"], ["wordaa"], toy)
    with pytest.raises(ParameterError, match="do not match"):
        meaning_kept(["wordaa"], [], toy)


def test_function_words_take_part_only_when_asked() -> None:
    table = Embedding(["the", "a", "cat"], [[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], name="tiny")
    assert meaning_kept(["the cat"], ["a cat"], table).earth_movers == 0.0
    assert meaning_kept(["the cat"], ["a cat"], table, stop_words=True).earth_movers > 0.5
