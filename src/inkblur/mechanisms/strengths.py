"""Light, medium and strong: epsilons at which a measured risk was small enough.

A strength is a promise about attacks, not a proof: at most 50 %, 25 % or 10 % of whole texts were
attributed to their author above chance by their words, by the strongest attack tried, on the worst
of several public collections (`inkblur.evaluation.risk`). That is neither the largest risk nor that
of every text: what is printed beside a release is `inkblur.documents.risks`, whose shares are kept
here. A strength was measured for one table and one mechanism, so it exists only there: for the
bundled table in the package, for others where the user measured it (`inkblur calibrate --authors`).
The guarantee never depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from inkblur.atomic_file import write_atomically
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import find
from inkblur.types import Strength

_STORED = "strengths.json"  # of the bundled table, written by tools/bundled/strengths.py
_SURVIVAL = (0.2, 0.5, 0.75)  # of the words, where no strength was measured
_ADVICE = (
    "give `epsilon=`, or measure the strengths once on public texts with known authors: "
    "`inkblur calibrate --authors FILE`"
)


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
    return _of_table(embedding).get(find(name).key(options), {})


def epsilon_for(strength: Strength, name: str, embedding: Embedding, **options: Any) -> float:
    """The epsilon of a strength, or an error that says what to use in its place.

    >>> import inkblur
    >>> table = inkblur.load_embedding()
    >>> light = epsilon_for(Strength.LIGHT, "staircase", table)
    >>> epsilon_for(Strength.MEDIUM, "staircase", table) < light
    True
    """
    known = _of_table(embedding)
    if not known:
        raise ParameterError(f"no strength was measured on {embedding.name}: {_ADVICE}")
    key = find(name).key(options)
    if strength in known.get(key, {}):
        return known[key][strength].epsilon
    others = [other for other, found in known.items() if strength in found]
    instead = f"use {' or '.join(others)}, or give `epsilon=`" if others else "give `epsilon=`"
    if key not in known:
        raise ParameterError(f"no strength was measured for {key} on {embedding.name}: {instead}")
    raise ParameterError(
        f"no setting of {key} that was tried on {embedding.name} is {strength.value}, which is at "
        f"most {strength.most_risk:.0%} of the texts attributed to their author by words: {instead}"
    )


def strength_of(mechanism: WordMechanism) -> tuple[Strength, MeasuredStrength] | None:
    """The strength whose setting this is, however it was described; None of any other."""
    for key, found in _of_table(mechanism.embedding).items():
        for strength, measured in found.items():
            if key.split()[0] == mechanism.name and measured.parameters == mechanism.parameters:
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


def keep_strengths(embedding: Embedding, key: str, found: Mapping[str, Any]) -> Path:
    """Keep what was measured for a table beside the user's other data; returns the file."""
    path = _own_file(embedding)
    body: dict[str, Any] = {"sha256": embedding.sha256, "strengths": {}}
    if path.is_file():
        body = _read(path)
    body["strengths"][key] = dict(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(body, indent=2) + "\n")
    return path


def _of_table(embedding: Embedding) -> dict[str, Strengths]:
    """By the mechanism's key; what the user measured goes before what the package holds."""
    bodies = [_packaged()]
    own = _own_file(embedding)
    if own.is_file():
        bodies.append(_read(own))
    known: dict[str, Strengths] = {}
    for body in bodies:
        if body["sha256"] == embedding.sha256:
            known |= {key: _strengths(found) for key, found in body["strengths"].items()}
    return known


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


def _packaged() -> dict[str, Any]:
    file = resources.files("inkblur.embeddings") / "data" / _STORED
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return body


def _own_file(embedding: Embedding) -> Path:
    from platformdirs import user_data_path

    folder = user_data_path("inkblur", appauthor=False) / "strengths"
    return folder / f"{embedding.sha256}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for found in body["strengths"].values():
            _strengths(found)
        str(body["sha256"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"cannot read the strengths in {path} ({type(error).__name__}): remove the file and "
            "run `inkblur calibrate --authors FILE` again"
        ) from None
    return body
