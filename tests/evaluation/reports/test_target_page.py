"""The page of a search: the frontier line, the choice ringed, its held-out place beside it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.target_page import (
    frontier_figure,
    frontier_table,
    judged_table,
    target_page,
    verdict,
)
from inkblur.evaluation.tuning.adapted_grid import AdaptedBy, Candidate
from inkblur.evaluation.tuning.four_way_split import PublicTexts, TextShare, make_parts
from inkblur.evaluation.tuning.search import Judgment, Search
from inkblur.evaluation.tuning.target import Target
from inkblur.evaluation.tuning.trials import AttackLeft, Trial
from inkblur.spec import ReleaseSpec
from tests.evaluation.made import corpus

pytest.importorskip("jinja2")
EMBEDDING = {"name": "toy <i>", "words": 1000, "dimension": 50}
PLAN = Plan(seed=1, repeats=2)


def measured(
    epsilon: float | None,
    alpha: float,
    attack: float,
    utility: float,
    part: TextShare = TextShare.VALIDATION,
) -> Trial:
    adapted = AdaptedBy(alpha, 10.0)
    candidate = Candidate(ReleaseSpec("laplace", epsilon), adapted) if epsilon is not None else None
    attacks = (AttackLeft("koppel", "all", "adaptive", 5, 40, attack, 0.2, attack, attack),)
    return Trial(candidate, part, None, utility / 2, utility, "svm", 90, 4, 0.5, attacks)


TRIALS = (
    measured(5, 0.1, 0.1, 0.5),
    measured(9, 0.1, 0.3, 0.8),
    measured(5, 0.3, 0.15, 0.4),
    measured(9, 0.3, 0.2, 0.6),
)


def search(target: str, held_attack: float = 0.3, looks: int = 1) -> Search:
    aim = Target.parse(target)
    best = aim.best(TRIALS)
    before = measured(None, 0.1, 0.7, 1.0)
    if best is None or best.candidate is None:
        return Search(aim, before, TRIALS, None, None, 0)
    epsilon, adapted = best.candidate.setting.epsilon, best.candidate.adapted
    assert adapted is not None
    held = measured(epsilon, adapted.alpha, held_attack, 0.55, TextShare.HELD_OUT)
    return Search(aim, before, TRIALS, held, measured(None, 1, 0.6, 1.0, TextShare.HELD_OUT), looks)


def page_of(found: Search) -> str:
    texts, names, labels = corpus(each=20)
    parts = make_parts([PublicTexts(texts, names, labels)], seed=1)
    commands = ["inkblur privatize 'a <b>.csv'"]
    return target_page(found, parts=parts, embedding=EMBEDDING, plan=PLAN, commands=commands)


@pytest.mark.parametrize(
    ("target", "chosen"), [("attack<=0.2", 3), ("utility>=0.7", 1), ("utility>=0.5", 0)]
)
def test_the_figure_has_frontier_choice_and_held_out_place(target: str, chosen: int) -> None:
    drawing = ElementTree.fromstring(frontier_figure(search(target)).svg)
    groups = list(drawing.iter("g"))
    assert [g.get("class") for g in groups].count("path") == 2  # one a family
    (front,) = [g for g in groups if g.get("class") == "frontier"]
    titles = {
        g.findtext("title") or "": next(g.iter("use"))
        for g in groups
        if g.find("title") is not None
    }

    def place(row: int) -> str:
        trial = TRIALS[row]
        spot = titles[f"{trial.name}: {trial.attack:.1%}, {trial.utility:.1%}"]
        return f"{spot.get('x')} {spot.get('y')}"

    (line,) = front.iter("path")
    corners = re.findall(r"[ML] (\S+ \S+)", line.attrib["d"])
    assert corners == [place(0), place(3), place(1)]  # rising attack
    ring = titles[f"chosen: {TRIALS[chosen].name}"]
    assert f"{ring.get('x')} {ring.get('y')}" == place(chosen)
    assert any(tip.startswith(f"held out: {TRIALS[chosen].name}: 30.0%") for tip in titles)
    classes = [g.get("class") for g in groups]
    assert (classes.count("wanted"), classes.count("moved")) == (1, 1)


def test_tables_have_every_trial_and_both_parts() -> None:
    found = search("attack<=0.2")
    rows = frontier_table(found).rows
    assert [row.cells[0].detail for row in rows] == [
        "",
        "on the frontier",
        "on the frontier",
        "",
        "chosen",
    ]
    assert [row.lead for row in rows] == [False, False, False, False, True]
    judged = judged_table(found).rows
    assert [row.cells[0].detail for row in judged] == ["validation"] * 2 + ["held-out"] * 2
    assert [row.cells[1].text for row in judged] == ["70.0%", "20.0%", "60.0%", "30.0%"]


def test_the_verdict_says_what_was_not_met() -> None:
    missed = " ".join(verdict(search("attack<=0.2", 0.3)))
    assert "attack 20.0% of 40 texts (guessing: 20.0%), utility left 60.0%" in missed
    assert "attack 30.0% of 40 texts (guessing: 20.0%; for other texts like these 17%" in missed
    assert "attack<=0.2 is not met on the held-out texts:" in missed
    assert "keeps about 50% of the utility" in missed  # 4 labels: F1 0.25, of 0.5
    met = " ".join(verdict(search("attack<=0.2", 0.05)))
    assert "for other texts like these 1% to 17%" in met
    assert "attack<=0.2 is met on the held-out texts." in met
    assert "have now judged" not in met
    assert "have now judged 3 choices" in " ".join(verdict(search("attack<=0.2", looks=3)))


def test_an_interval_beyond_the_bound_is_said() -> None:
    """10 % of 40 texts: other texts like these may give up to 24 %."""
    found = search("attack<=0.2", 0.1)
    assert found.judgment is Judgment.OPEN
    assert found.to_json()["judgment"] == "met, but the interval reaches beyond"
    told = " ".join(verdict(found))
    assert "attack<=0.2 is met on the held-out texts, but the interval reaches 24%:" in told
    assert "but the interval reaches 24%" in page_of(found)
    assert search("attack<=0.25", 0.1).judgment is Judgment.MET
    assert search("attack<=0.2", 0.21).judgment is Judgment.MISSED


def test_a_utility_is_judged_by_its_figure_alone() -> None:
    found = search("utility>=0.5", 0.99)  # 0.55 is left
    assert found.judgment is Judgment.MET
    told = " ".join(verdict(found))
    assert (
        "utility>=0.5 is met on the held-out texts by this figure, which has no interval." in told
    )
    assert search("utility>=0.56").judgment is Judgment.MISSED


def test_the_page_loads_nothing_escapes_and_repeats() -> None:
    found = search("attack<=0.2")
    text = page_of(found)
    assert text == page_of(found)
    assert not re.search(r"<script|src=|href=\"[^#]|url\(|https?:", text)
    assert "toy &lt;i&gt;" in text
    assert "a &lt;b&gt;.csv" in text
    for trial in TRIALS:
        assert trial.name in text


def test_a_page_without_a_choice_names_the_nearest() -> None:
    text = page_of(search("attack<=0.05"))
    assert "No setting meets it" in text
    assert f"{TRIALS[0].name}: attack 10.0%" in text
    assert "chosen:" not in text
