"""What light, medium and strong mean for the bundled table: measured, chosen, judged, stored.

    INKBLUR_DATA=... python tools/bundled/strengths.py measure results.jsonl --workers 16
    python tools/bundled/strengths.py store results.jsonl
    python tools/bundled/strengths.py attacks results.jsonl

`measure` releases and attacks the texts of three public collections (C50: 50 known and 10 attacked
texts an author; PAN 2018, problem 1; english-novels) with each mechanism at each epsilon of a grid.
Each (mechanism, epsilon, collection, repetition) is a line of the file; lines that are there
already are not measured again, so a run that was stopped goes on. `store` chooses the staircase's
epsilons on one half of the authors, judges them on the other, and writes the file that
`--strength` reads (tests/test_strength_figures.py then names the lines of README and docs to
change); `show` only prints what it would. `attacks` prints what every single attack names. Both
also print settings that were measured on some collections only, which no strength is chosen from:

    python tools/bundled/strengths.py measure c50.jsonl --mechanisms exponential --epsilons 18 \\
        --collections c50 && python tools/bundled/strengths.py show c50.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kept_lines  # before NumPy
import numpy as np
from risk import ON_LENGTHS, AttackRisk, Attempt, AuthorTexts, attempts, strongest

import inkblur
from inkblur.types import Strength
from reproduction.corpora import Split, english_novels, pan18, reuters_c50

DESTINATION = Path(inkblur.__file__).parent / "embeddings" / "data" / "strengths.json"
CHOOSING, JUDGING = 0, 1  # halves
# Largest share of the texts that attacks on words name the author of, above chance.
MOST_RISK = {Strength.LIGHT: 0.5, Strength.MEDIUM: 0.25, Strength.STRONG: 0.1}
# The choosing half must stay this far below the level: the judging half scatters around it.
MARGIN = 0.8
# Epsilons of other mechanisms about as risky as light, medium and strong, for comparison.
COMPARED = {
    "mahalanobis": (42.0, 35.0, 28.0),
    "exponential": (15.0, 13.0, 9.0),
    "laplace": (40.0, 34.0),
    "component-laplace": (3.9, 3.3),
}
LENGTHS = (50, 100, 200, 400)  # words, for the curve of risk over text length
GRID: dict[str, tuple[float, ...]] = {
    "untouched": (0.0,),
    "staircase": (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 8.0, 9.0),
    "mahalanobis": (28, 35, 42, 50, 60),
    "exponential": (9, 11, 13, 15, 18),
    "laplace": (24, 29, 34, 40),
    "component-laplace": (2.3, 2.8, 3.3, 3.9),
}


def _c50() -> Split:
    split = reuters_c50()
    return Split(split.train, split.test.first_of_each_author(10))


# And how often each is released: repetitions, which are jobs, of so many draws. Where ten authors
# have few texts each, one draw scatters by seven points and two by five.
COLLECTIONS: dict[str, tuple[Callable[[], Split], int, int]] = {
    "c50": (_c50, 1, 1),
    "novels": (english_novels, 1, 1),
    "pan18": (lambda: pan18(1), 4, 10),
}
Job = tuple[str, float, str, int]  # mechanism, epsilon, collection, repetition


ByCollection = Mapping[str, Sequence[Attempt]]


@dataclass(frozen=True, slots=True)
class SettingRisk:
    """All attempts on one setting, and on the texts as they are, by collection."""

    parameters: Mapping[str, Any]
    tried: ByCollection
    untouched: ByCollection

    def risks(
        self, half: int, words: int | None = None, *, hidden: bool = False
    ) -> dict[str, AttackRisk]:
        """What the strongest attack reached on each collection; if lengths are `hidden`, the
        strongest of those that look at words alone.
        """
        return {
            name: strongest(_part(every, half, words, hidden)) for name, every in self.tried.items()
        }

    def worst(self, half: int) -> float:
        """The largest risk of any collection by which a strength is chosen: lengths are hidden."""
        return max(found.risk for found in self.risks(half, hidden=True).values())

    def to_json(self) -> dict[str, Any]:
        """What is stored of a strength: the figures of the half that judged it."""
        judged, hidden = self.risks(JUDGING), self.risks(JUDGING, hidden=True)
        chosen = self.risks(CHOOSING, hidden=True)
        before = {name: strongest(_part(each, JUDGING)) for name, each in self.untouched.items()}
        return {
            "epsilon": self.parameters["epsilon"],
            "parameters": dict(self.parameters),
            **_shares(judged, before),
            "lengths_hidden": _shares(hidden, before),
            "collections": {
                name: {
                    **judged[name].to_json(),
                    "lengths_hidden": hidden[name].to_json(),
                    "choosing_half": round(chosen[name].risk, 4),
                    "untouched": before[name].to_json(),
                }
                for name in judged
            },
        }


def _shares(risks: Mapping[str, AttackRisk], before: Mapping[str, AttackRisk]) -> dict[str, float]:
    """Of texts whose author is named on the worst collection: released, as written, by guessing."""
    worst = max(risks, key=lambda name: risks[name].risk)
    return {
        "named": round(risks[worst].accuracy, 4),
        "untouched": round(before[worst].accuracy, 4),
        "guessing": round(risks[worst].chance, 4),
    }


def _part(
    every: Sequence[Attempt], half: int, words: int | None = None, hidden: bool = False
) -> list[Attempt]:
    return [
        each
        for each in every
        if each.half == half and each.words == words and not (hidden and each.attack in ON_LENGTHS)
    ]


def chosen(settings: Mapping[float, SettingRisk]) -> dict[Strength, SettingRisk]:
    """The setting of each strength among measured ones, by epsilon; not every strength has one.

    All smaller epsilons that were measured must qualify as well, so that a lucky draw is not
    chosen. A setting has one name: that of the strongest strength it reaches.
    """
    found: dict[Strength, SettingRisk] = {}
    for strength in reversed(Strength):
        best = None
        for epsilon in sorted(settings):
            if settings[epsilon].worst(CHOOSING) > MARGIN * MOST_RISK[strength]:
                break
            best = settings[epsilon]
        if best is not None and best not in found.values():
            found[strength] = best
    return {strength: found[strength] for strength in Strength if strength in found}


def author_texts(name: str) -> AuthorTexts:
    """A collection, ready to be attacked."""
    split = COLLECTIONS[name][0]()
    assert split.train.authors is not None
    assert split.test.authors is not None
    return AuthorTexts(split.train.texts, split.train.authors, split.test.texts, split.test.authors)


def measured(job: Job) -> dict[str, Any]:
    """One line of the file."""
    mechanism, epsilon, collection, repetition = job
    table = inkblur.load_embedding()
    blur = None
    if mechanism != "untouched":
        blur = inkblur.ReleaseSpec(mechanism=mechanism, epsilon=epsilon).privatizer(table)
    rng = inkblur.seeded_rng(20_261_115).child(collection, mechanism, f"{epsilon:g}",
                                               str(repetition))  # fmt: skip
    draws = COLLECTIONS[collection][2] if blur is not None else 1
    tried = attempts(author_texts(collection), blur, table, rng, lengths=LENGTHS, draws=draws)
    return {
        "table": table.sha256,
        "parameters": {} if blur is None else dict(blur.mechanism.parameters),
        "attempts": [each.to_json() for each in tried],
    }


def jobs(options: argparse.Namespace) -> list[Job]:
    """All of them: mechanisms in the order given, their longest jobs first."""
    return [
        (mechanism, float(epsilon), collection, repetition)
        for mechanism in options.mechanisms
        for collection in options.collections
        for epsilon in (options.epsilons or GRID[mechanism])
        for repetition in range(
            1 if mechanism == "untouched" else options.repetitions or COLLECTIONS[collection][1]
        )
    ]


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    inkblur.load_embedding()  # a table that cannot be read fails here, once
    kept_lines.measure(options.results, jobs(options), options.workers, measured)


def settings(path: Path) -> dict[str, dict[float, SettingRisk]]:
    """What was measured, by mechanism and epsilon, on whichever collections."""
    tried: dict[tuple[str, float], dict[str, list[Attempt]]] = {}
    parameters: dict[tuple[str, float], dict[str, Any]] = {}
    sha256 = inkblur.load_embedding().sha256
    for body in kept_lines.lines(path):
        if body["table"] != sha256:
            raise SystemExit(f"{path} was measured on another table: {body['table']}")
        mechanism, epsilon, collection, _ = body["job"]
        found = tried.setdefault((mechanism, epsilon), {}).setdefault(collection, [])
        found += [Attempt.from_json(each) for each in body["attempts"]]
        parameters[mechanism, epsilon] = body["parameters"]
    untouched = tried.get(("untouched", 0.0), {})
    by_mechanism: dict[str, dict[float, SettingRisk]] = {}
    for (mechanism, epsilon), collections in tried.items():
        if mechanism != "untouched":
            measured = SettingRisk(parameters[mechanism, epsilon], collections, untouched)
            by_mechanism.setdefault(mechanism, {})[epsilon] = measured
    return by_mechanism


def complete(measured: dict[float, SettingRisk]) -> dict[float, SettingRisk]:
    """The settings that were tried on every collection: a strength is chosen from these."""
    return {e: each for e, each in measured.items() if set(each.tried) == set(COLLECTIONS)}


def store(options: argparse.Namespace) -> None:
    """Choose, judge, print and write; what was not measured keeps what it has."""
    stored, sha256 = json.loads(DESTINATION.read_text()), inkblur.load_embedding().sha256
    strengths = stored["strengths"] if stored["sha256"] == sha256 else {}
    if whole := complete(settings(Path(options.results)).get("staircase", {})):
        before = strengths.get("staircase", {})
        found = {name.value: setting.to_json() for name, setting in chosen(whole).items()}
        for strength, each in found.items():
            kept = before.get(strength, {})
            if each["parameters"] == kept.get("parameters") and "risks" in kept:
                each["risks"] = kept["risks"]  # `tracing.py` measured them at this setting
        strengths["staircase"] = found
    body = {"sha256": sha256, "strengths": strengths}
    DESTINATION.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    show(options)


def show(options: argparse.Namespace) -> None:
    """Tables for docs/evaluation.md: every setting, and the curves over text length."""
    for mechanism, measured in settings(Path(options.results)).items():
        strengths = chosen(complete(measured))
        names = {id(setting): strength.value for strength, setting in strengths.items()}
        for epsilon, setting in sorted(measured.items()):
            cells = [mechanism, f"{epsilon:g}", names.get(id(setting), "")]
            for half in (0, 1):
                hidden = setting.risks(half, hidden=True)
                for collection, found in sorted(setting.risks(half).items()):
                    span = f"{found.low:.2f} to {found.high:.2f}"
                    best = f"{found.risk:.3f} ({span}) {found.attack}"
                    cells.append(f"{collection} {best}, {hidden[collection].risk:.3f} by words")
            print("|", " | ".join(cells), "|")
        for strength, setting in strengths.items():
            for words in (*LENGTHS, None):
                found_at = setting.risks(1, words, hidden=True)
                cells = [f"{name} {each.risk:.3f} ({each.low:.2f} to {each.high:.2f})"
                         for name, each in sorted(found_at.items())]  # fmt: skip
                row = f"{mechanism} {strength.value} | {words or 'all'} words"
                print("|", row, "|", " | ".join(cells), "|")


def show_attacks(options: argparse.Namespace) -> None:
    """What each attack names of whole texts, every author alike (and every text alike); then how
    often stacking leads, and by how much on average over the best of the others on words.
    """
    leads: dict[str, list[float]] = {name: [] for name in COLLECTIONS}
    for mechanism, measured in settings(Path(options.results)).items():
        for epsilon, setting in sorted(measured.items()):
            for collection, tried in setting.tried.items():
                for half in (0, 1):
                    named = _named([a for a in tried if a.half == half and a.words is None])
                    cells = [f"{name} {mean:.3f} ({texts:.3f})" for name, (mean, texts) in named]
                    print("|", mechanism, f"{epsilon:g}", collection, f"half {half} |", *cells)
                    means = {
                        name: mean for name, (mean, _) in named if name.split()[0] not in ON_LENGTHS
                    }
                    if "stacked both" in means:
                        leads[collection].append(means.pop("stacked both") - max(means.values()))
    for collection, gains in leads.items():
        ahead = sum(gain > 0 for gain in gains)
        mean = sum(gains) / max(1, len(gains))
        print(f"{collection}: stacking leads in {ahead} of {len(gains)}, by {mean:+.3f} on average")


def _named(tried: list[Attempt]) -> list[tuple[str, tuple[float, float]]]:
    """Accuracy of each attack over its repetitions, by authors and by texts; the best first."""
    groups: dict[str, list[Attempt]] = {}
    for each in tried:
        groups.setdefault(f"{each.attack} {each.kind}", []).append(each)
    found = {
        name: (
            float(np.mean([each.by_author.mean() for each in same])),
            float(np.mean([each.correct.mean() for each in same])),
        )
        for name, same in groups.items()
    }
    return sorted(found.items(), key=lambda item: -item[1][0])


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(
        __doc__, measure, store=store, show=show, attacks=show_attacks
    )
    first.add_argument("--mechanisms", nargs="+", default=list(GRID), choices=GRID)
    first.add_argument("--collections", nargs="+", default=list(COLLECTIONS), choices=COLLECTIONS)
    first.add_argument("--epsilons", nargs="*", type=float, default=[])
    first.add_argument("--repetitions", type=int, help="where a choice is close")
    kept_lines.run(command)


if __name__ == "__main__":
    main()
