"""The page of a tuning: self-contained, every setting on it, the chosen one ringed."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.charts import Spot, scatter
from inkblur.evaluation.reports.tuning_page import trials_table, tuning_figure, tuning_page
from inkblur.evaluation.tuning.adapted_grid import Candidate
from inkblur.evaluation.tuning.criterion import Criterion, Goal
from inkblur.evaluation.tuning.four_way_split import TextShare
from inkblur.evaluation.tuning.trials import AttackLeft, Trial
from inkblur.spec import ReleaseSpec

pytest.importorskip("jinja2")
FACTS = Facts(90, 60, 30, 0, 3, 0, 0, 0, 2, 0)
EMBEDDING = {"name": "toy <i>", "words": 1000, "dimension": 50}


def trial(epsilon: float, lam: float, survival: float, utility: float, left: float) -> Trial:
    attacks = (
        AttackLeft("koppel", "all", "static", 3, 30, left / 2, 1 / 3, left / 2, left),
        AttackLeft("koppel", "top-2", "static", 2, 20, 0.1, 0.5, 0.1, None),
    )
    candidate = Candidate(ReleaseSpec("mahalanobis", epsilon, parameters={"lam": lam}))
    rest = (utility / 2, utility, "svm", 90, 2, 0.62, attacks)
    return Trial(candidate, TextShare.VALIDATION, survival, *rest)


TRIALS = (
    trial(5, 0, 1, 0.4, 0.3),
    trial(50, 0, 60, 0.9, 0.8),
    trial(5, 1, 0.5, 0.3, 0.1),
    trial(50, 1, 50, 0.85, 0.9),
)


@pytest.mark.parametrize(
    ("goal", "chosen", "place"),
    [
        (Goal(Criterion("largest-gap")), 2, (0.1, 0.3)),
        (Goal(Criterion("least-survival"), utility_floor=0.8), 3, (0.5, 0.85)),
        (Goal(Criterion("most-utility"), most_attack=0.2), 0, (0.15, 0.4)),
        (Goal(Criterion("most-utility"), most_survival=55), 3, (0.5, 0.85)),
    ],
)
def test_the_chosen_setting_is_ringed_where_it_lies(
    goal: Goal, chosen: int, place: tuple[float, float]
) -> None:
    name = TRIALS[chosen].name
    table = trials_table(goal, TRIALS)
    assert [row.lead for row in table.rows] == [row == chosen for row in range(4)]
    svg = tuning_figure(goal, TRIALS).svg
    drawing = ElementTree.fromstring(svg)
    spots = {
        g.findtext("title"): next(g.iter("use"))
        for g in drawing.iter("g")
        if g.find("title") is not None
    }
    assert len(spots) == 5  # four settings and the ring
    ring = spots.pop(f"chosen: {name}")
    x, y = place
    point = spots[f"{name}: {x:.1%}, {y:.1%}"]
    assert (ring.get("x"), ring.get("y")) == (point.get("x"), point.get("y"))
    classes = [g.get("class") for g in drawing.iter("g")]
    assert classes.count("path") == 2  # one a lambda
    assert classes.count("wanted") == 1


def test_the_page_loads_nothing_escapes_and_repeats() -> None:
    goal = Goal(Criterion("largest-gap"))
    plan = Plan(seed=1, repeats=2)
    text = tuning_page(goal, TRIALS, facts=FACTS, embedding=EMBEDDING, plan=plan)
    assert text == tuning_page(goal, TRIALS, facts=FACTS, embedding=EMBEDDING, plan=plan)
    assert not re.search(r"<script|src=|href=\"[^#]|url\(|https?:", text)
    assert "toy &lt;i&gt;" in text
    assert "Guessing labels by their frequency alone keeps about 62% of the utility" in text
    assert "guessing authors without reading any text identifies 50% of them" in text
    assert "10% of the texts (guessing: 50.0%)" in text  # beside what the chosen setting leaves
    for tried in TRIALS:
        assert tried.name in text


def test_a_page_without_a_choice_says_so() -> None:
    goal = Goal(Criterion("least-survival"), utility_floor=0.99)
    plan = Plan(seed=1)
    text = tuning_page(goal, TRIALS, facts=FACTS, embedding=EMBEDDING, plan=plan)
    assert "No setting meets it" in text
    assert "chosen:" not in text


@pytest.mark.parametrize(("floor", "said"), [(0.62, True), (0.63, False)])
def test_a_floor_that_guessing_meets_is_called_that(floor: float, said: bool) -> None:
    goal = Goal(Criterion("least-survival"), utility_floor=floor)
    assert ("keeps nothing of the labels" in trials_table(goal, TRIALS).caption) == said


def test_without_attacks_nothing_is_said_of_guessing_authors() -> None:
    alone = [replace(each, attacks=()) for each in TRIALS]
    goal = Goal(Criterion("least-survival"), utility_floor=0.8)
    assert "authors" not in trials_table(goal, alone).caption


def test_many_lines_share_a_color_and_need_no_legend() -> None:
    paths = {f"lambda {i}": [Spot(f"at {i}", 0.1 * i, 1.3)] for i in range(8)}
    svg = scatter(paths, title="t", x_label="x", y_label="y").svg
    assert "lambda 7<" not in svg
    assert "150%" in svg  # shares above 1 have room
