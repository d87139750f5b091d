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
from collections.abc import Mapping
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
_AGAIN = "run `inkblur privatize` again with `report=`"

# Units by their names in reports: what one draw protects, and which inputs are compared.
_MARKS = ("punctuation", "sentence-ends")  # what is copied and is no word
_UNITS = {
    Unit.WORD.value: ("one word", "any two words"),
    Unit.SEQUENCE.value: (
        "one word of a text; the losses of a text's words add up",
        "two texts with the same number of words",
    ),
    Unit.BAG.value: (
        "one word of a text; the losses of a text's words add up",
        "two texts with the same number of words, whatever their order",
    ),
    Unit.VECTOR.value: ("one text, as a vector of terms", "any two texts"),
    "text": ("one text", "any two texts, whatever their words and length"),
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
        facts = _ReportFacts.of(report, name)
        risk = None if evaluation is None else measured_risk(evaluation, facts.spec)
        return Statement(
            (facts.what_was_done(), facts.what_is_promised(), facts.what_is_open(risk)),
            (
                facts.unit(),
                facts.losses(),
                facts.not_protected(),
                facts.measured(),
                facts.assumptions(),
                StatementSection("Composition so far", tuple(facts.account())),
                _opinion(risk),
                facts.checklist(risk),
            ),
            facts.guarantee.private,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InkblurError):
            raise
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{name} is not a report of this version of inkblur ({what}); {_AGAIN}"
        ) from None


