"""What happened: whose texts were released, at what cost in whole micro-units: sums are exact.

There is one currency: the pure epsilon between any two texts of the same released size, whatever
mechanism drew. What has no finite one is entered as unbounded.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from inkblur.errors import ParameterError
from inkblur.types import normalized_form

CURRENCY = "epsilon between texts of one size"  # how entries of charges are marked
UNBOUNDED = "unbounded"  # likewise, where true words may show: the amounts are what is known
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
    content: str  # the true text; only keyed hashes of it are kept
    words: int
    amount: int  # micro-units; see `micros`
    person: str | None = None  # whom the record belongs to, where a column says so
    base: str = ""  # what its draw was bound to besides key, content and spec
    named: bool = True  # whether somebody chose the id; else the content names the record


class ChargeRow(NamedTuple):
    """A charge as it is kept: hashes in place of everything that names someone."""

    id: bytes  # of the record: of its id, or of its normalized content
    content: bytes
    person: bytes | None
    draw: bytes
    words: int
    amount: int


class Spent(NamedTuple):
    """What a record or a person has spent in all its releases."""

    amount: int = 0  # micro-units
    releases: int = 0  # counted for records alone
    unbounded: bool = False  # one of them had no finite loss, or one that is not known


@dataclass(frozen=True, slots=True)
class Charged:
    """What a batch of charges came to: all were entered, or none if any is `exceeded`."""

    exceeded: tuple[Exceeded, ...] = ()
    replayed: int = 0  # charges that repeat an earlier draw and cost nothing
    most_spent: int = 0  # micro-units of the record that has spent most, this release included
    most_of_a_person: int = 0  # micro-units, of the person who has spent most
    most_releases: int = 0  # of the record that was released most often, this one included
    unbounded: bool = False  # whether one of these records was released without a bound before

    def joined(self, later: Charged) -> Charged:
        """Of two batches of one release."""
        return Charged(
            (),
            self.replayed + later.replayed,
            max(self.most_spent, later.most_spent),
            max(self.most_of_a_person, later.most_of_a_person),
            max(self.most_releases, later.most_releases),
            self.unbounded or later.unbounded,
        )


def owned(name: str, caller: str) -> str:
    """A record's id, text or person as one caller's own: no other caller can name it.

    >>> owned("7", "alice"), owned("7", "")
    ('5:alice:7', '7')
    """
    return f"{len(caller)}:{caller}:{name}" if caller else name


def normalized(text: str) -> str:
    """A text as its record's name: other spaces, capitals or forms of a letter are no new record.

    >>> normalized(" The\u00a0SOUP "), normalized("\uff33oup")
    ('the soup', 'soup')
    """
    if not text.isascii():
        folded = normalized_form("NFKC", text).casefold()
        text = normalized_form("NFKC", folded)
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that records or people may spend in all, in micro-units."""

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
    unbounded: bool = False  # nothing is left, because an earlier release has no finite loss

    def sentence(self) -> str:
        """What is left, and what was asked."""
        if self.unbounded:
            return (
                f"record {self.id}: an earlier release of this {self.limit} has no finite loss, or "
                "one that is not known, so nothing is left of the budget"
            )
        left = shown(self.left // 1000 * 1000)  # rounded down
        return (
            f"record {self.id}: {left} left of the {self.limit}'s budget, this release takes "
            f"{shown(self.asked)}"
        )
