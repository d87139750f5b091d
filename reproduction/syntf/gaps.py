"""What the analyst and the attacker keep, relative to the original postings, and the gap between.

SynTF's measure (section 4.2): beta_U - beta_A, F1 after divided by F1 before, for each scenario;
parameters are judged by their smallest gap over the four scenarios. Scores may be numbers, or
arrays with a number for each resample of the test postings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from inkblur.evaluation import percentile_interval
from reproduction.estimate import Estimate, weakest
from reproduction.newsgroups import SCENARIOS
from reproduction.syntf.resampling import RunScores, ScoreView, as_they_are
from reproduction.syntf.study import MODELS

Resampled = Any  # a float, or (resamples,)
STRONGEST = "strongest"  # both tasks by whichever classifier does best, before and after
CLASSIFIERS = (*MODELS, STRONGEST)
SHOWN = {  # as the paper's Table 1 calls them
    "top-5": "Top 5/Any",
    "top-10": "Top 10/Any",
    "top-5-multi": "Top 5/Multi",
    "top-10-multi": "Top 10/Multi",
}


def utility_left(found: RunScores, before: RunScores, classifier: str) -> Resampled:
    """beta_U: what is left of the analyst's F1."""
    return _left(found["utility"], before["utility"], classifier)


def attack_left(found: RunScores, before: RunScores, scenario: str, classifier: str) -> Resampled:
    """beta_A: what is left of the attacker's F1 in one scenario."""
    return _left(found["attack"][scenario], before["attack"][scenario], classifier)


def gap(found: RunScores, before: RunScores, scenario: str, classifier: str) -> Resampled:
    """beta_U - beta_A: above 0, the release costs the attacker more than the analyst."""
    return utility_left(found, before, classifier) - attack_left(
        found, before, scenario, classifier
    )


def smallest_gap(found: RunScores, before: RunScores, classifier: str = STRONGEST) -> Resampled:
    """The worst case over the four scenarios."""
    return np.min([gap(found, before, scenario, classifier) for scenario in SCENARIOS], axis=0)


def summarized(runs: Sequence[RunScores], number: Callable[[RunScores], float]) -> Estimate:
    """A number over runs; exact where there is one run, for then nothing was drawn."""
    return _over([number(run) for run in runs])


def by_scenario(
    number: Callable[[RunScores, str], float],
    runs: Sequence[RunScores],
    scenarios: Sequence[str] = SCENARIOS,
) -> list[Estimate]:
    """A number over runs, scenario by scenario."""
    return [_over([number(run, scenario) for run in runs]) for scenario in scenarios]


def over_postings(
    number: Callable[[ScoreView, RunScores], Resampled],
    runs: Sequence[RunScores],
    resampled: ScoreView,
) -> Estimate:
    """The mean of a number over runs; the interval covers other postings and other runs.

    The number is computed again in each resample of the test postings and averaged over the runs.
    Student's interval over the runs is covered as well: that of whichever is the wider counts.
    """
    found = summarized(runs, partial(number, as_they_are))
    again = np.mean([number(resampled, run) for run in runs], axis=0)
    low, high = percentile_interval(again)
    return Estimate(found.value, min(found.low, low), max(found.high, high))


def in_every(
    number: Callable[[ScoreView, RunScores, str], Resampled],
    runs: Sequence[RunScores],
    resampled: ScoreView,
    scenarios: Sequence[str] = SCENARIOS,
) -> Estimate:
    """The scenario that decides whether a number lies above 0 in every one, with its interval."""

    def at(scenario: str) -> Estimate:
        return over_postings(lambda look, run: number(look, run, scenario), runs, resampled)

    return weakest([at(scenario) for scenario in scenarios], 0.0)


def _over(values: Sequence[float]) -> Estimate:
    return Estimate.of_runs(values) if len(values) > 1 else Estimate.exact(values[0])


def _left(after: dict[str, Any], before: dict[str, Any], classifier: str) -> Resampled:
    """Nothing is left where there was nothing."""
    was, now = np.asarray(_f1(before, classifier)), np.asarray(_f1(after, classifier))
    return np.divide(now, was, out=np.zeros(was.shape), where=was > 0)[()]


def _f1(scores: dict[str, Any], classifier: str) -> Resampled:
    if classifier == STRONGEST:
        return np.max([scores[model][0] for model in MODELS], axis=0)
    return scores[classifier][0]
