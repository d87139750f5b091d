"""Scores on other test postings: drawn again with replacement, the same draws for every method.

The answers of analyst and attacker are kept posting by posting, a letter each; F1 is computed anew
from the letters in every resample. The classifiers are not trained again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from inkblur import Rng
from inkblur.evaluation import resample_rows
from reproduction.arrays import Array

NONE = "-"  # an answer that is no class of the truth, or no answer
RESAMPLES = 2_000

RunScores = dict[str, Any]
ScoreView = Callable[
    [RunScores], RunScores
]  # scores as they are, or the same scores in every resample


def as_they_are(found: RunScores) -> RunScores:
    """The scores on the test postings themselves."""
    return found


def lettered(truth: Sequence[Any], answers: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """True classes and every model's answers, a letter a posting.

    >>> lettered([3, 3, 7], {"svm": [3, 7, -1]})
    {'truth': 'aab', 'svm': 'ab-'}
    """
    classes = sorted(set(truth))
    letters = dict(zip(classes, ascii_letters[: len(classes)], strict=True))
    return {
        name: "".join(letters.get(one, NONE) for one in said)
        for name, said in (("truth", truth), *answers.items())
    }


class Resamples:
    """Look at scores through it: each F1 becomes one number a resample.

    The analyst's postings and those of each scenario's suspects are sets of their own, and each is
    drawn by itself.
    """

    def __init__(self, rng: Rng, count: int = RESAMPLES) -> None:
        self._rng, self._count = rng, count
        self._weights: dict[str, Array] = {}
        self._made: dict[
            int, tuple[RunScores, RunScores]
        ] = {}  # the first is held, so its id stays its

    def __call__(self, found: RunScores) -> RunScores:
        """{"utility": {model: [F1 (resamples,)]}, "attack": {scenario: {model: [...]}}}."""
        if id(found) not in self._made:
            kept = found["answers"]
            again = {
                "utility": self._scores("analyst", kept["utility"]),
                "attack": {
                    scenario: self._scores(scenario, answers)
                    for scenario, answers in kept["attack"].items()
                },
            }
            self._made[id(found)] = found, again
        return self._made[id(found)][1]

    def _scores(self, postings: str, kept: Mapping[str, str]) -> dict[str, list[Array]]:
        truth = _indicators(kept["truth"], kept["truth"])
        models = [name for name in kept if name != "truth"]
        said = [_indicators(kept[model], kept["truth"]) for model in models]
        columns = [truth, *(part for one in said for part in (truth * one, one))]
        # One product for all: reading the weights is what takes the time.
        counts = self._drawn(postings, len(truth)) @ np.hstack(columns)
        occurs, *others = np.split(counts.astype(np.float64), len(columns), axis=1)
        found = {}
        for model, right, answered in zip(models, others[::2], others[1::2], strict=True):
            # Without true postings of a class its F1 has no weight; 0 / 0 does not arise.
            f1 = 2 * right / np.maximum(occurs + answered, 1)
            found[model] = [(f1 * occurs).sum(axis=1) / len(truth)]
        return found

    def _drawn(self, postings: str, count: int) -> Array:
        """How often each posting was drawn, (resamples, postings)."""
        if postings not in self._weights:
            rows = resample_rows(self._count, count, self._rng.child(postings))
            times = [np.bincount(row, minlength=count) for row in rows]
            self._weights[postings] = np.array(times, np.float32)
        return self._weights[postings]


def _indicators(letters: str, truth: str) -> Array:
    """1 where a posting has the class, (postings, classes)."""
    column = {letter: place for place, letter in enumerate(sorted(set(truth)))}
    found: Array = np.zeros((len(letters), len(column)), np.float32)
    for row, letter in enumerate(letters):
        if letter in column:
            found[row, column[letter]] = 1
    return found
