"""Does a metric that knows the topic keep it while the author is blurred?

None of the papers has it. 20 Newsgroups teach the metric and the analyst (their training part); the
analyst is asked about the test part. The attacker names the authors of Reuters C50.
"""

from __future__ import annotations

from collections.abc import Sequence

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.settings import Setting
from inkblur.experiments.duel import Duel, Sizes, at_attack, bare_newsgroups
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.joined.space import joined, plain
from inkblur.experiments.result import Claim, Drawing, Outcome, Reading
from inkblur.experiments.workshop import Workshop

TABLE = "Attack on C50 authors, topic of 20 Newsgroups"
PLAIN, JOINED = "word vectors", "joined"
ATTACK, ADAPTIVE, TOPIC, LEFT = "static attack", "adaptive attack", "topic", "topic left"
LEVELS = ((0.25, 0.8), (0.15, 0.7))  # attack at most, share of the untouched topic at least
# Epsilons differ by metric: what is compared is utility at equal attack, not at equal epsilon.
SETTINGS = {
    (PLAIN, "laplace"): (8.5, 7.5, 6.5),
    (PLAIN, "mahalanobis"): (11.0, 9.0),
    (JOINED, "laplace"): (19.0, 17.0, 13.5),
}
SIZES = Sizes(studied=50, known=20, unknown=10, taught=12_000, asked=2_500)
QUICK_SIZES = Sizes(studied=3, known=2, unknown=1, taught=400, asked=60)

Found = list[dict[str, float]]  # one a run


def run(work: Workshop) -> Outcome:
    """Both metrics over a few epsilons, five runs each."""
    topics = bare_newsgroups(work)
    sizes = work.size(SIZES, QUICK_SIZES)
    duel = Duel("C50 and 20 Newsgroups", work, work.shelf.c50, topics, sizes)
    spaces = {PLAIN: plain(work), JOINED: joined(work, duel.taught, "topic")}
    runs = work.size(5, 2)
    before = duel.before()
    found: dict[tuple[str, Setting], Found] = {
        (metric, setting): [duel.after(setting, spaces[metric], run) for run in range(runs)]
        for (metric, name), epsilons in SETTINGS.items()
        for setting in _settings(name, epsilons)
    }
    readings = [*_before(before), *_readings(found, before["utility"])]
    drawings = (
        Drawing("Topic left over static attack", TABLE, LEFT, ATTACK, line="metric"),
        Drawing("Topic left over adaptive attack", TABLE, LEFT, ADAPTIVE, line="metric"),
    )
    notes = (
        f"Joined: {_described(spaces[JOINED])}",
        "Content words alone; GloVe's 30,000 most frequent words; other words are the null word. "
        "Static attack: Koppel, cosine, 50 authors, the better of two weightings; adaptive: it "
        "studied 20 texts an author released in the same way.",
        "Alpha, beta and smoothing were chosen on these collections: joined/pairs has others.",
    )
    return Outcome(tuple(readings), _claims(found, before["utility"]), drawings, notes=notes)


def _settings(name: str, epsilons: Sequence[float]) -> list[Setting]:
    lam = 1.0 if name == "mahalanobis" else None
    return [Setting(name, epsilon, lam) for epsilon in epsilons]


def _described(embedding: Embedding) -> str:
    made = embedding.provenance["adapted"][-1]
    return f"alpha {made['alpha']:g}, beta {made['beta']:g}, smoothing {made['smoothing']:g}."


def _before(before: dict[str, float]) -> list[Reading]:
    where = {"metric": "untouched texts", "mechanism": "", "epsilon": ""}
    values = {ATTACK: before["static"], ADAPTIVE: before["adaptive"], TOPIC: before["utility"]}
    return [Reading(TABLE, where, name, Estimate.exact(value)) for name, value in values.items()]


def _readings(found: dict[tuple[str, Setting], Found], untouched: float) -> list[Reading]:
    readings = []
    for (metric, setting), runs in found.items():
        where: dict[str, str | float] = {
            "metric": metric,
            "mechanism": setting.mechanism,
            "epsilon": setting.epsilon,
        }
        columns = {
            ATTACK: [run["static"] for run in runs],
            ADAPTIVE: [run["adaptive"] for run in runs],
            TOPIC: [run["utility"] for run in runs],
            LEFT: [run["utility"] / untouched for run in runs],
            "words unchanged": [run["unchanged"] for run in runs],
        }
        for measure, values in columns.items():
            readings.append(Reading(TABLE, where, measure, Estimate.of_runs(values).share()))
    return readings


def _claims(found: dict[tuple[str, Setting], Found], untouched: float) -> tuple[Claim, ...]:
    claims = []
    for attack, share in LEVELS:
        left = _left_at(found, JOINED, attack, untouched)
        other = _left_at(found, PLAIN, attack, untouched)
        claims += [
            Claim(
                f"joined-keeps-topic-at-{attack:g}",
                f"At a static attack of {attack:.0%} the joined metric keeps at least {share:.0%} "
                "of the untouched topic accuracy.",
                "ours",
                f"topic left where the static attack names {attack:.0%}, interpolated in each run",
                Estimate.of_runs(left),
                share,
            ),
            Claim(
                f"joined-beats-plain-at-{attack:g}",
                f"At a static attack of {attack:.0%} the joined metric keeps more of the topic "
                "than the word vectors alone (Laplace both).",
                "ours",
                "difference of the topic left, joined minus plain",
                Estimate.of_runs([a - b for a, b in zip(left, other, strict=True)]),
                0.0,
            ),
        ]
    return tuple(claims)


def _left_at(
    found: dict[tuple[str, Setting], Found], metric: str, attack: float, untouched: float
) -> list[float]:
    """Topic left at an attack level, a value a run."""
    curves = [
        runs
        for (name, setting), runs in found.items()
        if name == metric and setting.mechanism == "laplace"
    ]
    return [
        at_attack(
            [curve[run]["static"] for curve in curves],
            [curve[run]["utility"] / untouched for curve in curves],
            attack,
        )
        for run in range(len(curves[0]))
    ]
