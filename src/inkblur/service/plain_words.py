"""What a privacy loss means, for people."""

from __future__ import annotations

import math

from inkblur.guarantees import Guarantee, exp_up, rounded_up
from inkblur.pools import PoolStaircase
from inkblur.types import Metric, Unit, counted


def loss_of_a_word(guarantee: Guarantee) -> str:
    """For one draw.

    >>> loss_of_a_word(Guarantee(epsilon=2.5, metric=Metric.DISCRETE))
    'Each word: no output is more than 12.19 times as likely for the true word as for any other.'
    """
    if guarantee.metric is not Metric.DISCRETE:
        return guarantee.sentence()
    if guarantee.unit is Unit.TEXT:
        return "One draw for the whole text: none of its words passes through."
    return (
        f"Each word: no output is more than {_factor(guarantee.epsilon)} times as likely for the "
        "true word as for any other."
    )


def loss_of_a_text(guarantee: Guarantee, words: int) -> str:
    """For this many draws."""
    if guarantee.metric is not Metric.DISCRETE:
        return "The losses of a text's words add up, each weighted by how far apart two words are."
    if guarantee.unit is Unit.TEXT:
        return (
            f"This text: no output is more than {_factor(guarantee.epsilon)} times as likely for "
            "it as for any other text."
        )
    total = words * guarantee.epsilon
    proved = (
        f"This text: {counted(words, 'word adds', 'words add')} up to a loss of "
        f"{rounded_up(total)}, so against a text with other words throughout the factor is at most "
        f"{_factor(total)}."
    )
    if total <= math.log(1000):
        return proved
    return (
        f"{proved} That alone promises little about the text as a whole: what attacks make of such "
        "texts has to be measured."
    )


def what_a_pool_keeps(mechanism: PoolStaircase) -> str:
    """Of a text that is replaced by one of the pool's."""
    expected, pool = mechanism.expected, mechanism.pool
    near = (
        f"the mean cosine between a text and its replacement is {expected.meaning:z.2f}, and "
        f"{expected.random:z.2f} where one is drawn blindly"
    )
    if not pool.labeled:
        return f"On the pool's own texts, {near}."
    return f"On the pool's own texts the label stays in {expected.label:.0%} of the draws; {near}."


def _factor(loss: float) -> str:
    return rounded_up(exp_up(loss)) if loss <= math.log(9999) else f"exp({rounded_up(loss)})"
