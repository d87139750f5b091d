"""Bounds as they are printed: rounded to the safe side, so that what is read is still a bound."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


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


def factor(loss: float) -> str:
    """exp(loss), rounded up: it follows "at most".

    >>> factor(8.0), factor(100.0)
    ('2,981', '10^43.5')
    """
    if not math.isfinite(loss):
        return "infinity"
    if loss < math.log(100):
        return f"{math.ceil(100 * math.exp(loss)) / 100:,.2f}"
    if loss < math.log(1e6):
        return f"{math.ceil(math.exp(loss)):,}"
    return f"10^{math.ceil(10 * loss / math.log(10)) / 10:.1f}"


def _four_digits(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    digits = Context(prec=4, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(digits):.4g}"
