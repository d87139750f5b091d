"""What a search is to reach: at most so much attack, or at least so much utility.

    attack<=0.2     most utility, where the strongest attack names the authors of at most 20 % of
                    the texts
    utility>=0.8    least attack, where at least 80 % of the utility is left

`trials` says how the two are measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from inkblur.errors import ParameterError
from inkblur.evaluation.tuning.trials import Trial

_WRITTEN = re.compile(r"\s*(attack|utility)\s*(<=|>=)\s*([0-9]*\.?[0-9]+)\s*")


class Aim(Enum):
    """Which of the two is bounded."""

    ATTACK = "attack"
    UTILITY = "utility"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on one of the two; the other is to be as good as it can be."""

    aim: Aim
    bound: float  # of attack: in [0, 1); of utility: in (0, 1]

    def __post_init__(self) -> None:
        if self.aim is Aim.ATTACK and not 0 <= self.bound < 1:
            raise ParameterError(
                f"an attack of {self.bound:g} is not a bound: it must be a share of texts, below 1"
            )
        if self.aim is Aim.UTILITY and not 0 < self.bound <= 1:
            raise ParameterError(
                f"a utility of {self.bound:g} is not a bound: it must be a share of the original "
                "utility, above 0 and at most 1"
            )

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target as it is written on the command line.

        >>> Target.parse("attack<=0.2")
        Target(aim=<Aim.ATTACK: 'attack'>, bound=0.2)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ParameterError(
                f"cannot read the target {text!r}; write 'attack<=0.2' or 'utility>=0.8', in "
                "quotes, because the shell takes < and > for itself"
            )
        aim = Aim(found[1])
        if found[2] != ("<=" if aim is Aim.ATTACK else ">="):
            raise ParameterError(
                f"the target {text!r} points the wrong way: attack has a ceiling (attack<=0.2), "
                "utility a floor (utility>=0.8)"
            )
        return cls(aim, float(found[3]))

    def __str__(self) -> str:
        sign = "<=" if self.aim is Aim.ATTACK else ">="
        return f"{self.aim.value}{sign}{self.bound:g}"

    def sentence(self) -> str:
        """What is wanted, in words."""
        if self.aim is Aim.ATTACK:
            return (
                f"most utility, where the strongest attack identifies the author of at most "
                f"{self.bound:.0%} of the texts"
            )
        return f"least attack, where at least {self.bound:.0%} of the utility is left"

    def missed_by(self, trial: Trial) -> float:
        """How far beyond the bound, 0 where it is met (a mean's rounding is no miss)."""
        over = trial.attack - self.bound if self.aim is Aim.ATTACK else self.bound - trial.utility
        return max(0.0, round(over, 12))

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """The best that meets the bound; None where none does. The first of equals."""
        allowed = [trial for trial in trials if not self.missed_by(trial)]
        return max(allowed, key=self._worth, default=None)

    def nearest(self, trials: Sequence[Trial]) -> Trial:
        """The one that misses the bound by least."""
        return min(trials, key=lambda t: (self.missed_by(t), *(-worth for worth in self._worth(t))))

    def _worth(self, trial: Trial) -> tuple[float, float]:
        if self.aim is Aim.ATTACK:
            return trial.utility, -trial.attack
        return -trial.attack, trial.utility


def frontier(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Those that no other beats in one measure without losing in the other, by rising attack.

    >>> from types import SimpleNamespace as At
    >>> found = [At(attack=a, utility=u) for a, u in ((0.1, 0.5), (0.2, 0.4), (0.3, 0.9))]
    >>> [trial.attack for trial in frontier(found)]
    [0.1, 0.3]
    """
    reached: list[Trial] = []
    for trial in sorted(trials, key=lambda t: (t.attack, -t.utility)):
        if not reached or trial.utility > reached[-1].utility:
            reached.append(trial)
    return tuple(reached)
