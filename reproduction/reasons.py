"""Why a claim does not hold: for every one that fails or stays open, where the reason lies.

- paper: what the paper did or prints cannot be as it says, or means something else;
- data: the paper's collection or vectors are not public or not at hand, and ours differ;
- sample: the number is on the right side, or near the line, and so few texts do not decide;
- ours: a claim that no paper makes was too bold.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from reproduction.result import Claim, Verdict


class Cause(Enum):
    """Where the reason lies."""

    PAPER = "paper"
    DATA = "data"
    SAMPLE = "sample"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why claims of one experiment do not hold."""

    experiment: str
    claims: str  # their names, as a pattern: "no-loss-*"
    cause: Cause
    text: str

    def fits(self, experiment: str, claim: Claim) -> bool:
        """Whether it is about this claim."""
        return experiment == self.experiment and fnmatchcase(claim.name, self.claims)


# The first that fits counts.
REASONS: tuple[Reason, ...] = ()

_UNDECIDED = "the interval has both sides of the line"
UNEXPLAINED = "not explained yet"


def reason(experiment: str, claim: Claim) -> str:
    """Cause and text for a claim that does not hold; empty for one that does.

    >>> from reproduction.estimate import Estimate
    >>> reason("made/up", Claim("rises", "", "", "", Estimate(1.0, -1.0, 3.0), 0.0))
    'sample: the interval has both sides of the line'
    """
    if claim.verdict is Verdict.HOLDS:
        return ""
    for one in REASONS:
        if one.fits(experiment, claim):
            return f"{one.cause.value}: {one.text}"
    if claim.undecided:
        return f"{Cause.DATA.value}: {claim.undecided}"
    if claim.verdict is Verdict.OPEN:
        return f"{Cause.SAMPLE.value}: {_UNDECIDED}"
    return UNEXPLAINED
