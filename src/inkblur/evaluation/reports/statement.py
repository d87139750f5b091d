"""A release explained to a privacy officer: what its report says, and nothing that it does not.

The sections follow what such readers ask: the unit of protection and its neighboring inputs, the
loss for one word and for whole texts, what is left open, the three questions of Opinion 05/2014 on
Anonymisation Techniques (Article 29 Working Party) and the topics of NIST SP 800-226
(Guidelines for Evaluating Differential Privacy Guarantees). Every judgment is a number or "not
measured".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkblur.documents.risks import ThreeRisks
from inkblur.errors import InkblurError, InputError
from inkblur.evaluation.reports.measured_risk import MeasuredRisk, measured_risk
from inkblur.evaluation.results import NOT_MEASURED
from inkblur.guarantees import NOBODY_COUNTS, Guarantee, factor, rounded_up
from inkblur.release import COUNTED
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric, Unit, counted

KEEP_INSIDE = "Do not publish this page: it contains unprotected counts from the original texts."
_NOTHING_RULED_OUT = 0.99  # certainty from which a bound is called none

# Units by their names in reports: what one draw protects, and which inputs are compared.
_ADD_UP = "one word of a text; the losses of a text's words add up"
_UNITS = {
    Unit.WORD.value: ("one word", "any two words"),
    Unit.SEQUENCE.value: (_ADD_UP, "two texts released as the same number of words"),
    Unit.BAG.value: (_ADD_UP, "two texts released as the same number of words, in any order"),
    Unit.VECTOR.value: ("one text, as a vector of terms", "any two texts"),
    "text": ("one text", "any two texts, whatever their words and length"),
}
_LOG = (
    "A loss is the natural logarithm of the largest factor between the probabilities of one output "
    "from two inputs: 0.7 is a factor of 2, 2.3 of 10, 6.9 of 1,000."
)
_QUESTIONS = {
    "singling out": "Can the record of one person be isolated?",
    "linkability": "Can two records of one person be linked?",
    "inference": "Can an attribute, or the text itself, be deduced?",
}


@dataclass(frozen=True, slots=True)
class StatementSection:
    """A title with paragraphs, a list of lines, and a table whose first row is its head."""

    title: str
    paragraphs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """The whole page."""

    summary: tuple[str, str, str]
    sections: tuple[StatementSection, ...]
    private: bool


def read_report(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise InputError(f"cannot read {path}: {reason}") from None
    if not isinstance(body, dict):
        raise InputError(f"{path} is not a report: it holds no JSON object")
    return body


def make_statement(
    report: Mapping[str, Any],
    evaluation: Mapping[str, Any] | None = None,
    *,
    name: str = "the report",
) -> Statement:
    """The statement of a run's report, with what `inkblur evaluate` measured for the same release.

    An evaluation of another release is refused: its figures would say nothing about this one.
    """
    try:
        run = _Run.of(report, name)
        risk = None if evaluation is None else measured_risk(evaluation, run.spec)
        risks = StatementSection("Three measured risks", lines=_full(run.risks.lines()))
        assumed = _full(run.guarantee.assumptions) or ("Nothing is promised.",)
        return Statement(
            (run.what_was_done(), run.what_is_promised(), run.what_is_open(risk)),
            (
                run.unit(),
                run.losses(),
                StatementSection("What is not protected", lines=_full(run.unprotected())),
                risks,
                StatementSection("What the guarantee assumes", lines=assumed),
                StatementSection("Composition so far", tuple(run.account())),
                _opinion(risk),
                run.checklist(risk),
            ),
            run.guarantee.private,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InkblurError):
            raise
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{name} is not a report of this version of inkblur ({what}); run `inkblur privatize` "
            "again with `report=`"
        ) from None


@dataclass(frozen=True, slots=True)
class _Run:
    """What the sections are made from."""

    report: Mapping[str, Any]
    spec: ReleaseSpec
    guarantee: Guarantee
    risks: ThreeRisks
    texts: int
    sizes: tuple[tuple[str, int], ...]  # draws of a text: the typical one first; () if nobody knows

    @classmethod
    def of(cls, report: Mapping[str, Any], name: str) -> _Run:
        if (unit := report["guarantee"]["unit"]) not in _UNITS:
            raise InputError(f"{name} has the unit {unit!r}, which this version does not support")
        for needed in ("ledger", "columns"):
            report[needed]
        guarantee = Guarantee.from_json(report["guarantee"])
        draws = report["documents"]["draws"]
        if unit == "text" or guarantee.size is not None:
            sizes = [("every text", 1 if unit == "text" else guarantee.size or 1)]
        else:
            sizes = [
                (f"the {each} text, {counted(draws[each], 'word')}", draws[each])
                for each in ("median", "longest")
                if draws[each] is not None
            ]
        return cls(
            report,
            ReleaseSpec.from_json(report["spec"]),
            guarantee,
            ThreeRisks.from_json(report["risks"]),
            int(report["documents"]["total"]),
            tuple(sizes),
        )

    @property
    def piece(self) -> str:
        """What one draw replaces."""
        return {"text": "text", "vector": "term"}.get(self.guarantee.unit.value, "word")

    @property
    def discrete(self) -> bool:
        """Whether any two words are equally far apart."""
        return self.guarantee.metric is Metric.DISCRETE

    def left(self) -> str:
        """Which share of the true words shows."""
        if tokens := self.report.get("tokens"):
            words = {"stop-words", "unknown", "names"} & {*self.copied()}
            which = "words, copied ones included" if words else "words in the vocabulary"
            return (
                f"{tokens['unchanged_share']:.0%} of the {which} "
                f"({tokens['content_unchanged_share']:.0%} without function words) are unchanged"
            )
        if terms := self.report.get("terms"):
            return f"{terms['shown_share']:.0%} of the texts' distinct words show in their vectors"
        same, drawn = self.report["draws"]["unchanged"], self.report["draws"]["total"]
        if not same:
            return "every released text is a public one, written by somebody else"
        return (
            f"every released text is a public one, and {same:,} of the {drawn:,} {self.piece}s "
            "drawn are unchanged because the pool contains them"
        )

    def copied(self) -> list[str]:
        """The kinds of words that were not replaced."""
        counts = self.report.get("tokens", {}).get("copied", {})
        marks = ("punctuation", "sentence-ends")
        return [kind for kind, count in counts.items() if count and kind not in marks]

    def what_was_done(self) -> str:
        columns = ", ".join(self.report["columns"]["released"])
        where = "" if self.piece == "text" else f"each {self.piece} of "
        kinds = self.copied()
        but = f", except what was copied ({', '.join(kinds)})" if kinds else ""
        return (
            f"The {self.spec.mechanism} mechanism replaced {where}{counted(self.texts, 'text')} "
            f"(column {columns}) with random draws{but}; {self.left()}."
        )

    def what_is_promised(self) -> str:
        """What is deniable, a word or a text; and whether a whole text of words is."""
        if not self.guarantee.private:
            return f"There is no privacy guarantee: {self.guarantee.void}."
        one = whole = self.guarantee.epsilon
        pair, far = f"two {self.piece}s", ""
        if not self.discrete:
            typical = self.report["bound_at_typical_distances"]
            one, whole = (typical[at]["loss"] for at in ("nearest_neighbor", "median_pair"))
            distance = typical["nearest_neighbor"]["distance"]
            pair = f"a word and the word nearest to it (median distance {distance:.3g})"
            far = ", and more the farther apart two words are"
        said = (
            f"Each single {self.piece} can be denied: whoever considers {pair} equally likely "
            f"before reading the release is at most {_certainty(one)} sure of one of them "
            f"afterwards, by the guarantee alone (a factor of {factor(one)}{far})."
        )
        count = self.sizes[0][1] if self.sizes else 1
        if count == 1:
            return said
        texts = f"two texts of {counted(count, self.piece)}"
        if not self.discrete:
            texts += " at the median distance"
        if 1 / (1 + math.exp(-count * whole)) >= _NOTHING_RULED_OUT:
            between = f"between {texts} the bound is a factor of {factor(count * whole)}"
            return f"{said} A text as a whole cannot: {between}, which rules nothing out."
        return (
            f"{said} Between {texts} it is at most {_certainty(count * whole)} (a factor of "
            f"{factor(count * whole)})."
        )

    def what_is_open(self, risk: MeasuredRisk | None) -> str:
        points = counted(len(self.guarantee.passed), "point")
        found = "; ".join(self.risks.figures())
        if risk is not None:
            found += f"; the author of one text, by the evaluation: {risk.author}"
        return (
            f"What is not protected is listed below, in {points}; how often attackers succeeded, "
            f"the largest first: {found}."
        )

    def unit(self) -> StatementSection:
        protected, neighbors = _UNITS[self.guarantee.unit.value]
        if self.guarantee.size is not None and self.guarantee.unit is not Unit.VECTOR:
            size = counted(self.guarantee.size, self.piece)
            neighbors = f"any two texts, cut or filled to {size}"
        return StatementSection(
            "What is protected",
            lines=(
                f"Unit of protection: {protected}.",
                f"Two neighboring inputs: {neighbors}.",
                "For a person who wrote several of the texts, the losses of those texts add up.",
                *([self.guarantee.sentence()] if self.guarantee.private else []),
            ),
        )

    def losses(self) -> StatementSection:
        title = "Epsilon for one word and for a text"
        if not self.guarantee.private:
            return StatementSection(title, ("None: no figure bounds what this release shows.",))
        one = [(f"one {self.piece}", 1)] if self.piece != "text" else []
        heads, losses = ["largest loss"], [self.guarantee.epsilon]
        each = f"per {self.piece}"
        if not self.discrete:
            typical = self.report["bound_at_typical_distances"]
            near, far = typical["nearest_neighbor"], typical["median_pair"]
            heads = [
                "largest loss if each word changes to its nearest (distance "
                f"{near['distance']:.3g})",
                "largest loss if each changes to one at the median distance "
                f"({far['distance']:.3g})",
            ]
            losses = [near["loss"], far["loss"]]
            each = f"per word and unit of {self.guarantee.metric.value} distance"
        rows = [
            (name, *(rounded_up(count * loss) for loss in losses))
            for name, count in (*one, *self.sizes)
        ]
        epsilon = f"Epsilon is {rounded_up(self.guarantee.epsilon)} {each}."
        return StatementSection(title, (epsilon, _LOG), rows=(("for", *heads), *rows))

    def unprotected(self) -> Sequence[str]:
        """What is released as it is, and what else shows; accounts have a section of their own."""
        accounts = (NOBODY_COUNTS, COUNTED)
        notes = [line for line in self.guarantee.reveals if not line.startswith(accounts)]
        return (*self.guarantee.passed, *notes)

    def account(self) -> list[str]:
        """What the texts have lost with this release and earlier ones."""
        lines = []
        if (ledger := self.report["ledger"]) is None:
            lines.append(
                "No ledger was kept for this release, so earlier releases of these texts are not "
                "counted."
            )
        else:
            times = ledger["most_releases_of_a_record"]
            so_far = "this is the first release of these records"
            if times > 1:
                so_far = f"a record has been released up to {times:,} times, this release included"
            loss = f"at most {rounded_up(ledger['largest_loss_of_a_record'])} of a record"
            if person := ledger.get("largest_loss_of_a_person"):
                loss += f", at most {rounded_up(person)} of a person"
            if why := ledger.get("unbounded"):
                loss = f"not bounded ({why}); what was drawn comes to {loss}"
            lines.append(
                f"According to the ledger, {so_far}; the total loss between any two texts of one "
                f"size is {loss} (release {ledger['release'][:8]})."
            )
        if repeated := int(self.report["documents"].get("repeated", 0)):
            lines.append(
                f"{counted(repeated, 'text of the file repeats', 'texts of the file repeat')} an "
                "earlier one; each was drawn again, and their losses add up."
            )
        return lines

    def checklist(self, risk: MeasuredRisk | None) -> StatementSection:
        protected, neighbors = _UNITS[self.guarantee.unit.value]
        table = self.report["embedding"]
        version = self.report.get("inkblur", "of an unknown version")
        delta = self.guarantee.delta
        exact = f"delta {rounded_up(delta)} per {self.piece}" if delta else "delta 0"
        implementation = f"inkblur {version}; no guarantee: {self.guarantee.void}"
        if self.guarantee.private:
            implementation = (
                f"inkblur {version}; random numbers from ChaCha20 with a 256-bit key; {exact}, "
                "which covers their finite number of bits; timing and memory side channels were "
                "not examined"
            )
        rows = (
            ("topic", "answer"),
            ("unit of privacy", f"{protected}; compared: {neighbors}"),
            (
                "trust model",
                "whoever runs the program holds the original texts and the key; recipients get "
                "only the release. What is drawn for one text does not depend on any other text",
            ),
            ("composition", " ".join(self.account())),
            (
                "mechanism",
                f"{self.spec.name}; metric {self.guarantee.metric.value}, on the public word "
                f"vectors {table['name']} ({table['words']:,} words, sha256 "
                f"{table['sha256'][:12]})",
            ),
            ("utility", f"{self.left()}; labels: {NOT_MEASURED if risk is None else risk.utility}"),
            ("implementation", implementation),
        )
        return StatementSection("NIST SP 800-226, by topic", rows=rows)


def _opinion(risk: MeasuredRisk | None) -> StatementSection:
    answers = {} if risk is None else risk.questions
    rows = [(name, asked, answers.get(name, NOT_MEASURED)) for name, asked in _QUESTIONS.items()]
    paragraphs = ["Measured attacks are lower bounds: an attacker who was not tried may do better."]
    if risk is not None:
        paragraphs.append(
            f"The figures come from an evaluation of {counted(risk.texts, 'text')} with the "
            "settings of this release. Whether they are the released texts was not checked; on "
            "other texts the figures may differ."
        )
    heads = ("question", "asked", "measured")
    title = "The three questions of Opinion 05/2014"
    return StatementSection(title, tuple(paragraphs), rows=(heads, *rows))


def _full(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{line[:1].upper()}{line[1:]}." for line in lines)


def _certainty(loss: float) -> str:
    """What 50% can grow to under a factor of exp(loss), rounded up."""
    return f"{math.ceil(1000 / (1 + math.exp(-loss))) / 10:g}%"


def markdown(statement: Statement) -> str:
    """The page as Markdown."""
    parts = ["# Privacy statement", *map(_escaped, statement.summary), f"*{KEEP_INSIDE}*"]
    for section in statement.sections:
        parts += [f"## {section.title}", *map(_escaped, section.paragraphs)]
        if section.lines:
            parts.append("\n".join(f"- {_escaped(item)}" for item in section.lines))
        if section.rows:
            cells = [[_escaped(cell).replace("|", "\\|") for cell in row] for row in section.rows]
            head, *rows = [f"| {' | '.join(row)} |" for row in cells]
            parts.append("\n".join([head, "|---" * len(section.rows[0]) + "|", *rows]))
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("\n", " ")
