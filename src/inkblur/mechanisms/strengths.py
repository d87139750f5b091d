"""Light, medium and strong: epsilons at which a measured risk was small enough.

A strength is a promise about attacks, not a proof: at most 50 %, 25 % or 10 % of whole texts were
attributed to their author above chance by their words, by the strongest attack tried, on the worst
of several public collections. That is neither the largest risk nor that of every text: what is
printed beside a release is `inkblur.documents.risks`, whose shares are kept here. A strength was
measured for one table and one mechanism, the staircase over the bundled table, so it exists only
there (`tools/bundled/strengths.py` finds it). The guarantee never depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import find
from inkblur.types import Strength

STAIRCASE = "staircase"  # the mechanism that has strengths
_STORED = "strengths.json"  # of the bundled table, written by tools/bundled/strengths.py
_SURVIVAL = (0.2, 0.5, 0.75)  # of the words, where no strength was measured


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """How often an attack on public texts succeeded: a lower bound."""

    share: float
    low: float  # its interval, over texts or authors like these
    high: float
    guessing: float  # the share that guessing would reach

    def text(self) -> str:
        """As it is printed.

        >>> MeasuredShare(0.84, 0.77, 0.91, 0.01).text()
        '84% (77% to 91%; guessing: 1%)'
        """
        return (
            f"{self.share:.0%} ({self.low:.0%} to {self.high:.0%}; guessing: {self.guessing:.0%})"
        )


@dataclass(frozen=True, slots=True)
class MeasuredStrength:
    """The setting that a strength stands for, and what was measured of it."""

    epsilon: float
    parameters: Mapping[str, Any]  # of the mechanism as it was measured, epsilon among them
    risks: Mapping[str, Mapping[int, MeasuredShare]]  # by name and words of a text; often none


Strengths = dict[Strength, MeasuredStrength]


def measured_strengths(name: str, embedding: Embedding, **options: Any) -> Strengths:
    """The strengths that were measured for this mechanism and table; often none."""
    return _strengths(_stored(embedding).get(find(name).key(options), {}))


def epsilon_for(strength: Strength, name: str, embedding: Embedding, **options: Any) -> float:
    """The epsilon of a strength, or an error that says what to use in its place.

    >>> import inkblur
    >>> table = inkblur.load_embedding()
    >>> light = epsilon_for(Strength.LIGHT, "staircase", table)
    >>> epsilon_for(Strength.MEDIUM, "staircase", table) < light
    True
    """
    found = measured_strengths(name, embedding, **options)
    if strength not in found:
        raise ParameterError(
            f"`strength=` was measured for the staircase on the bundled word vectors, not for "
            f"{find(name).key(options)} on {embedding.name}: give `epsilon=`, or `level=` with "
            "`radius=`; `inkblur evaluate` measures what they leave to attackers"
        )
    return found[strength].epsilon


def strength_of(mechanism: WordMechanism) -> tuple[Strength, MeasuredStrength] | None:
    """The strength whose setting this is, however it was described; None of any other."""
    for strength, measured in measured_strengths(STAIRCASE, mechanism.embedding).items():
        if mechanism.name == STAIRCASE and measured.parameters == mechanism.parameters:
            return strength, measured
    return None


def usual_epsilons(name: str, embedding: Embedding, **options: Any) -> list[float]:
    """Epsilons to compare, smallest first: the strengths, or else three by survival of words."""
    measured = measured_strengths(name, embedding, **options)
    if measured:
        return sorted({found.epsilon for found in measured.values()})
    found: set[float] = set()  # the staircase's survival leaps: two shares can have one epsilon
    for survival in _SURVIVAL:
        with suppress(Unreachable):  # an angle cut off at 90 degrees keeps more than 20 %
            found.add(calibrate(name, embedding, survival=survival, **options))
    if not found:
        raise ParameterError(
            f"no epsilon lets one word in five survive {find(name).key(options)}, so there are no "
            "usual ones: give `epsilon=`"
        )
    return sorted(found)


def _strengths(body: Mapping[str, Any]) -> Strengths:
    return {
        Strength(name): MeasuredStrength(
            float(found["epsilon"]),
            found["parameters"],
            {
                risk: {int(words): MeasuredShare(**cell) for words, cell in cells.items()}
                for risk, cells in found.get("risks", {}).items()
            },
        )
        for name, found in body.items()
    }


def _stored(embedding: Embedding) -> dict[str, Any]:
    """What the package holds for this table, by the mechanism's key."""
    file = resources.files("inkblur.embeddings") / "data" / _STORED
    body = json.loads(file.read_text(encoding="utf-8"))
    found: dict[str, Any] = body["strengths"] if body["sha256"] == embedding.sha256 else {}
    return found
