"""How a language model's base is chosen: by a rule, on sentences that are not judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.fluent import _ratio
from benchmarks.fluent_data import (
    SHIPPED,
    TAUS,
    Choice,
    Shape,
    judged_sentences,
    searched_sentences,
)
from benchmarks.fluent_search import FACTORS, MARGIN, all_shapes, best_tau, ranked
from inkblur.mechanisms.staircase.causal_model import PROMPT, TRUST
from inkblur.mechanisms.staircase.conditional import DELTA, FIT

SHORT = Shape(0.1, 0.0, 1.0, "")
FLUENT = Shape(0.1, 0.02, 0.5, "")


def trials(shape: Shape | None, cosine: float, log: float) -> list[dict[str, Any]]:
    """A shape with the same figures at every epsilon and tau."""
    if shape is None:
        return [
            {"base": "frequency", "epsilon": epsilon, "cosine": cosine, "log_perplexity": log}
            for epsilon in TAUS
        ]
    own = {name: getattr(shape, name) for name in ("delta", "fit", "trust", "prompt")}
    return [
        {
            "base": "lm",
            "epsilon": epsilon,
            "tau": tau * factor,
            "shape": own,
            "cosine": cosine,
            "log_perplexity": log,
        }
        for epsilon, tau in TAUS.items()
        for factor in FACTORS
    ]


def test_the_lowest_perplexity_wins_at_equal_cosine() -> None:
    lines = trials(None, 0.3, 8.0) + trials(SHORT, 0.35, 7.5) + trials(FLUENT, 0.35, 7.0)
    assert [choice.shape for _, choice in ranked(lines)] == [FLUENT, SHORT]
    assert ranked(lines)[0][0] == pytest.approx(-1.0)


def test_a_base_that_loses_meaning_does_not_win() -> None:
    lost = trials(None, 0.3, 8.0) + trials(SHORT, 0.306, 7.5) + trials(FLUENT, 0.280, 7.0)
    assert ranked(lost)[0][1].shape == SHORT


def test_a_shape_that_was_not_tried_everywhere_is_left_out() -> None:
    lines = trials(None, 0.3, 8.0) + trials(SHORT, 0.35, 7.5) + trials(FLUENT, 0.35, 7.0)[:-1]
    assert [choice.shape for _, choice in ranked(lines)] == [SHORT]


def test_tau_is_the_largest_that_keeps_the_cosine() -> None:
    points = [(0.001, 0.40, 0.0), (0.002, 0.36, -0.5), (0.004, 0.28, -1.0)]
    loss, tau = best_tau(points, 0.32 + MARGIN)
    assert 0.002 < tau < 0.004
    assert -0.75 < loss < -0.5


def test_what_is_shipped_was_chosen() -> None:
    """A constant changed by hand is not what the rule chose."""
    chosen = Choice.read(SHIPPED)
    assert chosen.shape == Shape(DELTA, FIT, TRUST, PROMPT)
    assert chosen.shape in all_shapes()
    assert set(chosen.taus) == set(TAUS)


def test_what_is_judged_was_not_searched_on() -> None:
    texts = [
        " ".join(
            f"Text {number} says for the {time}th time that it has words enough for one."
            for time in range(9)
        )
        for number in range(10)
    ]
    searched, judged = searched_sentences(texts, 30), judged_sentences(texts, 30)
    assert len(set(searched)) == len(set(judged)) == 30
    assert not {each.split()[1] for each in searched} & {each.split()[1] for each in judged}


def test_few_sentences_come_from_many_texts() -> None:
    texts = [
        f"Number {n} has one sentence that is long enough to be taken here. Short." * 2
        for n in range(20)
    ]
    assert len({each.split()[1] for each in searched_sentences(texts, 5)}) == 5


def test_perplexities_are_compared_at_equal_cosine() -> None:
    own = [np.array([-1.0, -2.0]), np.array([-3.0])]
    plain = [(0.3, [logs - 1 for logs in own]), (0.2, [logs - 3 for logs in own])]
    for cosine, log in ((0.3, -1.0), (0.25, -2.0), (0.2, -3.0), (0.4, -1.0), (0.1, -3.0)):
        assert np.log(_ratio(own, cosine, plain)) == pytest.approx([log] * 3)


def test_shapes_are_tried_in_one_order_everywhere() -> None:
    assert all_shapes() == all_shapes()
    assert len(set(all_shapes())) == len(all_shapes())
