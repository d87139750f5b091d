"""A guarantee in words: one sentence that can be quoted, then what it rests on and leaves open.

Bounds are printed rounded to the safe side, so that what is read is still a bound.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from inkblur.types import Metric, Unit, counted

if TYPE_CHECKING:
    from inkblur.guarantees.guarantee import Guarantee

_EXACT = Context(prec=40)
_TENTH = _EXACT.divide(_EXACT.ln(Decimal(10)), 10)  # the loss of a tenth of a decimal power

_DISTANCE_NAMES = {
    Metric.EUCLIDEAN: "Euclidean distance",
    Metric.MAHALANOBIS: "regularized Mahalanobis distance",
    Metric.MANHATTAN: "Manhattan distance",
}
_KINDS = {
    Unit.SEQUENCE: "texts",
    Unit.BAG: "bags",
    Unit.VECTOR: "documents",
}
# What a discrete bound may count in place of all words.
_DIFFERENCES = {
    Unit.SEQUENCE: "texts that differ in only k positions",
    Unit.BAG: "bags that differ in only k words",
}


def rounded_up(value: float) -> str:
    """Four digits, rounded up: a bound that is printed must still be one.

    >>> rounded_up(1.00001), rounded_up(2.0), rounded_up(math.inf)
    ('1.001', '2', 'inf')
    """
    return _four_digits(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """Four digits, rounded down: for what is "at least" so large.

    >>> rounded_down(1.99999)
    '1.999'
    """
    return _four_digits(value, ROUND_FLOOR)


def exp_up(loss: float) -> float:
    """exp(loss), rounded up to the next float: `math.exp` rounds to the nearest, or nearly so.

    >>> exp_up(0.0), exp_up(1e-20) > 1
    (1.0, True)
    """
    if loss == 0:
        return 1.0
    exact = _EXACT.next_plus(_EXACT.exp(Decimal(loss)))
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def factor(loss: float) -> str:
    """exp(loss), rounded up: it follows "at most".

    >>> factor(8.0), factor(100.0)
    ('2,981', '10^43.5')
    """
    if not math.isfinite(loss):
        return "infinity"
    if loss < math.log(1e6):
        step = Decimal("0.01") if loss < math.log(100) else Decimal(1)
        return f"{Decimal(exp_up(loss)).quantize(step, ROUND_CEILING):,}"
    return f"10^{math.ceil(_EXACT.divide(Decimal(loss), _TENTH)) / 10:.1f}"


def _four_digits(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    digits = Context(prec=4, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(digits):.4g}"


def sentence(promise: Guarantee) -> str:
    """The promise in one sentence that can be quoted."""
    if promise.void:
        return f"No privacy guarantee: {promise.void}."
    inputs, factor, meaning = _terms(promise)
    return (
        f"For any two {inputs}, every possible output is at most {factor} times as likely from "
        f"one as from the other, where epsilon = {rounded_up(promise.epsilon)}{meaning}"
        f"{_in_numbers(promise)}."
    )


def lines(promise: Guarantee) -> list[str]:
    """What that sentence rests on and what it leaves open, one full sentence each."""
    lines = [] if promise.void else _fine_print(promise)
    if promise.releases > 1:
        lines.append(f"This is the sum of {promise.releases} releases of the same text.")
    lines += [f"Note that {line}." for line in promise.reveals]
    lines += [f"Not protected (released as is): {line}." for line in promise.passed]
    if not promise.void:
        lines += [f"This assumes that {line}." for line in promise.assumptions]
    return lines


def _in_numbers(promise: Guarantee) -> str:
    """What a bound that needs no distance comes to, for one word and for a typical text."""
    if promise.metric is not Metric.DISCRETE or promise.unit not in _DIFFERENCES:
        return ""
    said = f": a factor of {factor(promise.epsilon)} if they differ in one word"
    words = promise.typical_words if promise.size is None else promise.size
    if words in (None, 1):
        return said
    loss = rounded_up(words * promise.epsilon)
    if promise.size is not None:
        return f"{said}, and exp({loss}) if they differ in every word"
    return (
        f"{said}, and exp({loss}) if they are released as {words:,} words, a typical size, and "
        "differ in every one"
    )


def _fine_print(promise: Guarantee) -> list[str]:
    lines = []
    if promise.space:
        detail = f" ({promise.metric_detail})" if promise.metric_detail else ""
        source = f"the vectors of embedding {promise.space[:12]}"
        lines.append(f"Distances{detail} are measured between {source}.")
    if promise.metric is Metric.DISCRETE and promise.unit in _DIFFERENCES:
        count = "N" if promise.size is None else promise.size
        lines.append(f"For {_DIFFERENCES[promise.unit]}, k replaces {count}.")
    if promise.euclidean:
        low, high = (rounded_up(e) for e in promise.euclidean)
        lines.append(
            "Measured by Euclidean distance between the same vectors, epsilon is at most "
            f"{high} (and, in the best protected direction, {low})."
        )
    if promise.bounds:
        weaker = ", ".join(f"{name} {rounded_up(bound)}" for name, bound in promise.bounds)
        lines.append(f"Weaker proved bounds on epsilon: {weaker}.")
    if promise.delta:
        lines.append(
            "Random numbers have finitely many bits, so the distribution of each word's "
            "replacement differs from the one in the proof by up to delta = "
            f"{rounded_up(promise.delta)} in total variation."
        )
    return lines


def _terms(promise: Guarantee) -> tuple[str, str, str]:
    """The inputs compared, the factor between them, and what its symbols mean."""
    count = str(promise.size) if promise.size is not None else "N"
    if promise.unit is Unit.TEXT:
        return "texts, whatever their words and length", "exp(epsilon)", " for the whole text"
    if promise.unit is Unit.WORD:
        inputs, times = "words", "epsilon"
    else:
        kind = _KINDS[promise.unit]
        if promise.unit is Unit.VECTOR:
            inputs = kind
        elif promise.size:
            inputs = f"{kind} of {counted(promise.size, 'word')} each"
        else:
            inputs = f"{kind} released as the same number of words N"
        times = f"{count} x epsilon"
    if promise.metric is Metric.DISCRETE:
        whatever = "" if promise.unit is Unit.WORD else ", whatever they say"
        per_word = "" if promise.unit is Unit.WORD else " per word"
        return inputs + whatever, f"exp({times})", per_word
    name = f"the {_DISTANCE_NAMES[promise.metric]}"
    if promise.unit is Unit.WORD:
        return inputs, "exp(epsilon x d)", f" and d is {name} between their public vectors"
    if promise.unit is Unit.SEQUENCE:
        total = f"{name} between the public vectors of their words, added up over all positions"
    else:
        total = f"{count} times their Earth Mover's distance, which measures words by {name}"
        total += " between their public vectors"
    return inputs, "exp(epsilon x D)", f" and D is {total}"
