"""What the analyst and the attacker keep, relative to the original postings, and the gap between.

SynTF's measure (section 4.2): beta_U - beta_A, F1 after divided by F1 before, for each scenario;
parameters are judged by their smallest gap over the four scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inkblur.evaluation.newsgroups import SCENARIOS
from inkblur.evaluation.results import relative
from inkblur.experiments.estimate import Estimate, weakest
from inkblur.experiments.syntf.bench import MODELS, Found

STRONGEST = "strongest"  # both tasks by whichever classifier does best, before and after
CLASSIFIERS = (*MODELS, STRONGEST)
SHOWN = {  # as the paper's Table 1 calls them
    "top-5": "Top 5/Any",
    "top-10": "Top 10/Any",
    "top-5-multi": "Top 5/Multi",
    "top-10-multi": "Top 10/Multi",
}


def utility_left(found: Found, before: Found, classifier: str) -> float:
    """beta_U: what is left of the analyst's F1."""
    return _left(found["utility"], before["utility"], classifier)


def attack_left(found: Found, before: Found, scenario: str, classifier: str) -> float:
    """beta_A: what is left of the attacker's F1 in one scenario."""
    return _left(found["attack"][scenario], before["attack"][scenario], classifier)


def gap(found: Found, before: Found, scenario: str, classifier: str) -> float:
    """beta_U - beta_A: above 0, the release costs the attacker more than the analyst."""
    return utility_left(found, before, classifier) - attack_left(
        found, before, scenario, classifier
    )


def smallest_gap(found: Found, before: Found, classifier: str = STRONGEST) -> float:
    """The worst case over the four scenarios."""
    return min(gap(found, before, scenario, classifier) for scenario in SCENARIOS)


def summarised(runs: Sequence[Found], number: Callable[[Found], float]) -> Estimate:
    """A number over runs; exact where there is one run, for then nothing was drawn."""
    return _over([number(run) for run in runs])


def by_scenario(
    number: Callable[[Found, str], float],
    runs: Sequence[Found],
    scenarios: Sequence[str] = SCENARIOS,
) -> list[Estimate]:
    """A number over runs, scenario by scenario."""
    return [_over([number(run, scenario) for run in runs]) for scenario in scenarios]


def in_every(
    number: Callable[[Found, str], float],
    runs: Sequence[Found],
    scenarios: Sequence[str] = SCENARIOS,
) -> Estimate:
    """The scenario that decides whether a number lies above 0 in every one, with its interval."""
    return weakest(by_scenario(number, runs, scenarios), 0.0)


def _over(values: Sequence[float]) -> Estimate:
    return Estimate.of_runs(values) if len(values) > 1 else Estimate.exact(values[0])


def _left(after: dict[str, list[float]], before: dict[str, list[float]], classifier: str) -> float:
    """Nothing is left where there was nothing."""
    return relative(_f1(after, classifier), _f1(before, classifier)) or 0.0


def _f1(scores: dict[str, list[float]], classifier: str) -> float:
    if classifier == STRONGEST:
        return max(scores[model][0] for model in MODELS)
    return scores[classifier][0]
