"""Every mechanism of the catalogue in one race, on plain and on joined word vectors.

Attack on Reuters C50 authors, topics of 20 Newsgroups. A mechanism runs at the epsilons where given
shares of the words in such texts survive, which gives each a curve of utility over attack; the race
is read off at equal attack. At equal proved loss it is read off where the bound between two words
of the texts (the median pair) is the same.
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
    ADAPTIVE,
    LEFT,
    OVER_RUNS,
    STATIC,
    UNTOUCHED,
    Measured,
    Runs,
    duel_readings,
    frontier_drawing,
    gain_claim,
    left_at,
    reached,
    sorted_out,
    untouched_readings,
)
from inkblur.experiments.joined.space import JOINED, PLAIN, joined, plain
from inkblur.experiments.result import Claim, Drawing, Outcome, Reading, Where
from inkblur.experiments.workshop import Workshop
from inkblur.types import Ids

CURVES = "Utility over attack"
EQUAL_ATTACK = "At equal attack"
EQUAL_LOSS = "At equal proved loss"
SURVIVALS = (0.3, 0.13, 0.05)  # of words as they come in the texts that attackers study
LEVELS = (0.25, 0.15)  # the stronger attack
LOSSES = (20.0, 60.0)  # bound on the log likelihood ratio between a median pair of words
WORDS = 10_000
SIZES = Sizes(studied=50, known=10, unknown=3, taught=12_000, asked=600)
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
        words = duel.words(space, 2_000)
        for survival in work.size(SURVIVALS, SURVIVALS[:1]):
            for setting in contenders(work, space, survival=survival, words=words):
                name = f"{_family(setting)}, {metric}"
                runs = [duel.after(setting, space, run) for run in range(work.size(3, 2))]
                curves.setdefault(name, {})[setting.epsilon] = runs
                where: Where = {"contender": name, "epsilon": setting.epsilon}
                readings += duel_readings(CURVES, where, runs, before)
                step = f"loss of {setting.name} on {space.sha256[:16]}"
                loss = work.step(step, _loss, setting, space, words[:200])
                if loss is not None:
                    losses.setdefault(name, {})[setting.epsilon] = loss
                    readings.append(Reading(CURVES, where, LOSS, Estimate.exact(loss)))
    readings += _at_equal_attack(curves, before)
    readings += _at_equal_loss(curves, losses, before)
    drawings = (
        frontier_drawing(CURVES, "contender"),
        Drawing("Utility left over the proved loss", CURVES, LEFT, LOSS, line="contender"),
    )
    claims, undecided = sorted_out(_claims(curves, before))
    notes = (
        "A new entry of the mechanisms' catalogue takes part without any other change.",
        "Content words alone; GloVe's 10,000 most frequent words. Utility: topic accuracy of a "
        "linear SVM that learned from true postings.",
        sizes.attackers,
        "Proved loss: the bound on the log likelihood ratio between two words of such texts, at "
        "the median distance in each mechanism's own metric; exponential: between any two words. A "
        "mechanism without a guarantee has none.",
        "Alpha, beta and smoothing of the joined metric were chosen on these collections.",
        *_missed(curves, before),
        OVER_RUNS,
        *undecided,
    )
    return Outcome(tuple(readings), claims, drawings, notes=notes)


def _family(setting: Setting) -> str:
    lam = f", lambda {setting.lam:g}" if setting.lam is not None else ""
    return f"{setting.mechanism}{lam}"


def _loss(setting: Setting, embedding: Embedding, words: Ids) -> float | None:
    mechanism = setting.mechanism_on(embedding)
    if not mechanism.guarantee.private:
        return None
    apart = mechanism.pairwise(words, words)[np.triu_indices(len(words), 1)]
    return mechanism.guarantee.loss(float(np.median(apart)))


def _at_equal_attack(curves: dict[str, Curve], before: Measured) -> list[Reading]:
    readings = []
    for name, curve in curves.items():
        for level in LEVELS:
            left = reached(left_at(list(curve.values()), level, before))
            if len(left) >= 2:
                where: Where = {"contender": name}
                measure = f"{LEFT} at {level:.0%} attack"
                readings.append(Reading(EQUAL_ATTACK, where, measure, Estimate.of_runs(left)))
    return readings


def _missed(curves: dict[str, Curve], before: Measured) -> list[str]:
    """Who has fewer numbers at a level of attack than runs."""
    notes = []
    for level in LEVELS:
        runs = {
            name: left_at(list(curve.values()), level, before) for name, curve in curves.items()
        }
        few = {name: len(reached(left)) for name, left in runs.items() if None in left}
        if few:
            listed = "; ".join(f"{name}: {count}" for name, count in few.items())
            notes.append(
                f"Runs that reach an attack of {level:.0%}, where not all do: {listed}. A number "
                "at equal attack is over the runs that reach it, two at least."
            )
    return notes


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
                    STATIC: _at_loss(curves[name], loss, level, "static", 1.0),
                    ADAPTIVE: _at_loss(curves[name], loss, level, "adaptive", 1.0),
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


def _claims(curves: Mapping[str, Curve], before: Measured) -> list[Claim | str]:
    """Each mechanism on the joined metric against itself on word vectors: nobody is picked."""
    claims: list[Claim | str] = []
    level = LEVELS[0]
    for name, curve in curves.items():
        family = name.removesuffix(f", {PLAIN}")
        other = curves.get(f"{family}, {JOINED}")
        if family != name and other is not None:
            claims.append(
                gain_claim(
                    f"joined-beats-plain-{family.replace(', lambda ', '-')}",
                    f"Where the stronger attack names {level:.0%} of the authors, {family} keeps "
                    "more of the topic on the joined metric than on word vectors.",
                    level,
                    left_at(list(other.values()), level, before),
                    left_at(list(curve.values()), level, before),
                )
            )
    return claims
