"""Mahalanobis paper, section 5.1: how often a word survives (N_w), how many stand in (S_w)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inkblur import ReleaseSpec, Rng
from inkblur.evaluation import percentile_interval, privacy_statistics, resample_rows
from reproduction.arrays import NULL_ID, Array
from reproduction.context import Context
from reproduction.estimate import Estimate, weakest
from reproduction.mahalanobis.measures import mixed, percentile, spread
from reproduction.mahalanobis.published import EPSILONS, JUDGED, LAMBDAS, printed
from reproduction.mahalanobis.vocabulary import CollectionVocabulary
from reproduction.result import Claim, Drawing, Outcome, Reading

PERCENTILES = (5, 50, 95)
# vectors here: tables of N_w and S_w, and the figures, that the paper measured on other vectors
PLACES = {
    "glove": ("Table 3", "Table 4", "Figures 4 and 5"),
    "word2vec": ("Table 1", "Table 2", "Figures 2 and 3"),
}
NAMES = {"glove": "GloVe 6B", "word2vec": "Google News word2vec"}
NULL_REPEATS = 20
RUNS = 100  # a word, as in the paper
_RESAMPLES = 500

WordCounts = Mapping[tuple[float, float], Mapping[str, Sequence[int]]]  # by (lambda, epsilon)


def run(work: Context) -> Outcome:
    """The paper's grid on two sets of vectors."""
    readings: list[Reading] = []
    claims: list[Claim] = []
    drawings: list[Drawing] = []
    for vectors in PLACES:
        vocabulary = CollectionVocabulary(work, vectors)
        known, words = vocabulary.counts()
        grid = [
            (lam, epsilon)
            for lam in work.size(LAMBDAS, (0.0, 1.0))
            for epsilon in work.size(EPSILONS, JUDGED)
        ]
        measured = work.steps(
            [
                (
                    f"{vectors}, lambda {lam:g}, epsilon {epsilon:g}",
                    _measured,
                    work,
                    vocabulary,
                    ReleaseSpec("mahalanobis", epsilon).varied(lam=lam),
                )
                for lam, epsilon in grid
            ]
        )
        found = dict(zip(grid, measured, strict=True))
        readings += _tables(vectors, found, known / words) + _percentiles(vectors, found)
        claims += [*_claims(vectors, found), *_percentile_claims(work, vectors, found)]
        drawings += _drawings(vectors)
    return Outcome(tuple(readings), tuple(claims), tuple(drawings), notes=_notes(work))


def _measured(
    work: Context, vocabulary: CollectionVocabulary, setting: ReleaseSpec
) -> dict[str, list[int]]:
    """N_w and S_w of the sampled words, and S_w of the null word, measured several times."""
    table = vocabulary.table
    places = work.sample(measured_words(work, len(table)), len(table), vocabulary.vectors)
    runs = work.size(RUNS, 20)
    mechanism = setting.mechanism_on(table)
    found = privacy_statistics(
        mechanism, rng=work.rng("words"), words=[table.words[p] for p in places], runs=runs
    )
    times = work.size(NULL_REPEATS, 2)
    nulls = np.full(times * runs, NULL_ID, dtype=np.int64)
    out = mechanism.replace(nulls, work.rng("null word", mechanism.spec)).reshape(times, runs)
    return {
        "survived": _percent(found.survived, runs),
        "distinct": list(found.distinct),
        "null": [len(set(row)) for row in out.tolist()],
    }


def measured_words(work: Context, vocabulary: int) -> int:
    """How many words of a vocabulary are measured."""
    return min(work.size(1_000, 10, vocabulary), vocabulary)


def _percent(counts: Sequence[int], runs: int) -> list[int]:
    """Of 100 runs, as the paper states it, also where a quick look makes fewer."""
    return [round(100 * count / runs) for count in counts]


def _tables(vectors: str, found: WordCounts, share: float) -> list[Reading]:
    """Tables 1 and 2, or 3 and 4, with words that have no vector left out and taken in."""
    survival, variety, _ = PLACES[vectors]
    readings = []
    for table, name, kind in ((survival, "N_w", "survived"), (variety, "S_w", "distinct")):
        stated = printed(table)
        title = f"{table} (here {NAMES[vectors]})"
        for (lam, epsilon), values in found.items():
            where = {"epsilon": epsilon, "lambda": lam}
            mean, deviation = stated[lam, epsilon]
            known = Estimate.of_units(values[kind])
            null = Estimate.of_units(values["null"]) if name == "S_w" else Estimate.exact(0.0)
            readings += [
                Reading(title, where, f"mean {name}", known, mean),
                Reading(title, where, f"sd of {name}", spread(values[kind]), deviation),
                Reading(title, where, f"mean {name}, null word for words without a vector",
                        mixed(known, null, share), mean),
            ]  # fmt: skip
    return readings


def _percentiles(vectors: str, found: WordCounts) -> list[Reading]:
    """What the figures draw; the paper prints no numbers for them."""
    return [
        Reading(
            _figures(vectors),
            {"percentile": percent, "epsilon": epsilon, "lambda": lam},
            name,
            percentile(values[kind], percent),
        )
        for name, kind in (("N_w", "survived"), ("S_w", "distinct"))
        for percent in PERCENTILES
        for (lam, epsilon), values in found.items()
    ]


def _figures(vectors: str) -> str:
    return f"{PLACES[vectors][2]}: percentiles over words (here {NAMES[vectors]})"


