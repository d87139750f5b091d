"""A bound that is printed is still one: "at most" is rounded up, "at least" down."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import inkblur
from inkblur.evaluation.audit import Audit
from inkblur.evaluation.releasers import releaser
from inkblur.guarantees import factor, rounded_down, rounded_up
from inkblur.mechanisms.strengths import TypicalLoss
from inkblur.spec import ReleaseSpec

LOSSES = st.floats(1e-6, 600.0)


def as_power(tenths: int) -> float:
    """The loss of a whole number of tenths of a decimal power: where rounding shows."""
    return tenths / 10 * math.log(10)


@given(st.floats(0, 1e300))
def test_four_digits_never_cross_the_value(value: float) -> None:
    assert float(rounded_down(value)) <= value <= float(rounded_up(value))


@given(LOSSES, LOSSES, LOSSES)
def test_the_measured_loss_and_its_claim(bound: float, loss: float, ceiling: float) -> None:
    found = Audit(
        claim="",
        subject="x",
        bound=bound,
        loss=loss,
        estimate=loss,
        hits=(1, 1),
        confirmed_on=9,
        draws=9,
        confidence=0.99,
        ceiling=ceiling,
    )
    said = found.verdict()
    assert _after("the claim is at most", said) >= bound
    assert _after("the privacy loss is at least", said) <= loss
    if found.powerless and not found.flagged:
        assert _after("can show a loss of", said) >= ceiling


@given(LOSSES, LOSSES)
def test_factors_in_plain_words(near: float, pair: float) -> None:
    for discrete in (False, True):
        said = TypicalLoss(1.0, 2.0, near, pair, 9, discrete=discrete).sentences()[0]
        factors = re.findall(r"at most (10\^)?([\d.,]*\d)", said)
        logs = [
            float(number) * math.log(10) if power else math.log(float(number.replace(",", "")))
            for power, number in factors
        ]
        losses = [pair] if discrete else [near, pair]
        assert all(told >= loss - 1e-12 for told, loss in zip(logs, losses, strict=True))


@given(st.one_of(st.floats(0, 600), st.floats(1e-100, 1e-15), st.integers(1, 600).map(as_power)))
@example(math.log(3))
def test_no_factor_is_below_the_power_that_it_stands_for(loss: float) -> None:
    exact = Context(prec=400)
    power, number = re.fullmatch(r"(10\^)?([\d.,]+)", factor(loss)).groups()  # type: ignore[union-attr]
    told = Decimal(number.replace(",", ""))
    told = exact.power(10, told) if power else told
    assert told >= exact.exp(Decimal(loss))
    assert told <= exact.exp(Decimal(loss)) * Decimal("1.26")  # a tenth of a decimal power


@pytest.mark.parametrize("epsilon", [0.70001, 1.23456, 3.00004])
def test_the_bound_between_documents_that_evaluate_prints(epsilon: float) -> None:
    rows = np.random.default_rng(1).normal(size=(20, 3))
    table = inkblur.Embedding([f"word{chr(97 + i)}" for i in range(20)], rows, name="toy")
    spec = ReleaseSpec("staircase", epsilon, release="tf", length=7)
    found = releaser(replace(spec, accept_weak=True), table)
    (said,) = found.worth()
    assert _after("log of the likelihood ratio is at most", said) >= found.guarantee.loss(1.0)


def _after(words: str, text: str) -> float:
    found = re.search(re.escape(words) + r" ([\d.e+-]*\d)", text)
    assert found is not None, text
    return float(found[1])
