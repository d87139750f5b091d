"""What one record costs in one release, in whole micro-units, so that sums are exact."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from inkblur.errors import ParameterError

UNIT = 1_000_000  # micro-units in one unit of privacy loss
MOST = 1 << 62  # what a 64-bit column holds, with room for sums


def micros(loss: float, times: int = 1) -> int:
    """`times` times a privacy loss in micro-units, exact but for one rounding, which is upwards.

    Refuses what would refill a budget or vanish in it: negative, infinite, NaN and subnormal.

    >>> micros(8.0, 100)
    800000000
    >>> micros(1e-9)
    1
    """
    if times < 0:
        raise ParameterError(f"a record cannot have {times} words")
    if not math.isfinite(loss) or loss < 0 or 0 < loss < sys.float_info.min:
        raise ParameterError(f"a privacy loss is a normal number of at least 0, got {loss!r}")
    above, below = loss.as_integer_ratio()
    whole = -(-above * times * UNIT // below)
    if whole >= MOST:
        raise ParameterError(
            f"a privacy loss of {loss:g} x {times} is too large to keep account of"
        )
    return whole


def shown(amount: int) -> str:
    """An amount in units, rounded up at the third decimal.

    >>> shown(1_234_567_890)
    '1,234.568'
    """
    return f"{-(-amount // 1000) / 1000:,.10g}"


class Charge(NamedTuple):
    """One text of one record: whose it is, and what releasing it once costs."""

    id: str  # the record's id
    column: str  # which of its texts; a record's columns add up
    content: str  # the true text; only a keyed hash of it is kept
    words: int
    amount: int  # micro-units; see `micros`
    person: str | None = None  # whom the record belongs to, where a column says so
    base: str = ""  # what its draw was bound to besides key, content and spec


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that records or people may spend in all, in micro-units of one space."""

    record: int | None = None
    person: int | None = None

    @classmethod
    def of(cls, record: float | None, person: float | None) -> Budget:
        """A budget in units of loss; None where there is no limit."""
        for limit in (record, person):
            if limit is not None and not (math.isfinite(limit) and limit > 0):
                raise ParameterError(f"a budget is a number above 0, got {limit!r}")
        # A limit is rounded down, as what is spent is rounded up.
        record_limit, person_limit = (
            None if limit is None else math.floor(Fraction(limit) * UNIT)
            for limit in (record, person)
        )
        return cls(record_limit, person_limit)

    def __bool__(self) -> bool:
        """Whether anything is limited."""
        return self.record is not None or self.person is not None


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A record that would spend more than it may."""

    position: int  # in the order the records were charged, from 0
    id: str
    limit: str  # "record" or "person"
    left: int  # micro-units that were left before this release
    asked: int  # micro-units that this release would add

    def sentence(self) -> str:
        """What is left, and what was asked."""
        return (
            f"record {self.id}: {shown(self.left)} left of the {self.limit}'s budget, "
            f"this release takes {shown(self.asked)}"
        )
