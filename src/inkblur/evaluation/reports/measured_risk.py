"""What an evaluation measured about one release, in the words of a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.attacks.catalogue import NAMES
from inkblur.evaluation.results import (
    ADAPTIVE,
    AUTHOR,
    LABELS,
    NOT_MEASURED,
    RELEASED,
    TRUE,
    Interval,
    Measurement,
    SettingResult,
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
        body = next((each for each in settings if _name(each["settings"]) == wanted.name), None)
        if body is None:
            tried = "; ".join(each["name"] for each in settings)
            raise InputError(
                f"the evaluation has no figures for this release ({wanted.name}); it has: {tried}. "
                "Run `inkblur evaluate` with the options of the release"
            )
        _check_same(evaluation, body, wanted)
        found, before = _read(body), _read(evaluation["before"])
        author = _author(found, before)
        questions = {
            question: "; ".join([line for attack in attacks for line in _lines(found, attack)])
            for question, attacks in _ANSWERS.items()
        }
        if author != NOT_MEASURED:
            lines = [questions["linkability"], f"author identified: {author}"]
            lines += _missing(found, AUTHOR) if found.attacks else ()
            questions["linkability"] = "; ".join(filter(None, lines))
        questions = {question: said or NOT_MEASURED for question, said in questions.items()}
        texts = int(evaluation["data"]["texts"])
        return MeasuredRisk(texts, author, questions, _utility(found, before))
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            "the evaluation is not one of this version; run `inkblur evaluate` again"
        ) from None


def _read(body: Mapping[str, Any]) -> SettingResult:
    """What was measured of a setting; an older version kept a list for each kind of figure."""
    newer = body.get("measurements")
    found = _older(body) if newer is None else map(Measurement.from_json, newer)
    return SettingResult(body["name"], body["settings"], None, (), tuple(found))


def _older(body: Mapping[str, Any]) -> Iterator[Measurement]:
    for each in body["attacks"]:
        if each["attack"] not in NAMES:
            raise InputError(
                f"the evaluation tried the attack {each['attack']}, which this version does not "
                "have; run `inkblur evaluate` again"
            )
        same = ("scenario", "attacker", "chance", "authors", "known", "attacked", "strangers")
        rest = {name: each[name] for name in same}
        yield Measurement(AUTHOR, each["attack"], value=Interval(**each["accuracy"]), **rest)
    for each in body["utility"]:
        asked = TRUE if body["guarantee"] is None else RELEASED
        studied = RELEASED if each["analyst"] == ADAPTIVE else TRUE
        rest = {"value": Interval(**each["f1"]), "attacked": each["tested"]}
        yield Measurement(LABELS, each["model"], asked, studied, **rest)
    unnamed = "an older evaluation does not name them; run `inkblur evaluate` again"
    left_out = [
        {"attack": each, "measure": "attacks that were left out", "reason": unnamed}
        for each in ("singling out", AUTHOR, "inference")
    ]
    for each in (*body.get("disclosures", ()), *body.get("not_measured", left_out)):
        question, _, reader = each["attack"].rstrip(")").partition(" (")
        value = Interval(**each["value"]) if "value" in each else None
        rest = {name: each[name] for name in ("chance", "by_chance", "reason") if name in each}
        yield Measurement(question, reader, each["measure"], value=value, **rest)


def _name(settings: Mapping[str, Any]) -> str | None:
    try:
        return ReleaseSpec.from_json(dict(settings)).name
    except ParameterError:  # another tool's, which is no release of ours
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


def _author(found: SettingResult, before: SettingResult) -> str:
    worst = found.strongest()
    if worst is None:
        missing = not_measured(found.measurements)
        reasons = [why for question, _, why in missing if question == AUTHOR]
        return "; ".join(f"{NOT_MEASURED} ({reason})" for reason in reasons) or NOT_MEASURED
    bases = [each.accuracy.mean for each in before.attacks if each.scenario == worst.scenario]
    untouched = f", original texts {max(bases):.0%}" if bases else ""
    return (
        f"{worst.accuracy.mean:.0%} of {counted(worst.attacked, 'text')}"
        f"{_interval(worst.accuracy, '.0%')} by the attack {worst.name} ({worst.attacker}), among "
        f"{worst.authors:,} authors; guessing {worst.chance:.0%}{untouched}"
    )


def _lines(found: SettingResult, question: str) -> list[str]:
    """What an attack found; of reading, by each reader, what is recovered and what is sure."""
    lines = []
    for each in found.of(question):
        if each.name and not each.scenario.startswith(_READ):
            continue
        beside = "" if each.chance is None else f"; {each.by_chance} {each.chance:.2f}"
        reader = f"{each.attack}, " if question == "reading" else ""
        value = f"{each.accuracy.mean:.2f}{_interval(each.accuracy, '.2f')}"
        lines.append(f"{reader}{each.scenario}: {value}{beside}")
    return [*lines, *_missing(found, question)]


def _missing(found: SettingResult, question: str) -> list[str]:
    return [
        f"{f'{attack}, ' if question == 'reading' else ''}{what}: {NOT_MEASURED} ({reason})"
        for attack, what, reason in not_measured(found.measurements)
        if attack.split(" (")[0] == question
    ]


def _interval(value: Interval, form: str) -> str:
    if value.low is None:
        return ""
    return f" (interval {value.low:{form}} to {value.high:{form}})"


def _utility(found: SettingResult, before: SettingResult) -> str:
    # Of those who studied released texts, as at the top of the evaluation: others need true ones.
    best = found.score(RELEASED, RELEASED)
    if best is None:
        return NOT_MEASURED
    base = before.score(TRUE, TRUE, best.name)
    was = "" if base is None else f", original texts {base.accuracy.mean:.2f}"
    return f"F1 {best.accuracy.mean:.2f} ({best.name}, {counted(best.attacked, 'text')}{was})"
