"""Three risks of a release at a strength, the largest first, as far as they were measured.

Attacks on public texts measured them at every strength, for texts of several lengths
(`tools/bundled/tracing.py`). They say something about a file only if its texts are like those:
English, of a length within the table, each word drawn by itself at the epsilon of a strength.
Everything else says that nobody measured it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Self

from inkblur.documents.base import AnyPrivatizer
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.word_shares import Coverage, FunctionWords
from inkblur.mechanisms.strengths import MeasuredShare, MeasuredStrength, strength_of

RISKS = {
    "original": "the original found among 100 candidates",
    "author of five": "the author of five linked texts identified",
    "author of one": "the author of one text identified",
}
MEASURED_ON = "shares found by attacks on public English news; a better attack may exist"


@dataclass(frozen=True, slots=True)
class TextRisk:
    """One of the risks."""

    name: str  # of RISKS
    words: int | None = None  # of the attacked texts: as many as of those asked about, or more
    measured: MeasuredShare | None = None
    why: str = ""  # it was not measured

    @property
    def found(self) -> str:
        """In words.

        >>> TextRisk("author of one", 50, MeasuredShare(0.061, 0.04, 0.08, 0.02)).found
        '6% (4% to 8%; guessing: 2%), texts of 50 words'
        """
        if self.measured is None:
            return f"not measured for texts like these ({self.why}): run `inkblur evaluate` on them"
        return f"{self.measured.text()}, texts of {self.words} words"


@dataclass(frozen=True, slots=True)
class ThreeRisks:
    """What attacks made of public texts like those of a release."""

    strength: str | None  # None: nothing was measured
    risks: tuple[TextRisk, ...]  # the largest first, those that were not measured last

    @property
    def measured(self) -> bool:
        """Whether any was."""
        return any(risk.measured for risk in self.risks)

    def figures(self) -> list[str]:
        """A line for each risk, or for several that were not measured for one reason."""
        alike = groupby(self.risks, key=lambda risk: risk.found)
        return [f"{', '.join(RISKS[each.name] for each in some)}: {found}" for found, some in alike]

    def lines(self) -> list[str]:
        """The figures, and what they are."""
        if not self.measured:
            return [f"measured risk: {self.figures()[0]}"]
        head = f"measured risk at {self.strength}, the largest first: {MEASURED_ON}"
        return [head, *self.figures()]

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {**asdict(self), "sentences": self.figures()}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """What :meth:`to_json` wrote."""
        risks = [
            TextRisk(**{**each, "measured": share and MeasuredShare(**share)})
            for each in body["risks"]
            for share in [each["measured"]]
        ]
        return cls(body["strength"], tuple(risks))


def three_risks(blur: AnyPrivatizer, counts: Mapping[str, int], words: int) -> ThreeRisks:
    """The risks of texts whose tokens have these counts, and half of which are released with so
    many words or more.

    >>> import inkblur
    >>> blur = inkblur.ReleaseSpec(strength="medium").privatizer(inkblur.load_embedding())
    >>> found = three_risks(blur, {"words blur": 60, "stop_words blur": 40}, 100)
    >>> [risk.name for risk in found.risks]
    ['original', 'author of five', 'author of one']
    """
    if not isinstance(blur, Privatizer):
        return unmeasured("only releases word by word were attacked")
    found = strength_of(blur.mechanism)
    if found is None:
        return unmeasured("only the settings that have a strength's name were attacked")
    strength, measured = found
    if why := _unlike(blur, counts, words):
        return unmeasured(why)
    return ThreeRisks(strength.value, risks_at(measured, words))


def risks_at(strength: MeasuredStrength, words: int) -> tuple[TextRisk, ...]:
    """Each risk of texts of so many words, the largest first, those not measured last."""
    risks = [_at(name, strength.risks.get(name, {}), words) for name in RISKS]
    risks.sort(key=lambda risk: -risk.measured.share if risk.measured else 0.0)
    return tuple(risks)


def unmeasured(why: str) -> ThreeRisks:
    """None of the risks was measured for texts or a release like this."""
    return ThreeRisks(None, tuple(TextRisk(name, why=why) for name in RISKS))


def _unlike(blur: Privatizer, counts: Mapping[str, int], words: int) -> str:
    """Why no attacked text was like these; empty if some were."""
    if not blur.plain:
        return "only releases that draw every word in its place were attacked"
    if blur.exact:
        return "only releases that hide exact lengths were attacked"
    if not words:
        return "they have no words"
    if not FunctionWords.of(counts).english:
        return "they do not look like English sentences"
    if not Coverage.of(counts).fits:
        return "too many of their words are not in the vocabulary"
    return ""


def _at(name: str, measured: Mapping[int, MeasuredShare], words: int) -> TextRisk:
    """What was measured on texts as long as these: never on shorter ones."""
    lengths = sorted(measured)
    if not lengths:
        return TextRisk(name, why="nobody attacked this setting so")
    if not lengths[0] <= words <= lengths[-1]:
        most = f"{lengths[0]} to {lengths[-1]} words"
        return TextRisk(name, why=f"half of them have {words:,} words or more; attacked: {most}")
    length = lengths[bisect_left(lengths, words)]
    return TextRisk(name, length, measured[length])
