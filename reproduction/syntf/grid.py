"""SynTF's whole grid of parameters (Table 2), by a sample that fills it, and the interactions.

The paper tries every one of 5 bigram factors, 3 lengths, 9 epsilons, 3 morphologies, with and
without synonyms: 810 settings. Shorter vectors are the first draws of longer ones, so a release
serves all three lengths: 60 of the 270 others are released, which measures 180 settings. A linear
model with all interactions of two parameters says what each does and which go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from inkblur import ReleaseSpec
from inkblur.evaluation import Array
from reproduction.context import Context, StepJob
from reproduction.estimate import CONFIDENCE, Estimate
from reproduction.result import Passage, Reading
from reproduction.syntf.gaps import smallest_gap
from reproduction.syntf.published import BIGRAMS, EPSILONS, LENGTHS, MORPHOLOGIES
from reproduction.syntf.resampling import RunScores
from reproduction.syntf.study import ANSWERED, PostingsStudy

TABLE = "Table 2: effects over the grid of 810 settings"
RELEASED = 60
RUNS = 2
# Three morphologies are the corners of a triangle, so none lies between the others.
_CORNERS = {"lemma": (1.0, 0.0), "lower": (-0.5, 0.75**0.5), "as-is": (-0.5, -(0.75**0.5))}
_COLUMNS = ("s", "epsilon", "lemma", "lower rather than as it is", "similar words", "length")
_FACTOR = {"lower rather than as it is": "lemma"}  # columns of one parameter do not interact


class GridPoint(NamedTuple):
    """One release of the grid; it serves every length."""

    bigram: float
    epsilon: float
    morphology: str
    similar: bool

    def spec(self, length: int) -> ReleaseSpec:
        """As a setting."""
        return ReleaseSpec(
            "exponential",
            self.epsilon,
            parameters={"bigram": self.bigram},
            release="tf",
            length=length,
            morphology=self.morphology,
        )

    def coded(self) -> tuple[float, ...]:
        """Every parameter from -1 to 1."""
        return (
            _between(self.bigram, BIGRAMS),
            _between(self.epsilon, EPSILONS),
            *_CORNERS[self.morphology],
            1.0 if self.similar else -1.0,
        )


POINTS = tuple(
    GridPoint(*levels)
    for levels in product(BIGRAMS, EPSILONS, MORPHOLOGIES.values(), (False, True))
)


def spread(points: Sequence[GridPoint], count: int, first: GridPoint) -> list[GridPoint]:
    """`count` of the points that fill their space: each is the farthest from those before it.

    >>> first = GridPoint(0.3, 47.5, "lemma", False)
    >>> chosen = spread(POINTS, 60, first)
    >>> len(set(chosen)), {point.morphology for point in chosen[:3]} == set(_CORNERS)
    (60, True)
    """
    places = np.array([point.coded() for point in points])
    chosen = [points.index(first)]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, np.square(places - places[chosen[-1]]).sum(axis=1))
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return [points[place] for place in chosen]


def measured(
    work: Context, study: PostingsStudy, before: RunScores, first: GridPoint
) -> tuple[list[Reading], list[Passage]]:
    """Effects on the smallest gap over the four scenarios, and the best settings by the model."""
    chosen = spread(POINTS, RELEASED, first)
    jobs: list[StepJob] = []
    for point in chosen:
        setting = point.spec(LENGTHS[-1])
        words = "similar words, " * point.similar
        name = f"grid: {setting.name}, {words}{RUNS} runs, {ANSWERED}"
        jobs.append((name, study.synthetic, setting, RUNS, LENGTHS[:-1], point.similar))
    gaps = {
        (point, int(length)): [float(smallest_gap(run, before)) for run in runs]
        for point, found in zip(chosen, work.steps(jobs), strict=True)
        for length, runs in found.items()
    }
    found = effects(gaps)
    readings = [
        Reading(TABLE, {"parameters": name}, "effect on the smallest gap", effect)
        for name, effect in found.items()
    ]
    return readings, [_best(found, first)]


def effects(gaps: Mapping[tuple[GridPoint, int], Sequence[float]]) -> dict[str, Estimate]:
    """What going from the lowest to the highest level does, parameter by parameter, and for each
    two of them how much more it does at the highest level of the other than at its middle.

    Least squares; intervals by the sandwich estimator with releases as clusters, for the lengths of
    one release share its draws.
    """
    from scipy.stats import t

    rows = [(point, length, gap) for (point, length), values in gaps.items() for gap in values]
    table = np.array([_terms(point, length) for point, length, _ in rows])
    target = np.array([gap for *_, gap in rows])
    weights, *_ = np.linalg.lstsq(table, target, rcond=None)
    left = target - table @ weights
    names = [point for point, *_ in rows]
    clusters = sorted(set(names))
    scores = np.array(
        [
            (table * left[:, None])[[name == cluster for name in names]].sum(axis=0)
            for cluster in clusters
        ]
    )
    bread = np.linalg.pinv(table.T @ table)
    count, columns = table.shape
    free = len(clusters) - 1
    scale = len(clusters) / free * (count - 1) / (count - columns)
    errors = np.sqrt(scale * np.diag(bread @ scores.T @ scores @ bread))
    wide = float(t.ppf(0.5 + CONFIDENCE / 2, free))
    # From -1 to 1 is twice the weight.
    return {
        name: Estimate(2 * value, 2 * (value - wide * error), 2 * (value + wide * error))
        for name, value, error in zip(
            _names()[1:], weights[1:].tolist(), errors[1:].tolist(), strict=True
        )
    }


def _between(value: float, levels: Sequence[float]) -> float:
    low, high = min(levels), max(levels)
    return 2 * (value - low) / (high - low) - 1


def _pairs() -> list[tuple[int, int]]:
    return [
        (a, b)
        for a, b in combinations(range(len(_COLUMNS)), 2)
        if _FACTOR.get(_COLUMNS[b], _COLUMNS[b]) != _COLUMNS[a]
    ]


def _names() -> list[str]:
    return ["mean", *_COLUMNS, *(f"{_COLUMNS[a]} x {_COLUMNS[b]}" for a, b in _pairs())]


def _terms(point: GridPoint, length: int) -> Array:
    alone = np.array([*point.coded(), _between(length, LENGTHS)])
    return np.array([1.0, *alone, *(alone[a] * alone[b] for a, b in _pairs())])


def _best(found: Mapping[str, Estimate], paper: GridPoint) -> Passage:
    """The setting of the 810 that the model likes best, beside the paper's."""
    weights = np.array([effect.value / 2 for effect in found.values()])
    ranked = sorted(product(POINTS, LENGTHS), key=lambda one: -float(_terms(*one)[1:] @ weights))
    rank = ranked.index((paper, LENGTHS[-1])) + 1
    return Passage(
        "The grid of 810 settings by the model",
        (
            ("largest smallest gap", _shown(*ranked[0])),
            ("the paper's choice", f"{_shown(paper, LENGTHS[-1])}: number {rank} of {len(ranked)}"),
        ),
    )


def _shown(point: GridPoint, length: int) -> str:
    return point.spec(length).name + ", similar words" * point.similar
