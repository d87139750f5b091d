"""The whole evaluation: who studies what, that numbers follow, that nothing names an author."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.catalogue import ATTACKS
from inkblur.evaluation.dataset import Dataset, Names, Scenario, make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.measures.similarity import WordMeans
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Released, Releaser, releaser
from inkblur.evaluation.reports.tables import stand_in_tables
from inkblur.evaluation.results import ADAPTIVE, STATIC, Interval, headline
from inkblur.guarantees import Guarantee
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric, Unit

from .made import NAMES, corpus, table

pytest.importorskip("sklearn")
QUICK = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=2)


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


def test_the_adaptive_attacker_sees_through_a_disguise_and_the_static_one_does_not() -> None:
    result = evaluate(made(), table(), [Turned()], QUICK)
    found = result.settings[0]
    adaptive, static = (found.attack("koppel", "all", kind) for kind in (ADAPTIVE, STATIC))
    assert adaptive is not None
    assert static is not None
    base = result.before.attacks[0]
    assert base.accuracy.mean > 0.9
    assert adaptive.accuracy.mean > 0.9
    assert adaptive.f1 is not None
    assert adaptive.f1.mean > 0.9
    assert static.accuracy.mean < 0.6
    assert found.attacks[0].attacker == ADAPTIVE  # the report leads with it
    analysts = {score.analyst: score.accuracy.mean for score in found.utility}
    assert analysts[ADAPTIVE] > 0.9
    assert analysts[STATIC] < 0.8
    assert "identifies the author of" in headline(found, result.before)
    assert found.meaning is None  # no word on both sides


def test_the_headline_names_the_stronger_attacker() -> None:
    result = evaluate(made(), table(), [Turned()], QUICK)
    found = result.settings[0]
    weak = replace(found.attacks[0].accuracy, mean=0.01)
    strong = replace(found.attacks[1].accuracy, mean=0.77)
    turned = replace(
        found,
        measurements=(
            replace(found.attacks[0], value=weak),
            replace(found.attacks[1], value=strong),
        ),
    )
    assert "77% of the texts (koppel, static" in headline(turned, result.before)


def test_the_headline_is_the_scenario_of_the_largest_risk() -> None:
    """Ten times chance is little among 100 suspects: 90 % among five is what an owner must read."""
    result = evaluate(made(), table(), [Turned()], QUICK)
    found, (first, *_) = result.settings[0], result.settings[0].attacks
    wide = replace(first, value=replace(first.accuracy, mean=0.1), chance=0.01)
    narrow = replace(wide, scenario="top-5", value=replace(first.accuracy, mean=0.9), chance=0.2)
    assert "90% of the texts" in headline(
        replace(found, measurements=(wide, narrow)), result.before
    )


def test_where_one_author_alone_is_attacked_nothing_is_above_chance() -> None:
    texts, names, labels = corpus(authors=2)
    data = make_dataset(texts[:9], authors=names[:9], labels=labels[:9], seed=5)
    (result,) = evaluate(data, table(), [ReleaseSpec("laplace", 50.0)], QUICK).settings
    assert [(a.chance, a.above_chance) for a in result.attacks] == [(1.0, 0.0)] * 2


def test_no_noise_changes_nothing_and_much_noise_hides() -> None:
    settings = [ReleaseSpec("laplace", 1e4), ReleaseSpec("laplace", 0.05)]
    faint, loud = evaluate(made(), table(), settings, QUICK).settings
    assert faint.meaning is not None
    assert faint.unchanged is not None
    assert faint.meaning.earth_movers.mean == pytest.approx(0.0, abs=1e-6)
    assert faint.meaning.cosine.mean == pytest.approx(1.0)
    assert faint.unchanged.mean == 1.0
    assert faint.attacks[0].accuracy.mean > 0.9
    assert faint.utility[0].f1.mean > 0.9
    assert loud.meaning is not None
    assert loud.unchanged is not None
    assert loud.attacks[0].accuracy.mean < 0.7
    assert loud.unchanged.mean < 0.2
    assert loud.meaning.earth_movers.mean > 1.0
    assert loud.guarantee == releaser(ReleaseSpec("laplace", 0.05), table()).guarantee
    assert loud.guarantee is not None
    assert loud.guarantee.private


def test_the_same_seed_gives_the_same_report_and_another_another() -> None:
    def body(seed: int) -> str:
        plan = Plan(seed=seed, attacks=("koppel",), models=("svm",), repeats=2)
        settings = [ReleaseSpec("mahalanobis", 2.0)]
        return json.dumps(evaluate(made(), table(), settings, plan).to_json(), allow_nan=False)

    first = body(5)
    assert first == body(5)
    assert json.loads(first)["seed"] == 5
    assert first != body(6)


def test_no_author_is_named_anywhere() -> None:
    texts, names, labels = corpus()
    signed = [
        f"{text} yours, {name} ({name.upper()})" for text, name in zip(texts, names, strict=True)
    ]
    data = make_dataset(signed, authors=names, labels=labels, seed=5)
    report = evaluate(data, table(), [Turned(), ReleaseSpec("laplace", 5.0)], QUICK)
    body = json.dumps(report.to_json())
    assert len(report.examples) == 8  # at most 10, and there are 8 test texts
    assert "yours, [name] ([name])" in body
    for name in NAMES:
        for part in (name, *name.split()):
            assert part.lower() not in body.lower()


def test_a_name_is_masked_before_a_long_example_is_cut() -> None:
    """Cut first, the beginning of a name would be left, which no longer reads as one."""
    texts, names, labels = corpus()
    long = [f"{'wave ' * 119}{name} {text}" for text, name in zip(texts, names, strict=True)]
    data = make_dataset(long, authors=names, labels=labels, seed=5)
    plan = replace(QUICK, attacks=(), models=())
    for example in evaluate(data, table(), [ReleaseSpec("laplace", 5.0)], plan).examples:
        rest = example.before.removeprefix("wave " * 119)
        assert rest.startswith("[name"), rest


def test_a_tf_release_is_scored_by_its_vectors_and_attacked_by_its_words() -> None:
    plan = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
    settings = [
        ReleaseSpec("exponential", 90.0, release="tf", length=40),
        ReleaseSpec("exponential", 0.5, release="tf", length=40),
    ]
    sharp, blunt = evaluate(made(), table(), settings, plan).settings
    assert {u.analyst for u in sharp.utility} == {ADAPTIVE, STATIC}
    assert min(u.f1.mean for u in sharp.utility) > 0.9 > 0.8 > blunt.utility[0].f1.mean
    assert sharp.attacks[0].accuracy.mean > blunt.attacks[0].accuracy.mean
    assert sharp.guarantee is not None
    assert sharp.guarantee.size == 40


def test_intervals_come_from_the_repetitions() -> None:
    one = Interval.of([0.4], 0.95)
    assert (one.low, one.high) == (None, None)
    same = Interval.of([0.4, 0.4, 0.4], 0.95)
    assert same.low == pytest.approx(0.4)
    assert same.high == pytest.approx(0.4)
    wide = Interval.of([0.1, 0.9], 0.95)
    assert wide.share().low == 0.0
    assert wide.share().high == 1.0
    # Student's quantile for 9 degrees of freedom is 2.262; the values' deviation is 3.0277.
    ten = Interval.of([float(n) for n in range(1, 11)], 0.95)
    assert ten.high == pytest.approx(5.5 + 2.2622 * 3.02765 / 10**0.5, abs=1e-3)
    result = evaluate(made(), table(), [ReleaseSpec("laplace", 1.0)], QUICK).settings[0]
    assert len(result.attacks[0].accuracy.values) == 2


def test_progress_is_told_to_its_end() -> None:
    seen: list[tuple[int, int]] = []
    settings = [ReleaseSpec("laplace", 1.0), ReleaseSpec("laplace", 2.0)]
    evaluate(
        made(),
        table(),
        settings,
        QUICK,
        on_step=lambda what, done, total: seen.append((done, total)),
    )
    assert [done for done, _ in seen[:-1]] == list(range(len(seen) - 1))
    assert seen[-1][0] == seen[-1][1]
    assert len(seen) - 1 == seen[-1][1]


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


def test_bad_settings_are_refused() -> None:
    for setting, message in (
        (lambda: ReleaseSpec("laplace", 1.0, parameters={"lam": 0.5}), "no parameter lam"),
        (lambda: ReleaseSpec("exponential", 1.0, release="tf"), "needs `length=`"),
        (
            lambda: releaser(ReleaseSpec("laplace", 1.0, release="tf", length=5), table()),
            "exponential",
        ),
        (lambda: ReleaseSpec("laplace", 1.0, morphology="lower"), "tf release"),
        (lambda: evaluate(made(), table(), [], QUICK), "no setting"),
        (lambda: evaluate(made(), table(), [ReleaseSpec("laplace", 1.0)] * 2, QUICK), "twice"),
    ):
        with pytest.raises(ParameterError, match=message):
            setting()
    again = ReleaseSpec(
        "exponential", 4.0, parameters={"bigram": 0.2}, release="tf", length=9, morphology="lemma"
    )
    assert ReleaseSpec.from_json(json.loads(json.dumps(again.to_json()))) == again


def test_every_attack_of_the_list_can_be_made() -> None:
    names = {make(table(), 1).name for make in ATTACKS.values()}
    assert len(names) == len(ATTACKS)


class TestData:
    def test_a_share_of_each_author_is_tested_and_the_seed_decides_which(self) -> None:
        data = made(test_share=0.25)
        assert np.bincount(data.test.authors).tolist() == [2, 2, 2, 2]
        assert data.test.texts == made(test_share=0.25).test.texts
        texts, names, labels = corpus()
        other = make_dataset(texts, authors=names, labels=labels, test_share=0.25, seed=6)
        assert data.test.texts != other.test.texts

    def test_an_author_with_one_text_is_a_suspect_and_is_not_attacked(self) -> None:
        texts, names, labels = corpus()
        data = make_dataset(
            [*texts, "lone words"], authors=[*names, "Solo"], labels=[*labels, "sea"], seed=5
        )
        assert data.facts.single == 1
        assert 4 in data.train.authors
        assert 4 not in data.test.authors
        assert 4 in Scenario.of("all").suspects(data)
        report = evaluate(data, table(), [ReleaseSpec("laplace", 50.0)], QUICK)
        assert report.before.attacks[0].authors == 5

    def test_copies_of_a_text_stay_in_one_part(self) -> None:
        """A static attacker who knows one copy would name the author of another by it."""
        texts, names, labels = corpus(each=6)
        copies = [*texts, *(f"{text.capitalize()}." for text in texts)]
        data = make_dataset(copies, authors=[*names] * 2, labels=[*labels] * 2, seed=5)
        plain = make_dataset(texts, authors=names, labels=labels, seed=5)
        assert data.facts.test == 2 * plain.facts.test
        known = {text.lower().rstrip(".") for text in data.train.texts}
        assert not known & {text.lower().rstrip(".") for text in data.test.texts}
        given = ["train"] * len(texts) + ["test"] * len(texts)  # as the data says
        data = make_dataset(copies, authors=[*names] * 2, parts=given, seed=5)
        assert data.facts.test == len(texts)

    def test_an_author_of_the_test_part_alone_is_counted_and_left_out(self) -> None:
        texts, names, labels = corpus()
        parts = ["test" if row % 4 == 0 else "train" for row in range(len(texts))]
        data = make_dataset(
            [*texts, "a stranger"], authors=[*names, "Stranger"], labels=[*labels, "sea"],
            parts=[*parts, "test"], seed=5,
        )  # fmt: skip
        assert data.facts.strangers == 1
        found = evaluate(data, table(), [ReleaseSpec("laplace", 50.0)], QUICK).before.attacks[0]
        assert found.strangers == 1
        assert found.attacked == 8
        assert found.authors == 4

    def test_missing_authors_and_labels_leave_texts_out_of_one_side_only(self) -> None:
        texts, names, labels = corpus()
        authors: list[str | None] = [None, *names[1:]]
        topics: list[str | None] = [*labels[:-1], None]
        data = make_dataset(texts, authors=authors, labels=topics, seed=5)
        assert (data.facts.without_author, data.facts.without_label) == (1, 1)
        report = evaluate(data, table(), [ReleaseSpec("laplace", 50.0)], QUICK)
        score = report.before.utility[0]
        assert score.trained + score.tested == len(texts) - 1
        attack = report.before.attacks[0]
        assert attack.known + attack.attacked == len(texts) - 1

    def test_empty_texts_are_kept_and_counted(self) -> None:
        texts, names, labels = corpus()
        data = make_dataset(["", *texts[1:-1], " "], authors=names, labels=labels, seed=5)
        assert data.facts.empty == 2
        report = evaluate(data, table(), [ReleaseSpec("laplace", 50.0)], QUICK)
        assert report.examples
        assert all(example.before.strip() for example in report.examples)
        assert report.before.attacks[0].known + report.before.attacks[0].attacked == len(texts)

    def test_labels_alone_or_authors_alone_measure_half(self) -> None:
        texts, names, labels = corpus()
        settings = [ReleaseSpec("laplace", 50.0)]
        only_labels = evaluate(make_dataset(texts, labels=labels, seed=5), table(), settings, QUICK)
        assert only_labels.before.attacks == ()
        assert len(only_labels.settings[0].utility) == 2
        only_authors = evaluate(
            make_dataset(texts, authors=names, seed=5), table(), settings, QUICK
        )
        assert only_authors.before.utility == ()
        assert len(only_authors.settings[0].attacks) == 2

    def test_a_hundred_thousand_authors_are_cut_to_those_with_most_texts(self) -> None:
        texts, names, labels = corpus()
        crowd = 100_000
        data = make_dataset(
            [*texts, *["one text"] * crowd],
            authors=[*names, *(f"user{n}" for n in range(crowd))],
            labels=[*labels, *["sea"] * crowd],
            seed=5,
        )
        assert data.facts.authors == crowd + 4
        suspects = Scenario.of("all").suspects(data)
        assert len(suspects) == 1_000
        assert set(range(4)) <= set(suspects.tolist())
        assert Scenario.of("top-3").suspects(data).tolist() == [0, 1, 2]

    def test_scenarios_choose_by_texts(self) -> None:
        texts, names, labels = corpus()
        names = ["busy" if name in NAMES[:2] else name for name in names]
        labels = [
            "sea" if name == "busy" else label for name, label in zip(names, labels, strict=True)
        ]
        data = make_dataset(texts, authors=names, labels=labels, seed=5)
        assert Scenario.of("top-2").suspects(data).tolist() == [0, 1]
        with pytest.raises(ParameterError, match="needs 9 authors"):
            Scenario.of("top-9").suspects(data)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "authors, labels or secrets"),
            ({"authors": ["kim"] * 4}, "2 authors are needed, found 1"),
            ({"authors": [None] * 4}, "2 authors are needed, found 0"),
            ({"labels": ["x"] * 4}, "2 different labels are needed, found 1"),
            ({"labels": [None] * 4}, "2 different labels are needed, found 0"),
            ({"authors": ["a", "b", "c", "d"]}, "has one text only"),
            ({"texts": ["p", "p", "q", "q!"], "authors": ["a", "a", "b", "b"]}, "copies of one"),
            ({"authors": ["a", "b"]}, "4 texts need as many authors, got 2"),
            ({"authors": ["a", "b"] * 2, "parts": ["train"] * 4}, "both are needed"),
            (
                {"authors": ["a", "b"] * 2, "parts": ["train", "dev", "test", "test"]},
                "train or test",
            ),
            (
                {"authors": ["a", "b", "c", "d"], "parts": ["train", "train", "test", "test"]},
                "in both parts",
            ),
            ({"authors": ["a", "b"] * 2, "test_share": 1.0}, "test_share"),
        ],
    )
    def test_what_cannot_be_measured_is_refused(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ParameterError, match=message):
            make_dataset(**{"texts": ["p", "q", "r", "s"], "seed": 1, **options})

    def test_nothing_but_empty_texts_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="not empty"):
            make_dataset(["", " "], authors=["a", "b"], seed=1)

    def test_masking_spares_words_that_only_look_alike(self) -> None:
        names = Names(["Will Ho", "r2d2", None, "bob@mail.org"])
        assert names.masked("I will ask Will, WILL HO, R2D2 and bob@mail.org.") == (
            "I will ask [name], [name], [name] and [name]."
        )


def test_releases_from_a_pool_are_measured_like_any_other(tmp_path: Path) -> None:
    """The label is kept at a large epsilon, the author's habits are not."""
    texts, _, labels = corpus(each=30, authors=1, seed=11)
    write_pool(tmp_path / "a.pool", build_pool(texts, table(), labels=labels, name="made"))
    spec = ReleaseSpec(epsilon=8.0, unit="text", pool=str(tmp_path / "a.pool"), keep_meaning=0.0)
    judge = WordMeans(table())
    found = evaluate(made(), table(), [spec], QUICK, judge=judge).settings[0]
    assert found.guarantee is not None
    assert found.guarantee.unit is Unit.TEXT
    assert max(each.f1.mean for each in found.utility) > 0.9
    quick = replace(QUICK, attacks=("likelihood", "svm-undone"))
    attacks = evaluate(made(), table(), [spec], quick).settings[0].attacks
    assert [each.attack for each in attacks] == ["likelihood"]  # words are not drawn one by one
    stand_ins = found.stand_ins
    assert stand_ins is not None
    assert stand_ins.recognized[0].f1.mean > 0.9  # from released texts
    assert stand_ins.learned[0].f1.mean > 0.9  # from true ones, having studied released ones
    kept = stand_ins.meaning
    assert kept is not None
    assert kept.random.mean < kept.cosine.mean < kept.nearest.mean
    pool = build_pool(texts, table(), labels=labels, name="made")
    assert found.settings["pool_sha256"] == pool.sha256


