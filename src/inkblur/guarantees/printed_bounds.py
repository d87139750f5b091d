"""Bounds as they are printed: rounded to the safe side, so that what is read is still a bound."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_EXACT = Context(prec=40)
_TENTH = _EXACT.divide(_EXACT.ln(Decimal(10)), 10)  # the loss of a tenth of a decimal power


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
