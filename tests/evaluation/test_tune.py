"""Tuning: measured on one half, judged on another, and nothing worthless is chosen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, halves, make_dataset
from inkblur.evaluation.evaluate import PreparedEvaluation, evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.html import tuning_figure
from inkblur.evaluation.reports.tables import tuning_table
from inkblur.evaluation.results import PUBLIC, RELEASED, TRUE, SettingResult
from inkblur.evaluation.tune import Target, Trial, Tuning, tune
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from inkblur.spec import ReleaseSpec, grid

from .made import attack, corpus, labels, table

pytest.importorskip("sklearn")
PLAN = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
GRID = grid("laplace", {"epsilon": [0.05, 3.0, 100.0]})


def made(each: int = 20) -> Dataset:
    texts, names, topics = corpus(each=each)
    return make_dataset(texts, authors=names, labels=topics, test_share=0.5, seed=5)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("attack<=0.2", Target("attack", 0.2)),
        (" attack <= .25 ", Target("attack", 0.25)),
        ("attack<=0", Target("attack", 0.0)),
        ("utility>=0.8", Target("utility", 0.8)),
        ("utility>=1", Target("utility", 1.0)),
    ],
)
def test_targets_are_read(text: str, target: Target) -> None:
    assert Target.parse(text) == target
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "text",
    [
        *("attack>=0.2", "utility<=0.8", "attack<0.2", "attack<=20%", "attack<=", "attack<=-0.1"),
        *("attack<=nan", "Attack<=0.2", "attack<=0.2,utility>=0.8", "survival<=0.2"),
        *("attack<=20", "attack<=1", "utility>=0", "utility>=80"),
    ],
)
def test_other_targets_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Target.parse(text)


def trial(share: float, f1: float, public: tuple[float, float] | None = None) -> Trial:
    """One setting of its own epsilon, so that its name is its own too; four labels, five authors.

    `public`: what the public texts alone and what the release teach of true texts.
    """
    spec = ReleaseSpec("laplace", 1 + share)
    taught = zip((PUBLIC, RELEASED), public or (), strict=False)
    found = (
        attack("static", share / 2),
        attack("adaptive", share),
        labels(RELEASED, RELEASED, f1),
        labels(TRUE, RELEASED, 0.9),  # what studied true texts is not the utility
        *(labels(studied, TRUE, each) for studied, each in taught),
    )
    before = SettingResult("before", {}, None, (), (labels(TRUE, TRUE, 0.8),))
    return Trial(spec, SettingResult(spec.name, {}, None, (), found), before)


TRIALS = (
    *(trial(0.05, 0.3), trial(0.2, 0.5), trial(0.1, 0.5), trial(0.15, 0.4)),
    *(trial(0.5, 0.72), trial(0.6, 0.72)),
)


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        ("attack<=0.2", 2),  # of equal utility the least attack
        ("attack<=0.55", 4),
        ("attack<=0.05", 0),  # the bound itself is met
        ("attack<=0.01", None),
        ("utility>=0.5", 2),
        ("utility>=0.9", 4),
        ("utility>=0.95", None),
    ],
)
def test_the_best_that_meets_the_target(target: str, chosen: int | None) -> None:
    best = Target.parse(target).best(TRIALS)
    assert best == (None if chosen is None else TRIALS[chosen])


def test_rounding_is_no_miss_and_the_nearest_misses_by_least() -> None:
    assert Target.parse("attack<=0.3").best([trial(0.1 + 0.2, 0.7)]) is not None  # above 0.3
    assert Target.parse("attack<=0.3").best([trial(0.3 + 1e-9, 0.7)]) is None
    assert Target.parse("attack<=0.01").nearest(TRIALS) == TRIALS[0]
    assert Target.parse("utility>=0.95").nearest(TRIALS) == TRIALS[4]  # less attack than 0.6


def test_nothing_below_guessing_or_below_the_public_texts_is_chosen() -> None:
    aim = Target.parse("attack<=0.3")
    guessed, beaten = trial(0.1, 0.25), trial(0.12, 0.7, (0.75, 0.7))
    assert "guessing" in guessed.worthless
    assert "public texts alone" in beaten.worthless
    assert aim.best([guessed, beaten]) is None
    better = trial(0.2, 0.4, (0.7, 0.75))
    assert aim.best([guessed, beaten, better, trial(0.25, 0.3)]) == better


@pytest.mark.parametrize(
    ("judged", "refused"),
    [
        (trial(0.1, 0.5), ""),
        (trial(0.1, 0.29), "guessing"),  # its interval reaches guessing, .25
        (trial(0.1, 0.7, (0.75, 0.7)), "public texts alone"),
    ],
)
def test_the_other_half_takes_a_worthless_choice_back(judged: Trial, refused: str) -> None:
    best = trial(0.1, 0.5)
    found = Tuning(Target.parse("attack<=0.2"), (best,), best, judged)
    assert refused in found.refused
    assert (found.chosen is None) is bool(refused)
    assert [row.lead for row in tuning_table(found).rows] == [not refused, False]
    assert (found.to_json()["chosen"] is None) is bool(refused)
    if pytest.importorskip("matplotlib"):
        assert ("chosen: " in tuning_figure(found).svg) is (not refused)


def test_a_target_that_the_other_half_misses_is_called_missed() -> None:
    best = trial(0.1, 0.5)
    assert Tuning(Target.parse("attack<=0.2"), (best,), best, trial(0.2, 0.5)).met
    assert not Tuning(Target.parse("attack<=0.2"), (best,), best, trial(0.3, 0.5)).met


def test_each_setting_is_evaluated_and_the_choice_judged_on_the_other_half() -> None:
    found = tune(made(), table(), GRID, Target.parse("utility>=0.8"), PLAN)
    assert [each.spec for each in found.trials] == list(GRID)
    assert found.chosen is not None
    assert found.judged is not None
    assert found.judged.spec == found.chosen.spec
    plan = replace(PLAN, meaning_texts=0, examples=0, read_texts=0)
    for half, measured in zip(halves(made(), 5), (found.chosen, found.judged), strict=True):
        report = evaluate(half, table(), [measured.spec], plan)
        same = report.settings[0].measurements
        assert set(measured.result.measurements) <= set(same)
        assert measured.before == report.before
    weak = found.trials[2]
    assert weak.utility == pytest.approx(1.0)  # epsilon 100 changes nothing
    assert found.trials[0].attack.accuracy.mean < weak.attack.accuracy.mean
    again = tune(made(), table(), GRID, Target.parse("utility>=0.8"), PLAN)
    assert json.dumps(again.to_json(), allow_nan=False) == json.dumps(found.to_json())


def test_public_texts_are_measured_alone(tmp_path: Path) -> None:
    texts, _, topics = corpus(each=30, seed=11)
    write_pool(tmp_path / "a.pool", build_pool(texts, table(), labels=topics))
    pooled = ReleaseSpec(epsilon=0.1, unit="text", pool=str(tmp_path / "a.pool"))
    words = ReleaseSpec("laplace", 0.01)  # which have the public texts that were given
    plan = replace(PLAN, attacks=("svm",))
    found = tune(
        made(), table(), [pooled, words], Target.parse("attack<=0.9"), plan,
        public=texts, public_labels=topics,
    )  # fmt: skip
    for each in found.trials:
        alone, released = each.taught(PUBLIC), each.taught(RELEASED)
        assert alone is not None
        assert released is not None
        assert alone.accuracy.mean > 0.9 > released.accuracy.mean
        assert each.worthless
    assert (found.chosen, found.judged) == (None, None)


def test_labels_that_nobody_can_tell_are_refused_before_any_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PreparedEvaluation, "measure", lambda *_: pytest.fail("released first"))
    texts, names, topics = corpus(each=20)
    parts = ["test" if row % 4 > 1 else "train" for row in range(len(texts))]
    turned = [
        {"sea": "sky", "sky": "sea"}[label] if part == "test" else label
        for label, part in zip(topics, parts, strict=True)
    ]
    data = make_dataset(texts, authors=names, labels=turned, parts=parts, seed=5)
    with pytest.raises(ParameterError, match="no better than guessing"):
        tune(data, table(), GRID, Target.parse("attack<=0.5"), PLAN)


def test_no_setting_is_advised_without_an_attack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise "attacks name at most 20 %" would hold for every setting."""
    monkeypatch.setattr("inkblur.evaluation.target.LARGEST_POOL", 1)
    write_pool(tmp_path / "a.pool", build_pool(corpus()[0], table()))
    spec = ReleaseSpec(epsilon=3.0, unit="text", pool=str(tmp_path / "a.pool"))
    plan = replace(PLAN, attacks=("likelihood",))
    with pytest.raises(ParameterError, match="none of the attacks"):
        tune(made(), table(), [spec], Target.parse("attack<=0.2"), plan)


@pytest.mark.parametrize(
    ("specs", "plan", "message"),
    [
        ([*GRID, ReleaseSpec("exponential", 1e9)], PLAN, "epsilon"),
        ([ReleaseSpec("angular-laplace", 1.0)], PLAN, "no guarantee"),
        (GRID, replace(PLAN, attacks=()), "an attack"),
        (GRID, replace(PLAN, models=()), "classifier"),
    ],
)
def test_wrong_requests_are_refused_before_any_is_measured(
    specs: list[ReleaseSpec], plan: Plan, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedEvaluation, "measure", lambda *_: pytest.fail("measured first"))
    with pytest.raises(ParameterError, match=message):
        tune(made(), table(), specs, Target.parse("attack<=0.5"), plan)