def _drawings(vectors: str) -> list[Drawing]:
    first, _, second = PLACES[vectors][2].removeprefix("Figures ").split()
    return [
        Drawing(
            f"Figure {number}: percentiles of {name}, {NAMES[vectors]}",
            _figures(vectors), name, "epsilon", line="lambda", panel="percentile", log_x=True,
        )
        for number, name in ((first, "N_w"), (second, "S_w"))
    ]  # fmt: skip


def _claims(vectors: str, found: WordCounts) -> list[Claim]:
    """Lower N_w and higher S_w for lambda 1 than for lambda 0, at each epsilon that is claimed."""
    claims = []
    for epsilon in JUDGED:
        spherical, elliptical = found[0.0, epsilon], found[1.0, epsilon]
        for name, kind, sign, words in (
            ("lower-survival", "survived", -1, "Fewer words survive"),
            ("more-substitutes", "distinct", 1, "More different words stand in for a word"),
        ):
            difference = np.subtract(elliptical[kind], spherical[kind]) * sign
            claims.append(
                Claim(
                    f"{name}-at-epsilon-{epsilon:g}-{vectors}",
                    f"{words} with lambda 1 than with lambda 0 at epsilon {epsilon:g}, on "
                    f"{NAMES[vectors]}.",
                    "Mahalanobis paper, section 5.1",
                    f"mean over words of {'S_w' if sign > 0 else 'N_w'} of 100 runs, lambda "
                    f"{'1 minus lambda 0' if sign > 0 else '0 minus lambda 1'}, the same words",
                    Estimate.of_units(difference),
                    0.0,
                )
            )
    return claims


def _percentile_claims(work: Context, vectors: str, found: WordCounts) -> list[Claim]:
    """The paper's sentence about its figures: all three percentiles, at the claimed epsilons."""
    claims = []
    for name, kind, sign, words in (
        ("lower-percentiles-of-survival", "survived", -1, "N_w is lower"),
        ("higher-percentiles-of-substitutes", "distinct", 1, "S_w is higher"),
    ):
        gains = {
            (percent, epsilon): _percentile_gain(
                np.asarray(found[0.0, epsilon][kind]) * sign,
                np.asarray(found[1.0, epsilon][kind]) * sign,
                percent if sign > 0 else 100 - percent,
                work.rng("percentiles", vectors, name, f"{epsilon:g}"),
            )
            for percent in PERCENTILES
            for epsilon in JUDGED
        }
        decides = weakest(gains.values(), 0.0)
        percent, epsilon = next(where for where, one in gains.items() if one == decides)
        claims.append(
            Claim(
                f"{name}-{vectors}",
                f"At the 5th, 50th and 95th percentile {words} with lambda 1 than with lambda 0, "
                f"on {NAMES[vectors]}.",
                f"Mahalanobis paper, section 5.1, {PLACES[vectors][2]}",
                "difference of percentiles over the same words, at epsilon 5, 10 or 20, the one "
                f"that decides: the {percent}th at epsilon {epsilon:g}",
                decides,
                0.0,
            )
        )
    return claims


def _percentile_gain(before: Array, after: Array, percent: float, rng: Rng) -> Estimate:
    """Words are drawn again in pairs."""
    rows = resample_rows(_RESAMPLES, len(before), rng)
    again = np.percentile(after[rows], percent, axis=1) - np.percentile(
        before[rows], percent, axis=1
    )
    value = float(np.percentile(after, percent) - np.percentile(before, percent))
    return Estimate(value, *percentile_interval(again, units=len(before)))


def _notes(work: Context) -> tuple[str, ...]:
    counts: dict[str, Any] = {
        vectors: CollectionVocabulary(work, vectors).counts() for vectors in PLACES
    }
    shares = " and ".join(f"{known:,} in {NAMES[v]}" for v, (known, _) in counts.items())
    words = counts["glove"][1]
    return (
        f"The two collections have {words:,} words here (runs of letters, digits and apostrophes; "
        f"the paper counts 28,596); {shares} have a vector. Only they can come out.",
        "The paper does not say what it does with words without a vector. Shown are both ways: "
        "only words with a vector are measured; or a word without one is the null word, as in "
        "Inkblur's releases: it never comes out as itself (N_w = 0), and S_w is that of noise "
        "around the vocabulary's mean.",
        "Tables 1 and 2 were measured on fastText vectors, which are not at hand: Google News "
        "word2vec stands in for them. The GloVe vectors of Tables 3 and 4 are not named more "
        "closely in the paper. Survival at an epsilon depends on how far the words of a table are "
        "apart, so the numbers differ from the paper's; what can be compared is what lambda does.",
        ("Every word" if work.whole else f"{work.size(1_000, 10):,} words")
        + " of each vocabulary was measured, the same for every "
        f"setting, with {work.size(RUNS, 20)} runs each; every word of the vocabulary can come "
        "out. Intervals are over words of the vocabulary. The "
        "paper's own divide the spread over words by the root of 100, the number of runs, not by "
        "that of the number of words.",
        "At epsilon 40 nearly all words survive in the paper, as they do here with words without a "
        "vector left out; taken in as the null word they could not. So the paper's words all had "
        "vectors, or were left out.",
        "The vectors of word2vec are short (mean norm 2.9 in the file at hand, GloVe's 6.5). At "
        "epsilon 5 next to no word survives with any lambda, and S_w falls a little as lambda "
        "grows, as it does at epsilon 1 in the paper's own tables.",
        "A larger lambda at the same epsilon acts much like a smaller epsilon.",
        "S_w counts the word itself where it came out, as the paper's tables do (they tend to 1).",
    )
