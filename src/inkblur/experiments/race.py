"""Every mechanism of the catalogue in one race, on plain and on joined word vectors.

Attack on Reuters C50 authors, topics of 20 Newsgroups. A mechanism runs at the epsilons where given
shares of the vocabulary survive, which gives each a curve of utility over attack; the race is read
off at equal attack. At equal proved loss it is read off where the bound between two typical words
(the median pair of the vocabulary) is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.settings import Setting
from inkblur.experiments.contenders import contenders
from inkblur.experiments.duel import Duel, Sizes, c50_and_newsgroups
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.frontier import (
    LEFT,
    UNTOUCHED,
    Measured,
    Runs,
    duel_readings,
    frontier_drawings,
    gained,
    left_at,
    untouched_readings,
)
from inkblur.experiments.joined.space import joined, plain
from inkblur.experiments.result import Claim, Drawing, Outcome, Reading, Where
from inkblur.experiments.workshop import Workshop
from inkblur.mechanisms.typical import typical_loss

CURVES = "Utility over attack"
EQUAL_ATTACK = "At equal attack"
EQUAL_LOSS = "At equal proved loss"
PLAIN, JOINED = "word vectors", "joined"
SURVIVALS = (0.6, 0.35, 0.15)
LEVELS = (0.25, 0.15)  # static attack
LOSSES = (20.0, 60.0)  # bound on the log likelihood ratio between a median pair of words
WORDS = 10_000
SIZES = Sizes(studied=50, known=5, unknown=3, taught=12_000, asked=600)
QUICK_SIZES = Sizes(studied=3, known=2, unknown=1, taught=400, asked=60)
LOSS = "proved loss, median pair"

Curve = dict[float, Runs]  # the runs at each epsilon
Losses = dict[float, float]  # the proved loss at each epsilon


def run(work: Workshop) -> Outcome:
    """All mechanisms, both metrics, three survival rates, a few runs each."""
    sizes = work.size(SIZES, QUICK_SIZES)
    duel = Duel("race", work, *c50_and_newsgroups(work), sizes)
    before = duel.before()
    untouched: Where = {"contender": UNTOUCHED, "epsilon": ""}
    readings = untouched_readings(CURVES, untouched, before)
    curves: dict[str, Curve] = {}
    losses: dict[str, Losses] = {}
    spaces = {PLAIN: plain(work, WORDS), JOINED: joined(work, duel.taught, "topic", WORDS)}
    for metric, space in spaces.items():
        for survival in work.size(SURVIVALS, SURVIVALS[:1]):
            for setting in contenders(work, space, survival=survival):
                name = f"{_family(setting)}, {metric}"
                runs = [duel.after(setting, space, run) for run in range(work.size(3, 2))]
                curves.setdefault(name, {})[setting.epsilon] = runs
                where: Where = {"contender": name, "epsilon": setting.epsilon}
                readings += duel_readings(CURVES, where, runs, before)
                loss = work.step(f"loss of {setting.name} on {space.name}", _loss, setting, space)
                if loss is not None:
                    losses.setdefault(name, {})[setting.epsilon] = loss
                    readings.append(Reading(CURVES, where, LOSS, Estimate.exact(loss)))
    readings += _at_equal_attack(curves, before)
    readings += _at_equal_loss(curves, losses, before)
    drawings = (
        *frontier_drawings(CURVES, "contender"),
        Drawing("Utility left over the proved loss", CURVES, LEFT, LOSS, line="contender"),
    )
    notes = (
        "A new entry of the mechanisms' catalogue takes part without any other change.",
        "Content words alone; GloVe's 10,000 most frequent words. Utility: topic accuracy of a "
        "linear SVM that learned from true postings.",
        "Proved loss: the bound on the log likelihood ratio between two words at the vocabulary's "
        "median distance, in each mechanism's own metric; exponential: between any two words. A "
        "mechanism without a guarantee has none.",
    )
    return Outcome(tuple(readings), (_claim(curves, before),), drawings, notes=notes)


def _family(setting: Setting) -> str:
    lam = f", lambda {setting.lam:g}" if setting.lam is not None else ""
    return f"{setting.mechanism}{lam}"


def _loss(setting: Setting, embedding: Embedding) -> float | None:
    mechanism = setting.mechanism_on(embedding)
    if not mechanism.guarantee.private:
        return None
    return typical_loss(mechanism).pair_loss


def _at_equal_attack(curves: dict[str, Curve], before: Measured) -> list[Reading]:
    readings = []
    for name, curve in curves.items():
        for level in LEVELS:
            left = left_at(list(curve.values()), level, before)
            where: Where = {"contender": name}
            measure = f"{LEFT} at {level:.0%} static attack"
            readings.append(Reading(EQUAL_ATTACK, where, measure, Estimate.of_runs(left)))
    return readings


def _at_equal_loss(
    curves: Mapping[str, Curve], losses: Mapping[str, Losses], before: Measured
) -> list[Reading]:
    """Contenders whose losses reach from below a level to above it, there."""
    readings = []
    for level in LOSSES:
        for name, loss in losses.items():
            if min(loss.values()) <= level <= max(loss.values()):
                where: Where = {LOSS: level, "contender": name}
                columns = {
                    LEFT: _at_loss(curves[name], loss, level, "utility", before["utility"]),
                    "static attack": _at_loss(curves[name], loss, level, "static", 1.0),
                    "adaptive attack": _at_loss(curves[name], loss, level, "adaptive", 1.0),
                }
                readings += [
                    Reading(EQUAL_LOSS, where, measure, Estimate.of_runs(values))
                    for measure, values in columns.items()
                ]
    return readings


def _at_loss(
    curve: Curve, loss: Losses, level: float, measure: str, scale: float
) -> Sequence[float]:
    """A measure at a proved loss, interpolated between epsilons; one value a run."""
    epsilons = sorted(curve)
    across = [loss[epsilon] for epsilon in epsilons]
    runs = len(curve[epsilons[0]])
    return [
        float(np.interp(level, across, [curve[e][run][measure] / scale for e in epsilons]))
        for run in range(runs)
    ]


def _claim(curves: Mapping[str, Curve], before: Measured) -> Claim:
    level = LEVELS[0]
    left = {name: left_at(list(curve.values()), level, before) for name, curve in curves.items()}
    best = max((name for name in left if name.endswith(PLAIN)), key=lambda n: sum(left[n]))
    winner = max((name for name in left if name.endswith(JOINED)), key=lambda n: sum(left[n]))
    return Claim(
        "joined-wins-the-race",
        f"At a static attack of {level:.0%} the best mechanism on the joined metric keeps more of "
        "the topic than the best on word vectors alone.",
        "ours",
        f"difference of the utility left: {winner}, minus {best}",
        gained(left[winner], left[best]),
        0.0,
    )
