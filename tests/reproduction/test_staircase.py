"""The judge of the staircase's targets: halves, and the strongest attack."""

from __future__ import annotations

from typing import Any

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


def test_draws_repeat_every_setting_of_equal_cosine() -> None:
    settings: dict[str, int] = {}
    for job in grid(draws=6):
        if job.as_staircase is not None:
            settings[job.match] = settings.get(job.match, 0) + 1
    assert set(settings.values()) == {6}
    assert len(settings) == 5 * 2 * 4  # mechanisms, levels, collections


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


def _equal(
    collection: str, mechanism: str, right: str, level: float | None, run: int = 0
) -> dict[str, Any]:
    return {
        "key": f"{mechanism} on {collection} {run}, run {run}",
        "row": "equal cosine",
        "collection": collection,
        "spec": {"mechanism": mechanism, "epsilon": 9.0},
        "spec_name": mechanism,
        "run": run,
        "as_staircase": level,
        "parameters": {"epsilon": 9.0},
        "right": {"svm static": right, "likelihood static": "0" * len(right)},
        "cosines": [(1.0, 2)] * len(right),
    }


def _untouched(collection: str, authors: list[int]) -> dict[str, Any]:
    row = {"key": f"untouched {collection}", "row": "untouched", "collection": collection}
    return {**row, "right": {"svm": "1" * len(authors)}, "authors": authors}


def _cells(rows: list[dict[str, Any]], collection: str, level: int, release: str) -> list[str]:
    table = [line.strip("| ").split(" | ") for line in report(rows).splitlines()]
    return next(
        line for line in table if line[:2] == [collection, str(level)] and release in line[2]
    )


def test_at_equal_cosine_draws_are_averaged_and_differences_paired() -> None:
    rows = [
        _untouched("PAN 2018", list(range(40))),
        _equal("PAN 2018", "staircase", "10" * 20, None),
        _equal("PAN 2018", "laplace", "10" * 20, 9.0),
        _equal("PAN 2018", "laplace", "11" * 20, 9.0, run=1),
    ]
    cells = _cells(rows, "PAN 2018", 9, "laplace")
    assert cells[3] == "2"
    assert cells[6].startswith("0.750")
    assert cells[7].startswith("0.250")


def test_authors_alike_weigh_a_text_of_many_less() -> None:
    """Nine texts of one author are named, one text each of nine others is not."""
    rows = [
        _untouched("PAN 2018", [0] * 9 + list(range(1, 10))),
        _equal("PAN 2018", "staircase", "0" * 18, None),
        _equal("PAN 2018", "laplace", "1" * 9 + "0" * 9, 9.0),
    ]
    cells = _cells(rows, "PAN 2018", 9, "laplace")
    assert cells[7].startswith("0.500")
    assert cells[8].startswith("0.100")


def test_the_two_problems_are_judged_as_one_collection_too() -> None:
    rows = [
        _untouched("PAN 2018", list(range(20))),
        _untouched("PAN 2018 (2)", list(range(5)) * 2),
    ]
    for collection, texts in (("PAN 2018", 20), ("PAN 2018 (2)", 10)):
        rows.append(_equal(collection, "staircase", "0" * texts, None))
        rows.append(_equal(collection, "laplace", "01"[texts == 10] * texts, 9.0))
    cells = _cells(rows, "PAN 2018, both problems", 9, "laplace")
    assert cells[7].startswith("0.333")


def test_randomized_response_is_not_the_staircase_it_is_compared_with() -> None:
    rows = [
        _untouched("PAN 2018", list(range(20))),
        _equal("PAN 2018", "staircase", "0" * 20, None),
        _equal("PAN 2018", "staircase", "1" * 20, 9.0),
    ]
    cells = [line for line in report(rows).splitlines() if line.startswith("| PAN 2018 | 9")]
    assert len(cells) == 2
    assert any("1.000 (1.000 to 1.000)" in line for line in cells)
