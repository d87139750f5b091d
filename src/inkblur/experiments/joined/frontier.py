"""Does a metric that knows the topic keep it while the author is blurred?

None of the papers has it. 20 Newsgroups teach the metric and the analyst (their training part); the
analyst is asked about the test part. The attacker names the authors of Reuters C50.
"""

from __future__ import annotations

from inkblur.evaluation.settings import Setting
from inkblur.experiments.duel import Duel, Sizes, c50_and_newsgroups
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.frontier import (
    UNTOUCHED,
    Measured,
    Runs,
    duel_readings,
    frontier_drawings,
    gained,
    left_at,
    untouched_readings,
)
from inkblur.experiments.joined.space import ALPHA, BETA, SMOOTHING, joined, plain
from inkblur.experiments.result import Claim, Outcome, Where
from inkblur.experiments.workshop import Workshop

TABLE = "Attack on C50 authors, topic of 20 Newsgroups"
PLAIN, JOINED = "word vectors", "joined"
LEVELS = ((0.25, 0.8), (0.15, 0.7))  # attack at most, share of the untouched topic at least
# Epsilons differ by metric: what is compared is utility at equal attack, not at equal epsilon.
SETTINGS = {
    PLAIN: (Setting("laplace", 8.0), Setting("laplace", 6.8)),
    JOINED: (Setting("laplace", 19.0), Setting("laplace", 16.0), Setting("laplace", 13.0)),
}
SIZES = Sizes(studied=50, known=20, unknown=10, taught=12_000, asked=1_500)
QUICK_SIZES = Sizes(studied=3, known=2, unknown=1, taught=400, asked=60)


def run(work: Workshop) -> Outcome:
    """Both metrics over a few epsilons, five runs each."""
    sizes = work.size(SIZES, QUICK_SIZES)
    duel = Duel("frontier", work, *c50_and_newsgroups(work), sizes)
    spaces = {PLAIN: plain(work), JOINED: joined(work, duel.taught, "topic")}
    before = duel.before()
    untouched: Where = {"metric": UNTOUCHED, "epsilon": ""}
    readings = untouched_readings(TABLE, untouched, before)
    curves: dict[str, list[Runs]] = {}
    for metric, settings in SETTINGS.items():
        for setting in settings:
            runs = [duel.after(setting, spaces[metric], run) for run in range(work.size(5, 2))]
            curves.setdefault(metric, []).append(runs)
            where: Where = {"metric": metric, "epsilon": setting.epsilon}
            readings += duel_readings(TABLE, where, runs, before)
    notes = (
        f"Joined: alpha {ALPHA:g}, beta {BETA:g}, smoothing {SMOOTHING:g}. Laplace noise on both; "
        "the race has the other mechanisms.",
        "Content words alone; GloVe's 30,000 most frequent words; other words are the null word. "
        "Static attack: Koppel, cosine, 50 authors, the better of two weightings; adaptive: it "
        f"studied {sizes.known} texts an author released in the same way.",
        "Alpha, beta and smoothing were chosen on these collections: joined/pairs has others.",
    )
    return Outcome(
        tuple(readings), _claims(curves, before), frontier_drawings(TABLE, "metric"), notes=notes
    )


def _claims(curves: dict[str, list[Runs]], before: Measured) -> tuple[Claim, ...]:
    claims = []
    for attack, share in LEVELS:
        left = left_at(curves[JOINED], attack, before)
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
                gained(left, left_at(curves[PLAIN], attack, before)),
                0.0,
            ),
        ]
    return tuple(claims)
