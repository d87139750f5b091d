"""The judge of the staircase's targets: halves, the strongest attack, repetition patterns."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.staircase.author_answers import pattern
from reproduction.staircase.jobs import grid
from reproduction.staircase.judge import report, strongest, topic


def _row(tau: float, attack: str, told: str) -> dict[str, Any]:
    own = {"epsilon": 6.8, "tau": tau, "frequency_power": 0.0}
    return {
        "key": f"joined 6.8: tau {tau}, run 0",
        "row": "joined 6.8",
        "collection": "joined",
        "spec": {"mechanism": "staircase", "epsilon": 6.8},
        "as_staircase": None,
        "parameters": own,
        "right": {"svm static": "0" * 200, "koppel adaptive": attack},
        "topic": {"svm": told},
    }


UNTOUCHED = {
    "key": "untouched joined",
    "row": "untouched",
    "collection": "joined",
    "right": {"svm": "1" * 200},
    "topic": {"svm": "1" * 200},
}


def test_jobs_have_names_of_their_own() -> None:
    keys = [job.key for job in grid()]
    assert len(set(keys)) == len(keys)


def test_the_strongest_attack_and_the_topic_are_read_on_one_half() -> None:
    row = _row(0.1, "10" * 100, "01" * 100)
    assert strongest([row], 0)[0].value == 1.0
    assert strongest([row], 1)[0].value == 0.0
    assert strongest([row])[1] == "koppel adaptive"
    assert topic([row], UNTOUCHED, 1, learned=False)[1].value == 1.0


def test_a_setting_is_chosen_on_one_half_and_judged_on_the_other() -> None:
    """The first hides and keeps more where it is chosen; the other half says otherwise."""
    better_there = _row(0.1, "01" * 100, "10" * 100)
    better_here = _row(0.2, "10" * 100, "01" * 100)
    lines = report([UNTOUCHED, better_there, better_here]).splitlines()
    judged = next(line for line in lines if "judging" in line)
    assert "tau 0.1" in judged
    assert "1.000 (1.000 to 1.000) koppel adaptive" in judged


@pytest.mark.parametrize(("text", "seen"), [("x y", "new new"), ("x x", "new ago0 times1")])
def test_a_pattern_shows_repetition_and_no_word(text: str, seen: str) -> None:
    assert pattern(text) == seen
    assert pattern(text.replace("x", "other")) == seen
