"""The table of the staircase by label: which half is read, which attack counts, what is left."""

from __future__ import annotations

from typing import Any

from reproduction.staircase.by_label import CHANNEL, LABELS, SETTINGS, report, settings


def test_three_settings_of_each_epsilon_and_one_is_by_label() -> None:
    for labels in LABELS.values():
        made = settings(5.5, labels)
        assert len(made) == len({spec.name for spec in made}) == SETTINGS
        assert [spec.parameters["near"] for spec in made] == ["label", "vector", "vector"]
        assert made[2].parameters["tau"] == 1 / (labels + 1)  # the mass that a class has


def _job(labels: str) -> dict[str, Any]:
    """Of 8 texts the attack on even places names all authors, that on odd places half of them."""
    return {
        "key": f"release: {labels}, C50",
        "labels": labels,
        "authors": "C50",
        "spec": "release",
        "right": {"weak": "0" * 8, "strong": "11101110"},
        "told": {"naive-bayes": [0] * 8, "svm": [0] * 8, CHANNEL: [0, 0, 1, 1, 0, 0, 1, 1]},
    }


def test_topics_choose_on_one_half_and_judge_on_the_other_and_other_labels_judge_on_all() -> None:
    truth = [0, 0, 1, 1, 0, 0, 1, 1]
    facts: list[dict[str, Any]] = [
        {"key": f"labels {name}", "truth": truth, "told": {"svm": truth}}
        for name in ("topics", "SMS")
    ]
    rows = [*facts, {"key": "authors C50", "right": "1" * 8}, _job("topics"), _job("SMS")]
    _, _, choosing, judging, others = report(rows).splitlines()
    for line, part, named in (
        (choosing, "topics, C50, choosing", "1.000"),
        (judging, "topics, C50, judging", "0.500"),
        (others, "SMS, C50 ", "0.750"),
    ):
        assert line.startswith(f"| {part}")
        assert f"| {named} (" in line
        assert ") strong |" in line
        assert "| 33.3% (" in line  # one label of two: an F1 of 2/3 and of 0
        assert "| 100.0% (" in line  # who knows the channel