@dataclass(frozen=True, slots=True)
class _ReportFacts:
    """What the sections are made from."""

    report: Mapping[str, Any]
    spec: ReleaseSpec
    guarantee: Guarantee
    risks: ThreeRisks
    texts: int
    median: int | None  # draws of a text; None where a text is one draw, or where nobody counted
    longest: int | None

    @classmethod
    def of(cls, report: Mapping[str, Any], name: str) -> _ReportFacts:
        unit = report["guarantee"]["unit"]
        if unit not in _UNITS:
            raise InputError(f"{name} has the unit {unit!r}, which this version does not support")
        if "ledger" not in report:
            raise KeyError("ledger")
        draws = report["documents"].get("draws", {})
        if not draws:
            raise KeyError("documents.draws")
        return cls(
            report,
            ReleaseSpec.from_json(report["spec"]),
            Guarantee.from_json(report["guarantee"]),
            ThreeRisks.from_json(report["risks"]),
            int(report["documents"]["total"]),
            draws.get("median"),
            draws.get("longest"),
        )

    @property
    def piece(self) -> str:
        """What one draw replaces."""
        return {"text": "text", "vector": "term"}.get(self.guarantee.unit.value, "word")

    @property
    def draws_a_text(self) -> int | None:
        """How many draws each text is, where one bound holds between any two; None: it varies."""
        return 1 if self.piece == "text" else self.guarantee.size

    @property
    def discrete(self) -> bool:
        return self.guarantee.metric is Metric.DISCRETE

    def left(self) -> str:
        """Which share of the true words shows."""
        tokens, terms = self.report.get("tokens"), self.report.get("terms")
        if tokens is not None:
            words = {"stop-words", "unknown", "names"} & {*self.copied()}
            which = "words, copied ones included" if words else "words in the vocabulary"
            return (
                f"{tokens['unchanged_share']:.0%} of the {which} "
                f"({tokens['content_unchanged_share']:.0%} without function words) are unchanged"
            )
        if terms is not None:
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
        return [kind for kind, count in counts.items() if count and kind not in _MARKS]

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
        if not self.guarantee.private:
            return f"There is no privacy guarantee: {self.guarantee.void}."
        if self.discrete:
            draws = self.median if self.draws_a_text is None else self.draws_a_text
            loss = self.guarantee.epsilon * (1 if draws is None else draws)
            if self.draws_a_text is not None:
                pair = "two texts"
            elif self.median is None:
                pair = f"two {self.piece}s"
            else:
                pair = f"two texts of {counted(self.median, self.piece)}"
            rest = ", whatever they say"
        else:
            near = self.report["bound_at_typical_distances"]["nearest_neighbor"]
            loss = near["loss"]
            pair = f"a word and the word nearest to it (median distance {near['distance']:.3g})"
            rest = "; the factor grows with the distance between the words"
        return (
            f"An attacker who considers {pair} equally likely before reading the release is at "
            f"most {_certainty(loss)} sure of one of them afterwards, by the guarantee alone (a "
            f"factor of {factor(loss)}){rest}."
        )

    def what_is_open(self, risk: MeasuredRisk | None) -> str:
        shown = len(self.guarantee.passed)
        things = counted(shown, "thing listed below was", "things listed below were")
        found = "; ".join(self.risks.figures())
        if risk is not None:
            found += f"; the author of one text, by the evaluation: {risk.author}"
        return f"{things} released as is and not protected; how often attackers succeeded: {found}."

    def unit(self) -> StatementSection:
        protected, neighbors = _UNITS[self.guarantee.unit.value]
        if self.guarantee.size is not None and self.guarantee.unit is not Unit.VECTOR:
            neighbors = (
                f"any two texts, cut or filled to {counted(self.guarantee.size, self.piece)}"
            )
        if self.guarantee.without:
            neighbors += f"; {', '.join(self.guarantee.without)} were dropped and do not count"
        return StatementSection(
            "What is protected",
            lines=(
                f"Unit of protection: {protected}.",
                f"Two neighboring inputs: {neighbors}.",
                "For a person who wrote several of the texts, the losses of those texts add up.",
                *(() if not self.guarantee.private else (self.guarantee.sentence(),)),
            ),
        )

    def losses(self) -> StatementSection:
        title = "Epsilon for one word and for a text"
        if not self.guarantee.private:
            return StatementSection(title, ("None: no figure bounds what this release shows.",))
        epsilon = rounded_up(self.guarantee.epsilon)
        sizes = [(f"one {self.piece}", 1)] if self.piece != "text" else []
        if self.draws_a_text is not None:
            sizes.append(("every text", self.draws_a_text))
        elif self.median is not None and self.longest is not None:
            for name, count in (("median", self.median), ("longest", self.longest)):
                sizes.append((f"the {name} text, {counted(count, self.piece)}", count))
        if self.discrete:
            rows = [(name, rounded_up(count * self.guarantee.epsilon)) for name, count in sizes]
            each = f"Epsilon is {epsilon} per {self.piece}."
            return StatementSection(title, (each, _LOG), rows=(("for", "largest loss"), *rows))
        typical = self.report["bound_at_typical_distances"]
        near, pair = typical["nearest_neighbor"], typical["median_pair"]
        head = (
            "for",
            f"largest loss if each word changes to its nearest (distance {near['distance']:.3g})",
            f"largest loss if each changes to one at the median distance ({pair['distance']:.3g})",
        )
        wide = [
            (name, rounded_up(count * near["loss"]), rounded_up(count * pair["loss"]))
            for name, count in sizes
        ]
        metric = self.guarantee.metric.value
        each = f"Epsilon is {epsilon} per word and unit of {metric} distance."
        return StatementSection(title, (each, _LOG), rows=(head, *wide))

    def not_protected(self) -> StatementSection:
        accounts = (NOBODY_COUNTS, COUNTED)  # these have a section of their own
        notes = [line for line in self.guarantee.reveals if not line.startswith(accounts)]
        lines = map(_full, (*self.guarantee.passed, *notes))
        return StatementSection("What is not protected", lines=tuple(lines))

    def measured(self) -> StatementSection:
        return StatementSection("Three measured risks", lines=tuple(map(_full, self.risks.lines())))

    def assumptions(self) -> StatementSection:
        lines = tuple(map(_full, self.guarantee.assumptions)) or ("Nothing is promised.",)
        return StatementSection("What the guarantee assumes", lines=lines)

    def account(self) -> list[str]:
        lines = []
        ledger = self.report["ledger"]
        if ledger is None:
            lines.append(
                "No ledger was kept for this release, so earlier releases of these texts are not "
                "counted."
            )
        else:
            times = ledger["most_releases_of_a_record"]
            so_far = (
                "According to the ledger, this is the first release of these records"
                if times <= 1
                else f"According to the ledger, a record has been released up to {times:,} "
                "times, this release included"
            )
            loss = f"at most {rounded_up(ledger['largest_loss_of_a_record'])} of a record"
            if person := ledger.get("largest_loss_of_a_person"):
                loss += f", at most {rounded_up(person)} of a person"
            if why := ledger.get("unbounded"):
                loss = f"not bounded ({why}); what was drawn comes to {loss}"
            lines.append(
                f"{so_far}; the total loss between any two texts of one size is {loss} "
                f"(release {ledger['release'][:8]})."
            )
        repeated = int(self.report["documents"].get("repeated", 0))
        if repeated:
            lines.append(
                f"{counted(repeated, 'text of the file repeats', 'texts of the file repeat')} an "
                "earlier one; each was drawn again, and their losses add up."
            )
        return lines

    def checklist(self, risk: MeasuredRisk | None) -> StatementSection:
        protected, neighbors = _UNITS[self.guarantee.unit.value]
        table = self.report["embedding"]
        rows = [
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
            ("implementation", self._implementation()),
        ]
        return StatementSection("NIST SP 800-226, by topic", rows=tuple(rows))

    def _implementation(self) -> str:
        version = self.report.get("inkblur", "of an unknown version")
        if not self.guarantee.private:
            return f"inkblur {version}; no guarantee: {self.guarantee.void}"
        delta = self.guarantee.delta
        exact = f"delta {rounded_up(delta)} per {self.piece}" if delta else "delta 0"
        return (
            f"inkblur {version}; random numbers from ChaCha20 with a 256-bit key; {exact}, which "
            "covers their finite number of bits; timing and memory side channels were not examined"
        )


_LOG = (
    "A loss is the natural logarithm of the largest factor between the probabilities of one output "
    "from two inputs: 0.7 is a factor of 2, 2.3 of 10, 6.9 of 1,000."
)
_QUESTIONS = (
    ("singling out", "Can the record of one person be isolated?"),
    ("linkability", "Can two records of one person be linked?"),
    ("inference", "Can an attribute, or the text itself, be deduced?"),
)


def _opinion(risk: MeasuredRisk | None) -> StatementSection:
    answers = {} if risk is None else risk.questions
    rows = [("question", "asked", "measured")]
    rows += [(name, asked, answers.get(name, NOT_MEASURED)) for name, asked in _QUESTIONS]
    paragraphs = ["Measured attacks are lower bounds: an attacker who was not tried may do better."]
    if risk is not None:
        paragraphs.append(
            f"The figures come from an evaluation of {counted(risk.texts, 'text')} with the "
            "settings of this release. Whether they are the released texts was not checked; on "
            "other texts the figures may differ."
        )
    title = "The three questions of Opinion 05/2014"
    return StatementSection(title, tuple(paragraphs), rows=tuple(rows))


def _full(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}."


def _certainty(loss: float) -> str:
    """What 50% can grow to under a factor of exp(loss), rounded up."""
    return f"{math.ceil(1000 / (1 + math.exp(-loss))) / 10:g}%"
