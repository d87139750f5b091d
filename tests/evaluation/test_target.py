"""Targets: strictly read, and the choice and the frontier that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.tuning.four_way_split import TextShare
from inkblur.evaluation.tuning.target import Aim, Target, frontier
from inkblur.evaluation.tuning.trials import AttackLeft, Trial


def at(attack: float, utility: float) -> Trial:
    tried = AttackLeft("svm", "all", "static", 2, 10, attack, 0.5, attack, None)
    return Trial(None, TextShare.VALIDATION, None, utility, utility, "svm", 10, 2, 0.5, (tried,))


@pytest.mark.parametrize(
    ("text", "aim", "bound"),
    [
        ("attack<=0.2", Aim.ATTACK, 0.2),
        (" attack <= .25 ", Aim.ATTACK, 0.25),
        ("attack<=0", Aim.ATTACK, 0.0),
        ("utility>=0.8", Aim.UTILITY, 0.8),
        ("utility>=1", Aim.UTILITY, 1.0),
    ],
)
def test_targets_are_read(text: str, aim: Aim, bound: float) -> None:
    target = Target.parse(text)
    assert (target.aim, target.bound) == (aim, bound)
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attack>=0.2", "has a ceiling"),
        ("utility<=0.8", "a floor"),
        ("attack<0.2", "cannot read the target"),
        ("attack<=20%", "in quotes"),
        ("attack<=", "cannot read"),
        ("attack<=-0.1", "cannot read"),
        ("attack<=nan", "cannot read"),
        ("Attack<=0.2", "cannot read"),
        ("attack<=0.2,utility>=0.8", "cannot read"),
        ("survival<=0.2", "cannot read"),
        ("attack<=20", "below 1"),
        ("attack<=1", "below 1"),
        ("utility>=0", "above 0"),
        ("utility>=80", "at most 1"),
    ],
)
def test_anything_else_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Target.parse(text)


POINTS = [at(0.05, 0.3), at(0.2, 0.6), at(0.1, 0.6), at(0.15, 0.55), at(0.5, 0.9), at(0.6, 0.9)]


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        ("attack<=0.2", at(0.1, 0.6)),  # of equal utility the least attack
        ("attack<=0.55", at(0.5, 0.9)),
        ("attack<=0.05", at(0.05, 0.3)),  # the bound itself is met
        ("attack<=0.01", None),
        ("utility>=0.5", at(0.1, 0.6)),
        ("utility>=0.9", at(0.5, 0.9)),
        ("utility>=0.95", None),
    ],
)
def test_the_best_that_meets_the_target(target: str, chosen: Trial | None) -> None:
    assert Target.parse(target).best(POINTS) == chosen


def test_rounding_is_no_miss() -> None:
    assert Target.parse("attack<=0.3").best([at(0.1 + 0.2, 1.0)]) is not None  # 0.1 + 0.2 > 0.3
    assert Target.parse("attack<=0.3").best([at(0.3 + 1e-9, 1.0)]) is None


def test_the_nearest_misses_by_least() -> None:
    assert Target.parse("attack<=0.01").nearest(POINTS) == at(0.05, 0.3)
    assert Target.parse("utility>=0.95").nearest(POINTS) == at(0.5, 0.9)  # less attack than 0.6


def test_the_frontier_is_what_nothing_beats() -> None:
    rng = np.random.default_rng(7)
    points = [at(a / 10, u / 10) for a, u in rng.integers(0, 11, (60, 2)).tolist()]

    def beats(one: Trial, other: Trial) -> bool:
        as_good = one.attack <= other.attack and one.utility >= other.utility
        return as_good and one != other

    expected = {p for p in points if not any(beats(q, p) for q in points)}
    found = frontier(points)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert [p.attack for p in found] == sorted(p.attack for p in found)
