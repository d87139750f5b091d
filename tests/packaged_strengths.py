"""The staircase's strengths as the package holds them: tests read them here, none repeats them."""

from __future__ import annotations

import inkblur
from inkblur.guarantees.wording import exp_up, rounded_up
from inkblur.mechanisms.strengths import measured_strengths

_MEASURED = measured_strengths("staircase", inkblur.load_embedding())
EPSILON = {strength.value: found.epsilon for strength, found in _MEASURED.items()}


def times(strength: str) -> str:
    """How much likelier an output can be for one word than for another, as pages say it."""
    return f"{rounded_up(exp_up(EPSILON[strength]))} times"


def loss(strength: str, words: int) -> str:
    """What so many words lose together, as pages say it."""
    return f"loss of {rounded_up(words * EPSILON[strength])},"
