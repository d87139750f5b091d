"""Light, medium and strong: epsilons at which a measured risk was small enough.

A strength is a promise about attacks, not a proof: at most 50 %, 25 % or 10 % of whole texts were
attributed to their author above chance by their words, by the strongest attack tried, on the worst
of several public collections (`inkblur.evaluation.risk`). How long a text is shows at every
epsilon; the risk that is printed counts that as well. A strength was measured for one table and one
mechanism, so it exists only there: for the bundled table in the package, for others where the user
measured it (`inkblur calibrate --authors`). The guarantee never depends on it.
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
# Nearly all texts that the package's strengths were attacked on have 300 to 850 words, and the more
# words an attacker sees, the larger is the risk (docs/evaluation.md, "Short texts are safer").
_LONGEST_ATTACKED = 1_000
_SURVIVAL = (0.2, 0.5, 0.75)  # of the words, where no strength was measured
_ADVICE = (
    "give `epsilon=`, or measure the strengths once on public texts with known authors: "
    "`inkblur calibrate --authors FILE`"
)


@dataclass(frozen=True, slots=True)
class Risk:
    """What the strongest attack tried made of a strength, on public test texts: a lower bound."""

    named: float  # share of the texts whose author was named
    untouched: float  # the same share where the texts are as they were written
    guessing: float  # the share that naming anyone would reach there

    def sentence(self) -> str:
        """The line that stands beside a strength.

        The worst collection has another number of authors from strength to strength, so two shares
        can only be compared beside what guessing reaches.

        >>> Risk(named=0.22, untouched=0.69, guessing=0.04).sentence().partition("22% of ")[2]
        'the authors (69% in the original texts, 4% by guessing)'
        """
        return (
            f"on public test texts, the strongest attack tried identified {self.named:.0%} of the "
            f"authors ({self.untouched:.0%} in the original texts, {self.guessing:.0%} by guessing)"
        )


@dataclass(frozen=True, slots=True)
class MeasuredStrength:
    """The setting that a strength stands for, and what was measured of it."""

    epsilon: float
    parameters: Mapping[str, Any]  # of the mechanism as it was measured, epsilon among them
    risk: Risk
    hidden: Risk | None  # where a fixed length hides how long texts are; None: lengths not attacked

    def sentence(self, *, fixed_length: bool) -> str:
        """The line that stands beside a release at this strength.

        >>> risk, hidden = Risk(0.22, 0.69, 0.1), Risk(0.09, 0.85, 0.04)
        >>> MeasuredStrength(1.0, {}, risk, hidden).sentence(fixed_length=False)[-83:]
        '10% by guessing), or 9% (4% by guessing) if a fixed length hides how long texts are'
        """
        if self.hidden is None:
            return f"{self.risk.sentence()}, not counting what the length of a text tells"
        if fixed_length:
            return f"{self.hidden.sentence()}, with lengths hidden as here"
        return (
            f"{self.risk.sentence()}, or {self.hidden.named:.0%} ({self.hidden.guessing:.0%} by "
            "guessing) if a fixed length hides how long texts are"
        )


Strengths = dict[Strength, MeasuredStrength]


def caution(words: int) -> str:
    """What to add to a strength's risk where a text has so many words; nothing, for most.

    >>> caution(500), caution(3000)[:43]
    ('', 'the packaged strengths were measured on tex')
    """
    if words <= _LONGEST_ATTACKED:
        return ""
    return (
        f"the packaged strengths were measured on texts of about 500 words, not {words:,}, and "
        "authors of longer texts are identified more often: measure it with `inkblur evaluate`"
    )


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
            _risk(found),
            _risk(found["lengths_hidden"]) if "lengths_hidden" in found else None,
        )
        for name, found in body.items()
    }


def _risk(body: Mapping[str, Any]) -> Risk:
    return Risk(*(float(body[share]) for share in ("named", "untouched", "guessing")))


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
