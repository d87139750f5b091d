"""The whole evaluation: who studies what, that numbers follow, that nothing names an author."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.measures.meaning import WordMeans
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Released, Releaser, releaser
from inkblur.evaluation.results import (
    ADAPTIVE,
    BOTH,
    LABELS,
    MEANING,
    PUBLIC,
    RELEASED,
    STATIC,
    TRUE,
    Interval,
    Measurement,
    SettingResult,
)
from inkblur.guarantees import Guarantee
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric, Unit

from .made import NAMES, corpus, table

pytest.importorskip("sklearn")
QUICK = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1, read_texts=2)
FAINT = ReleaseSpec("laplace", 1e4, length="exact")


def made(**options: Any) -> Dataset:
    texts, names, labels = corpus()
    return make_dataset(texts, authors=names, labels=labels, seed=5, **options)


class Turned(Releaser):
    """A release that hides nothing: every word written backwards."""

    name = "turned"
    guarantee = Guarantee(float("inf"), Metric.NONE, void="it only turns words around")

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        return Released(tuple(" ".join(w[::-1] for w in t.split()) for t in texts))

    def to_json(self) -> dict[str, Any]:
        return {"mechanism": "turned"}


def f1(result: SettingResult, studied: str, asked: str) -> float:
    found = result.score(studied, asked)
    assert found is not None
    return found.accuracy.mean


def meanings(result: SettingResult) -> dict[str, float]:
    return {m.name: m.accuracy.mean for m in result.of(MEANING)}


def test_who_studied_the_release_sees_through_a_disguise_and_others_do_not() -> None:
    result = evaluate(made(), table(), [Turned()], QUICK)
    (found,) = result.settings
    adaptive, static = (found.attack("koppel", "all", kind) for kind in (ADAPTIVE, STATIC))
    assert adaptive is not None
    assert static is not None
    assert result.before.attacks[0].accuracy.mean > 0.9
    assert adaptive.accuracy.mean > 0.9 > 0.6 > static.accuracy.mean
    assert found.attacks[0] == adaptive  # the report leads with it
    assert f1(found, RELEASED, RELEASED) > 0.9 > 0.8 > f1(found, TRUE, RELEASED)
    assert found.of(MEANING) == []  # no word on both sides
    assert len(result.answers()) == 1


def measured(question: str, share: float, chance: float, name: str = "") -> Measurement:
    value = Interval(share, None, None, (share,))
    return Measurement(question, name, "all", ADAPTIVE, value=value, chance=chance, authors=9)


def test_the_answer_is_the_largest_risk_above_chance_whatever_the_attack() -> None:
    """Ten times chance is little among 100 suspects: 90 % among five is what an owner must read."""
    tried = (
        measured("author", 0.1, 0.01, "svm"),
        measured("author", 0.9, 0.2, "koppel"),
        measured("singling out", 0.95, 0.94),
        Measurement("singling out", "", "by length", reason="one text"),
    )
    result = SettingResult("a", {}, None, (), tried)
    assert result.largest_risk() == tried[1]
    original = measured("singling out", 0.91, 0.01)
    assert replace(result, measurements=(*tried, original)).largest_risk() == original
    assert measured("author", 1.0, 1.0).above_chance == 0.0  # where one author alone is attacked


def test_no_noise_changes_nothing_and_much_noise_hides() -> None:
    settings = [FAINT, ReleaseSpec("laplace", 0.05)]
    faint, loud = evaluate(made(), table(), settings, QUICK).settings
    kept, lost = meanings(faint), meanings(loud)
    assert kept["Earth Mover's distance"] == pytest.approx(0.0, abs=1e-6)
    assert kept["cosine of mean vectors"] == pytest.approx(1.0)
    assert (kept["words unchanged"], lost["words unchanged"] < 0.2) == (1.0, True)
    assert lost["Earth Mover's distance"] > 1.0
    assert faint.attacks[0].accuracy.mean > 0.9 > 0.7 > loud.attacks[0].accuracy.mean
    assert f1(faint, RELEASED, RELEASED) > 0.9
    assert loud.guarantee == releaser(settings[1], table()).guarantee


@pytest.mark.parametrize("spec", [FAINT, ReleaseSpec("laplace", 0.01)])
def test_public_texts_alone_the_release_and_both_stand_beside_each_other(spec: ReleaseSpec) -> None:
    public, _, labels = corpus(seed=9)
    (result,) = evaluate(
        made(), table(), [spec], QUICK, public=public, public_labels=labels
    ).settings
    assert f1(result, PUBLIC, TRUE) > 0.9
    assert f1(result, BOTH, TRUE) > 0.8
    assert (f1(result, RELEASED, TRUE) > 0.9) is (spec is FAINT)
    taught = [m for m in result.of(LABELS) if m.scenario == TRUE]
    assert {m.name for m in taught} == {"naive-bayes"}
    assert all(m.accuracy.over == "texts" for m in taught)
    assert all(m.accuracy.low is not None for m in taught)


@pytest.mark.parametrize("labels", [(), ["sea", "soil"] * 16])
def test_without_public_texts_of_these_labels_they_are_not_measured(labels: Sequence[str]) -> None:
    public, *_ = corpus(seed=9)
    report = evaluate(made(), table(), [FAINT], QUICK, public=public, public_labels=labels)
    (result,) = report.settings
    assert f1(result, RELEASED, TRUE) > 0.9
    missing = {m.attacker: m for m in result.measurements if m.question == LABELS and not m.value}
    assert set(missing) == {PUBLIC, BOTH}
    assert all(m.status == "not measured" and m.reason for m in missing.values())
    assert "not measured" in report.answers()[0]


def test_attacks_that_were_left_out_are_named() -> None:
    plan = replace(QUICK, attacks=("svm",), read_texts=0)
    (result,) = evaluate(made(), table(), [FAINT], plan).settings
    missing = {m.name for m in result.measurements if m.question == "author" and not m.value}
    assert {"koppel", "likelihood", "text-lengths"} <= missing
    assert "svm" not in missing
    assert all(m.reason for m in result.measurements if m.value is None)


def test_the_same_seed_gives_the_same_report_and_another_another() -> None:
    def body(seed: int) -> str:
        plan = replace(QUICK, seed=seed, repeats=2)
        settings = [ReleaseSpec("mahalanobis", 2.0)]
        return json.dumps(evaluate(made(), table(), settings, plan).to_json(), allow_nan=False)

    first = body(5)
    assert first == body(5)
    assert json.loads(first)["seed"] == 5
    assert first != body(6)


def test_no_author_is_named_anywhere() -> None:
    """Masked before an example is cut: the beginning of a name no longer reads as one."""
    texts, names, labels = corpus()
    signed = [
        f"{text} yours, {name} ({name.upper()}) {'wave ' * 95}{name}"
        for text, name in zip(texts, names, strict=True)
    ]
    data = make_dataset(signed, authors=names, labels=labels, seed=5)
    report = evaluate(data, table(), [Turned(), ReleaseSpec("laplace", 5.0)], QUICK)
    body = json.dumps(report.to_json())
    assert len(report.examples) == 8  # at most 10, and there are 8 test texts
    assert "yours, [name] ([name])" in body
    for name in NAMES:
        for part in (name, *name.split()):
            assert part.lower() not in body.lower()
            assert part[:4] not in body


def test_a_name_is_masked_before_a_long_example_is_cut() -> None:
    """Cut first, the beginning of a name would be left, which no longer reads as one."""
    texts, names, labels = corpus()
    long = [f"{'wave ' * 119}{name} {text}" for text, name in zip(texts, names, strict=True)]
    data = make_dataset(long, authors=names, labels=labels, seed=5)
    plan = replace(QUICK, attacks=(), models=())
    examples = evaluate(data, table(), [ReleaseSpec("laplace", 5.0)], plan).examples
    assert examples
    for example in examples:
        assert example.before.removeprefix("wave " * 119).startswith("[name")


def test_a_tf_release_is_scored_by_its_vectors_and_attacked_by_its_words() -> None:
    settings = [
        ReleaseSpec("exponential", 90.0, release="tf", length=40),
        ReleaseSpec("exponential", 0.5, release="tf", length=40),
    ]
    sharp, blunt = evaluate(made(), table(), settings, QUICK).settings
    for studied in (RELEASED, TRUE):
        assert f1(sharp, studied, RELEASED) > 0.9
    assert f1(sharp, RELEASED, TRUE) > 0.9  # by its words, written out
    assert f1(blunt, RELEASED, RELEASED) < 0.8
    assert sharp.attacks[0].accuracy.mean > blunt.attacks[0].accuracy.mean
    assert sharp.guarantee is not None
    assert sharp.guarantee.size == 40


def test_intervals_come_from_the_repetitions() -> None:
    one = Interval.of([0.4], 0.95)
    assert (one.low, one.high) == (None, None)
    same = Interval.of([0.4, 0.4, 0.4], 0.95)
    assert (same.low, same.high) == pytest.approx((0.4, 0.4))
    wide = Interval.of([0.1, 0.9], 0.95).share()
    assert (wide.low, wide.high) == (0.0, 1.0)
    # Student's quantile for 9 degrees of freedom is 2.262; the values' deviation is 3.0277.
    ten = Interval.of([float(n) for n in range(1, 11)], 0.95)
    assert ten.high == pytest.approx(5.5 + 2.2622 * 3.02765 / 10**0.5, abs=1e-3)
    plan = replace(QUICK, repeats=2)
    (result,) = evaluate(made(), table(), [ReleaseSpec("laplace", 1.0)], plan).settings
    assert len(result.attacks[0].accuracy.values) == 2


def test_progress_is_told_to_its_end() -> None:
    seen: list[tuple[int, int]] = []
    settings = [ReleaseSpec("laplace", 1.0), ReleaseSpec("laplace", 2.0)]
    told = evaluate(
        made(), table(), settings, QUICK, on_step=lambda _, done, total: seen.append((done, total))
    )
    assert told.settings
    assert [done for done, _ in seen] == list(range(len(seen)))
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attacks": ("magic",)}, "unknown attack 'magic'"),
        ({"models": ("magic",)}, "unknown model 'magic'"),
        ({"scenarios": ("top-1",)}, "unknown scenario"),
        ({"repeats": 0}, "repeats"),
        ({"read_texts": -1}, "`read_texts=` must not be negative, got -1"),
        ({"examples": -5}, "examples"),
        ({"confidence": 1.0}, "confidence"),
        ({"attacks": ("koppel", "koppel")}, "twice"),
    ],
)
def test_bad_plans_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Plan(seed=1, **options)


@pytest.mark.parametrize(("settings", "message"), [([], "no setting"), ([FAINT] * 2, "twice")])
def test_bad_settings_are_refused(settings: list[ReleaseSpec], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        evaluate(made(), table(), settings, QUICK)


def test_authors_of_one_part_and_texts_without_any_are_left_out_of_one_side_only() -> None:
    texts, names, labels = corpus()
    parts = ["test" if row % 4 == 0 else "train" for row in range(len(texts))]
    data = make_dataset(
        ["", *texts[1:], "a stranger", "nobody's", "about nothing"],
        authors=[*names, "Stranger", None, names[0]],
        labels=[*labels, "sea", "sky", None],
        parts=[*parts, "test", "train", "train"],
        seed=5,
    )
    facts = data.facts
    counts = facts.strangers, facts.without_author, facts.without_label, facts.empty
    assert counts == (1, 1, 1, 1)
    report = evaluate(data, table(), [FAINT], QUICK)
    (attack, *_), (score,) = report.before.attacks, report.before.of(LABELS)
    assert (attack.strangers, attack.attacked, attack.known, attack.authors) == (1, 8, 25, 4)
    assert score.known + score.attacked == len(texts) + 2
    assert all(example.before.strip() for example in report.examples)


def test_labels_alone_or_authors_alone_measure_half() -> None:
    texts, names, labels = corpus()
    half = make_dataset(texts, labels=labels, seed=5)
    only_labels = evaluate(half, table(), [FAINT], QUICK)
    assert only_labels.before.attacks == []
    assert f1(only_labels.settings[0], RELEASED, RELEASED) > 0.9
    half = make_dataset(texts, authors=names, seed=5)
    only_authors = evaluate(half, table(), [FAINT], QUICK)
    assert only_authors.before.of(LABELS) == []
    assert len(only_authors.settings[0].attacks) == 2


def pooled(folder: Path, epsilon: float, **options: Any) -> ReleaseSpec:
    texts, _, labels = corpus(each=30, authors=1, seed=11)
    write_pool(folder / "a.pool", build_pool(texts, table(), labels=labels, name="made"))
    return ReleaseSpec(epsilon=epsilon, unit="text", pool=str(folder / "a.pool"), **options)


def test_releases_from_a_pool_are_measured_like_any_other(tmp_path: Path) -> None:
    """The label is kept at a large epsilon, the author's habits are not."""
    spec = pooled(tmp_path, 8.0, keep_meaning=0.0)
    plan = replace(QUICK, attacks=("likelihood", "svm-undone"))
    (found,) = evaluate(made(), table(), [spec], plan, judge=WordMeans(table())).settings
    assert found.guarantee is not None
    assert found.guarantee.unit is Unit.TEXT
    assert {each.name for each in found.attacks} == {"likelihood"}  # words are not drawn apart
    for studied, asked in ((PUBLIC, TRUE), (RELEASED, TRUE), (PUBLIC, RELEASED)):
        assert f1(found, studied, asked) > 0.9
    kept, nearest = (m for m in found.of(MEANING) if m.name.startswith("judge"))
    assert kept.chance is not None
    assert kept.chance < kept.accuracy.mean < nearest.accuracy.mean


