"""What an evaluation measured about one release, in the words of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.results import (
    ADAPTIVE,
    AUTHOR,
    NOT_MEASURED,
    Interval,
    Measurement,
    not_measured,
)
from inkblur.spec import ReleaseSpec
from inkblur.types import counted

# Attacks besides those on the author, by the question of Opinion 05/2014 that they answer.
_ANSWERS = {
    "singling out": ("singling out",),
    "linkability": ("linking",),
    "inference": ("inference", "reading"),
}
_READ = ("words recovered", "content words recovered", "words that the reader is at least")


@dataclass(frozen=True, slots=True)
class MeasuredRisk:
    """Figures for the release of a report."""

    texts: int  # of the evaluation: not always those of the release
    author: str  # how often the author is named
    questions: dict[str, str]  # singling out, linkability, inference: what was measured, or why not
    utility: str


def measured_risk(evaluation: Mapping[str, Any], wanted: ReleaseSpec) -> MeasuredRisk:
    """The figures of the setting that is this release; an evaluation of others is refused."""
    try:
        settings = evaluation["settings"]
        before = evaluation["before"]
        found = next((s for s in settings if _name(s["settings"]) == wanted.name), None)
        if found is None:
            tried = "; ".join(s["name"] for s in settings)
            raise InputError(
                f"the evaluation has no figures for this release ({wanted.name}); it has: {tried}. "
                "Run `inkblur evaluate` with the options of the release"
            )
        _check_same(evaluation, found, wanted)
        measurements = [Measurement.from_json(each) for each in found["measurements"]]
        on_true_texts = [Measurement.from_json(each) for each in before["measurements"]]
        author = _author(measurements, on_true_texts)
        questions = {
            question: "; ".join(lines)
            for question, attacks in _ANSWERS.items()
            if (lines := [line for attack in attacks for line in _lines(measurements, attack)])
        }
        if author != NOT_MEASURED:
            lines = [questions.get("linkability", ""), f"author identified: {author}"]
            attacked = any(m.question == AUTHOR and m.value is not None for m in measurements)
            lines += _missing(measurements, AUTHOR) if attacked else ()
            questions["linkability"] = "; ".join(filter(None, lines))
        texts = int(evaluation["data"]["texts"])
        return MeasuredRisk(texts, author, questions, _utility(found, before))
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            "the evaluation is not one of this version; run `inkblur evaluate` again"
        ) from None


def _name(settings: Mapping[str, Any]) -> str | None:
    try:
        return ReleaseSpec.from_json(dict(settings)).name
    except ParameterError:  # a scrubber, which is no release of ours
        return None


def _check_same(
    evaluation: Mapping[str, Any], found: Mapping[str, Any], wanted: ReleaseSpec
) -> None:
    """Refuse figures of shortened texts, of other word vectors or of another pool."""
    # Of an evaluation by an earlier version, which could shorten texts.
    if evaluation.get("form", "raw") != "raw" or evaluation.get("proper_nouns_redacted"):
        raise InputError(
            "the evaluation's texts were shortened before they were blurred, and those of the "
            "release were not; evaluate the unshortened texts"
        )
    # Not the guarantee's: that of a mechanism without distances names no vectors.
    vectors, pool = evaluation["embedding"]["sha256"], found["settings"].get("pool_sha256")
    for what, theirs, own, parameter in (
        ("other word vectors", vectors, wanted.embedding_sha256, "embedding"),
        ("another pool", pool, wanted.pool_sha256, "pool"),
    ):
        if theirs and own and theirs != own:
            raise InputError(
                f"the evaluation was made with {what} ({theirs[:12]}) than the release "
                f"({own[:12]}); evaluate with the same `{parameter}=`"
            )


def _author(found: Sequence[Measurement], before: Sequence[Measurement]) -> str:
    tried = [m for m in found if m.question == AUTHOR and m.value is not None]
    if not tried:
        reasons = [why for question, _, why in not_measured(found) if question == AUTHOR]
        return "; ".join(f"{NOT_MEASURED} ({reason})" for reason in reasons) or NOT_MEASURED
    worst = max(tried, key=lambda m: m.above_chance)
    bases = [m.accuracy.mean for m in before if m.value and m.scenario == worst.scenario]
    untouched = f", original texts {max(bases):.0%}" if bases else ""
    return (
        f"{worst.accuracy.mean:.0%} of {counted(worst.attacked, 'text')}"
        f"{_interval(worst.accuracy)} by the attack {worst.name} ({worst.attacker}), among "
        f"{worst.authors:,} authors; guessing {worst.chance:.0%}{untouched}"
    )


def _lines(found: Sequence[Measurement], question: str) -> list[str]:
    """What an attack found; of reading, by each reader, what is recovered and what is sure."""
    tried = [
        _disclosed(m)
        for m in found
        if m.question == question
        and m.value is not None
        and (not m.name or m.scenario.startswith(_READ))
    ]
    return [*tried, *_missing(found, question)]


def _missing(found: Sequence[Measurement], question: str) -> list[str]:
    return [
        f"{f'{attack}, ' if question == 'reading' else ''}{what}: {NOT_MEASURED} ({reason})"
        for attack, what, reason in not_measured(found)
        if attack.split(" (")[0] == question
    ]


def _disclosed(found: Measurement) -> str:
    beside = "" if found.chance is None else f"; {found.by_chance} {found.chance:.2f}"
    reader = f"{found.attack}, " if found.question == "reading" else ""
    value = found.accuracy
    return f"{reader}{found.scenario}: {value.mean:.2f}{_interval(value, 2)}{beside}"


def _interval(value: Interval, digits: int | None = None) -> str:
    if value.low is None:
        return ""
    form = ".0%" if digits is None else f".{digits}f"
    return f" (interval {value.low:{form}} to {value.high:{form}})"


def _utility(found: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    # Of those who studied released texts, as at the top of the evaluation: others need true ones.
    analysts = [u for u in found["utility"] if u["analyst"] == ADAPTIVE]
    if not analysts:
        return NOT_MEASURED
    best = max(analysts, key=lambda u: u["f1"]["mean"])
    bases = [u["f1"]["mean"] for u in before["utility"] if u["model"] == best["model"]]
    was = f", original texts {bases[0]:.2f}" if bases else ""
    return f"F1 {best['f1']['mean']:.2f} ({best['model']}, {counted(best['tested'], 'text')}{was})"
