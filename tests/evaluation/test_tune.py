"""Tuning: measured on one half, judged on another, and nothing worthless is chosen."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, Facts, halves, make_dataset
from inkblur.evaluation.evaluate import PreparedEvaluation, evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.tuning_page import tuning_figure, tuning_page, tuning_table
from inkblur.evaluation.results import (
    ADAPTIVE,
    STATIC,
    Interval,
    LabelsFound,
    Measurement,
    SettingResult,
    StandIns,
    UtilityResult,
)
from inkblur.evaluation.tune import Target, Trial, Tuning, tune
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from inkblur.spec import ReleaseSpec, grid

from .made import corpus, table

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")
PLAN = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
GRID = grid("laplace", {"epsilon": [0.05, 3.0, 100.0]})
LABELS = 4


def made(each: int = 20) -> Dataset:
    texts, names, labels = corpus(each=each)
    return make_dataset(texts, authors=names, labels=labels, test_share=0.5, seed=5)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("attack<=0.2", Target(most_attack=0.2)),
        (" attack <= .25 ", Target(most_attack=0.25)),
        ("attack<=0", Target(most_attack=0.0)),
        ("utility>=0.8", Target(least_utility=0.8)),
        ("utility>=1", Target(least_utility=1.0)),
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


def interval(mean: float, spread: float = 0.05) -> Interval:
    return Interval(mean, mean - spread, mean + spread, (mean,), "texts")


def score(f1: float, analyst: str) -> UtilityResult:
    found = interval(f1)
    return UtilityResult("svm", analyst, found, found, found, found, 60, 40, LABELS, 0)


def result(name: str, attack: float, f1: float, analyst: str) -> SettingResult:
    tried = Measurement("author", "koppel", "all", analyst, value=interval(attack), chance=0.2)
    weaker = replace(tried, attacker=STATIC, value=interval(attack / 2))
    scores = [score(f1, analyst)]
    if analyst == ADAPTIVE:  # what studied true texts is not the utility
        scores.append(score(0.9, STATIC))
    return SettingResult(name, {}, None, (), None, (weaker, tried), tuple(scores), None)


BEFORE = result("before", 0.8, 0.8, STATIC)


def trial(attack: float, f1: float, public: tuple[float, float] | None = None) -> Trial:
    """One setting of its own epsilon, so that its name is its own too."""
    spec = ReleaseSpec("laplace", 1 + attack)
    found = result(spec.name, attack, f1, ADAPTIVE)
    if public is not None:
        alone, learned = (
            (LabelsFound("svm", interval(each), interval(each), 9),) for each in public
        )
        found = replace(found, stand_ins=StandIns(9, 9, alone, (), learned, None))
    return Trial(spec, found, BEFORE)


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
    guessed, beaten = trial(0.1, 1 / LABELS), trial(0.12, 0.7, (0.75, 0.7))
    assert "guessing" in guessed.worthless
    assert "public texts alone" in beaten.worthless
    assert aim.best([guessed, beaten]) is None
    better = trial(0.2, 0.4, (0.7, 0.75))
    assert aim.best([guessed, beaten, better]) == better
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
    assert ("chosen: " in tuning_figure(found).svg) is (not refused)
    assert (found.to_json()["chosen"] is None) is bool(refused)


def test_a_target_that_the_other_half_misses_is_called_missed() -> None:
    best = trial(0.1, 0.5)
    assert Tuning(Target.parse("attack<=0.2"), (best,), best, trial(0.2, 0.5)).met
    assert not Tuning(Target.parse("attack<=0.2"), (best,), best, trial(0.3, 0.5)).met


def test_halves_share_no_text_and_have_every_author_and_label() -> None:
    texts, names, labels = corpus(each=20)
    for copy in (12, 14, 16):  # of the same author and label
        texts[copy] = texts[10].upper()
    parts = ["train" if row % 20 < 10 else "test" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, labels=labels, parts=parts, seed=5)
    one, other = halves(data, 3)
    assert sorted(one.test.texts + other.test.texts) == sorted(data.test.texts)
    lower = [{text.lower() for text in half.test.texts} for half in (one, other)]
    assert not lower[0] & lower[1]
    for half in (one, other):
        assert half.train == data.train
        assert half.facts.test == len(half.test)
        assert set(half.test.authors) == set(data.test.authors)
        assert set(half.test.labels) == {"sea", "sky"}
    assert halves(data, 3)[0].test.texts == one.test.texts
    with pytest.raises(ParameterError, match="halved"):
        halves(make_dataset(["a b", "c d", "e f"], labels=["x", "y", "x"], seed=1), 1)


def test_each_setting_is_evaluated_and_the_choice_judged_on_the_other_half() -> None:
    found = tune(made(), table(), GRID, Target.parse("utility>=0.8"), PLAN)
    assert [each.spec for each in found.trials] == list(GRID)
    assert found.chosen is not None
    assert found.judged is not None
    assert found.judged.spec == found.chosen.spec
    choosing, judging = halves(made(), PLAN.seed)
    plan = replace(PLAN, meaning_texts=0, examples=0, read_texts=0)
    for half, measured in ((choosing, found.chosen), (judging, found.judged)):
        report = evaluate(half, table(), [measured.spec], plan)
        assert measured.result.attacks == report.settings[0].attacks
        assert measured.result.utility == report.settings[0].utility
        assert measured.before == report.before
        assert measured.attack.accuracy.mean == max(
            each.accuracy.mean for each in report.settings[0].attacks
        )
    weak = found.trials[2]
    assert weak.utility == pytest.approx(1.0)  # epsilon 100 changes nothing
    assert found.trials[0].attack.accuracy.mean < weak.attack.accuracy.mean
    again = tune(made(), table(), GRID, Target.parse("utility>=0.8"), PLAN)
    assert json.dumps(again.to_json(), allow_nan=False) == json.dumps(found.to_json())


def test_the_public_texts_of_a_pool_are_measured_alone(tmp_path: Path) -> None:
    texts, _, labels = corpus(each=30, seed=11)
    write_pool(tmp_path / "a.pool", build_pool(texts, table(), labels=labels))
    spec = ReleaseSpec(epsilon=0.1, unit="text", pool=str(tmp_path / "a.pool"))
    plan = replace(PLAN, attacks=("svm",))
    found = tune(made(), table(), [spec], Target.parse("attack<=0.9"), plan)
    public = found.trials[0].public_alone
    assert public is not None
    alone, released = public
    assert alone > 0.9  # the pool's own texts teach the labels
    assert released < alone
    assert found.chosen is None
    assert found.judged is None


def test_labels_that_nobody_can_tell_are_refused_before_any_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PreparedEvaluation, "measure", lambda *_: pytest.fail("released first"))
    texts, names, labels = corpus(each=20)
    parts = ["test" if row % 4 > 1 else "train" for row in range(len(texts))]
    turned = [
        {"sea": "sky", "sky": "sea"}[label] if part == "test" else label
        for label, part in zip(labels, parts, strict=True)
    ]
    data = make_dataset(texts, authors=names, labels=turned, parts=parts, seed=5)
    with pytest.raises(ParameterError, match="no better than guessing"):
        tune(data, table(), GRID, Target.parse("attack<=0.5"), PLAN)


def test_no_setting_is_advised_without_an_attack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise "attacks name at most 20 %" would hold for every setting."""
    monkeypatch.setattr("inkblur.evaluation.author_attacks.LARGEST_POOL", 1)
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