def test_a_pool_at_a_small_epsilon_tells_no_label_and_keeps_no_meaning(tmp_path: Path) -> None:
    texts, names, labels = corpus(each=60)  # enough for their mean to settle
    data = make_dataset(texts, authors=names, labels=labels, seed=5)
    spec, plan = pooled(tmp_path, 0.01), replace(QUICK, attacks=())
    (found,) = evaluate(data, table(), [spec], plan, judge=WordMeans(table())).settings
    assert f1(found, PUBLIC, RELEASED) < 0.75
    assert f1(found, RELEASED, TRUE) < f1(found, PUBLIC, TRUE)
    kept = next(m for m in found.of(MEANING) if m.name.startswith("judge"))
    assert abs(kept.accuracy.mean - (kept.chance or 0.0)) < 0.2


def test_where_no_attack_knows_the_channel_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures of weaker attacks stood there alone."""
    plan = replace(QUICK, attacks=("koppel", "likelihood"))

    def left_out(*settings: ReleaseSpec | Releaser) -> list[str]:
        return [
            each.reason
            for result in evaluate(made(), table(), settings, plan).settings
            for each in result.measurements
            if each.name == "likelihood" and each.status == "not measured"
        ]

    spec = pooled(tmp_path, 8.0)
    assert left_out(spec, ReleaseSpec("laplace", 50.0)) == []
    assert len(left_out(Turned())) == 1
    monkeypatch.setattr("inkblur.evaluation.target.LARGEST_POOL", 29)
    assert len(left_out(spec)) == 1