def test_where_no_attack_knows_the_channel_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures of weaker attacks stood there alone."""
    texts, _, labels = corpus(each=30, authors=1, seed=11)
    write_pool(tmp_path / "a.pool", build_pool(texts, table(), labels=labels, name="made"))
    spec = ReleaseSpec(epsilon=8.0, unit="text", pool=str(tmp_path / "a.pool"))
    plan = replace(QUICK, attacks=("koppel", "likelihood"), repeats=1)

    def left_out(*settings: ReleaseSpec | Releaser) -> list[str]:
        return [
            each.reason
            for result in evaluate(made(), table(), settings, plan).settings
            for each in result.measurements
            if each.name == "likelihood" and each.status == "not measured"
        ]

    assert left_out(spec, ReleaseSpec("laplace", 50.0)) == []
    assert len(left_out(ReleaseSpec("laplace", 50.0), Turned())) == 1
    monkeypatch.setattr("inkblur.evaluation.author_attacks.LARGEST_POOL", 29)
    assert len(left_out(spec)) == 1


def test_a_pool_at_a_small_epsilon_tells_no_label_and_keeps_no_meaning(tmp_path: Path) -> None:
    texts, _, labels = corpus(each=30, authors=1, seed=11)
    write_pool(tmp_path / "a.pool", build_pool(texts, table(), labels=labels, name="made"))
    spec = ReleaseSpec(epsilon=0.01, unit="text", pool=str(tmp_path / "a.pool"))
    private, names, private_labels = corpus(each=60)  # enough for their mean to settle
    many = make_dataset(private, authors=names, labels=private_labels, seed=5)
    report = evaluate(many, table(), [spec], QUICK, judge=WordMeans(table()))
    stand_ins = report.settings[0].stand_ins
    assert stand_ins is not None
    assert stand_ins.meaning is not None
    assert stand_ins.recognized[0].accuracy.mean < 0.75
    assert abs(stand_ins.meaning.cosine.mean - stand_ins.meaning.random.mean) < 0.2
    shown = [table.title + table.caption for table in stand_in_tables(report)]
    assert len(shown) == 2