def test_the_page_loads_nothing_escapes_and_repeats() -> None:
    found = Tuning(Target.parse("attack<=0.2"), TRIALS, TRIALS[2], trial(0.15, 0.45))
    facts = Facts(90, 60, 30, 0, 3, 0, 0, 0, 2, 0)
    rest = {"name": "toy <i>", "words": 1000, "dimension": 50}
    texts = {
        tuning_page(found, facts=facts, embedding=rest, plan=PLAN, commands=["a <b>.csv"])
        for _ in range(2)
    }
    (text,) = texts
    assert not re.search(r"<script|src=|href=\"[^#]|url\(|https?:", text)
    assert "toy &lt;i&gt;" in text
    assert "a &lt;b&gt;.csv" in text
    for each in TRIALS:
        assert each.spec.name in text


def test_the_figure_has_every_setting_the_choice_and_its_judgment() -> None:
    found = Tuning(Target.parse("attack<=0.2"), TRIALS, TRIALS[2], trial(0.15, 0.45))
    drawing = ElementTree.fromstring(tuning_figure(found).svg)
    groups = list(drawing.iter("g"))
    tips = {g.findtext("title") or "" for g in groups}
    for each in TRIALS:
        assert f"{each.spec.name}: {each.attack.accuracy.mean:.1%}, {each.utility:.1%}" in tips
    assert f"chosen: {TRIALS[2].spec.name}" in tips
    assert any(tip.startswith("held out: ") for tip in tips)
    classes = [g.get("class") for g in groups]
    assert (classes.count("path"), classes.count("wanted"), classes.count("moved")) == (1, 1, 1)
