"""Attacker against analyst: equal texts are left out, curves are read off at equal attack."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inkblur
from inkblur.adaptation.adapt import adapt_embedding
from inkblur.evaluation.attacks.base import Attack
from inkblur.evaluation.attacks.koppel import Koppel
from inkblur.evaluation.measures.utility import rates
from inkblur.spec import ReleaseSpec
from inkblur.types import Array
from reproduction.attack_vs_label import WEIGHTINGS, AttackVsLabel, SampleSizes, at_attack, halved
from reproduction.context import Context
from reproduction.corpora import Corpus, Split
from reproduction.datasets import Datasets
from reproduction.result import Claim
from reproduction.utility_at_attack import gain_claim, left_at, sorted_out

WORDS = ["goal", "team", "match", "vote", "law", "party", "colour", "grey", "whilst", "gotten"]


@pytest.fixture
def work(tmp_path: Path) -> Context:
    return Context("made/up", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path)


@pytest.fixture
def table() -> inkblur.Embedding:
    vectors = np.random.default_rng(5).normal(size=(len(WORDS), 4))
    return inkblur.Embedding(WORDS, vectors, name="made")


def split() -> Split:
    texts = ("goal team colour", "match grey goal", "vote law whilst", "party vote gotten")
    authors = np.array([0, 0, 1, 1])
    labels = ("sport", "sport", "politics", "politics")
    asked = ("team match colour goal", "law party", "goal team colour")  # the last one was taught
    return Split(
        Corpus("known", texts, authors, labels),
        Corpus("asked", asked, np.array([0, 1, 0]), ("sport", "politics", "sport")),
    )


def authors() -> Split:
    """Other texts: one that teaches the metric is refused when it is to be protected."""
    texts = ("colour goal colour", "grey colour match", "whilst law whilst", "gotten whilst vote")
    unknown = Corpus("unknown", ("colour grey team", "whilst gotten party"), np.array([0, 1]))
    return Split(Corpus("known", texts, np.array([0, 0, 1, 1])), unknown)


def contest(work: Context) -> AttackVsLabel:
    sizes = SampleSizes(studied=2, known=2, unknown=2, taught=10, asked=10)
    return AttackVsLabel("made", work, authors(), split(), sizes)


def test_true_texts_are_told_apart(work: Context) -> None:
    found = contest(work).before()
    assert found["utility"][0] == 1.0
    assert found["static"][0] > 0.5


def test_a_taught_text_is_not_asked_about(work: Context, table: inkblur.Embedding) -> None:
    fight = contest(work)
    assert len(fight._asked) == 2
    metric = adapt_embedding(table, fight.taught.texts, {"topic": fight.taught.labels or ()})
    fight.after(ReleaseSpec("laplace", 5.0), metric, 0)  # would be refused otherwise


def test_runs_differ_and_repeat(work: Context, table: inkblur.Embedding) -> None:
    fight = contest(work)
    setting = ReleaseSpec("laplace", 2.0)
    fresh = [fight._after(setting, table, run) for run in ("0", "0", "1", "2", "3")]
    assert fresh[0] == fresh[1]
    assert len({found["unchanged"] for found in fresh}) > 1


def test_the_adaptive_attacker_has_both_weightings_too(
    work: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The better of two counts for either attacker, whichever of the two it is."""
    fight = contest(work)
    right = fight._unknown.authors
    assert right is not None
    for good in WEIGHTINGS:
        monkeypatch.setattr(
            Koppel,
            "predict",
            lambda self, texts, good=good: right if self.weighting is good else right + 9,
        )
        fight = AttackVsLabel(good.value, work, authors(), split(), fight.sizes)
        found = fight.before()
        assert found["adaptive"][0] == found["static"][0] == 1.0


def test_those_who_know_the_channel_and_the_stack_take_part(
    tmp_path: Path, table: inkblur.Embedding
) -> None:
    """Twelve authors, each with a word of their own: enough of them for weights."""
    words = [f"{a}{b}ling" for a in "bdkm" for b in "aou"]
    vectors = 5 * np.random.default_rng(7).normal(size=(len(words), 6))
    names = np.arange(len(words))
    known = Corpus("known", tuple(f"{w} {w} {w}" for w in words for _ in range(2)), names.repeat(2))
    unknown = Corpus("unknown", tuple(f"{word} {word}" for word in words), names)
    work = Context("made/up", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path)
    sizes = SampleSizes(studied=2, known=2, unknown=1, taught=10, asked=10)
    fight = AttackVsLabel("stack", work, Split(known, unknown), split(), sizes)
    setting = ReleaseSpec("laplace", 20.0)
    own = inkblur.Embedding(words, vectors, name="made")
    found = fight._after(setting, own, "0")
    # Two of Koppel's, two SVMs, and the three who know the channel, or the stack.
    assert [len(found[who]) for who in ("static", "adaptive")] == [7, 5]
    informed = [*found["static"][-3:], found["adaptive"][-1]]
    assert min(digits.count("1") for digits in informed) >= 11  # of 12; guessing names one
    # They studied once, and face another release as those who never faced the first one do.
    noisy = ReleaseSpec("laplace", 3.0)
    fresh = AttackVsLabel("stack", work, Split(known, unknown), split(), sizes)
    assert fight._after(noisy, own, "0") == fresh._after(noisy, own, "0") != found
    few = contest(work)._after(setting, table, "0")
    assert len(few["adaptive"]) == 4  # two authors teach no weights


def test_adaptive_attackers_study_released_texts(
    work: Context, table: inkblur.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    studied: list[Corpus] = []
    fitted = AttackVsLabel._fitted

    def noted(self: AttackVsLabel, corpus: Corpus) -> list[Attack]:
        studied.append(corpus)
        return fitted(self, corpus)

    monkeypatch.setattr(AttackVsLabel, "_fitted", noted)
    contest(work)._after(ReleaseSpec("laplace", 0.1), table, "0")
    true, released = studied
    assert true.texts == authors().train.texts
    assert not any(out == text for out, text in zip(released.texts, true.texts, strict=True))


def test_notes_say_what_attackers_studied() -> None:
    said = SampleSizes(studied=50, known=10, unknown=3, taught=1, asked=1).attackers
    assert "50 true texts" in said
    assert "10 texts" in said


def test_both_parts_of_a_collection_are_all_of_it(work: Context) -> None:
    corpus = Corpus("c", tuple("abcdefghij"), labels=tuple("xyxyxyxyxy"))
    parts = halved(work, corpus, 0.3)
    assert len(parts.test) == 3
    assert sorted(parts.train.texts + parts.test.texts) == list("abcdefghij")


def test_utility_is_read_off_at_equal_attack() -> None:
    column = np.array
    curve = [column([0.4]), column([0.2])], [column([0.8]), column([0.4])]
    assert at_attack(*curve, 0.3) == pytest.approx([0.6])
    assert at_attack(*curve, 0.1) is None  # nothing was measured down there
    assert at_attack(*curve, 0.5) is None

    def runs(static: float, utility: float) -> list[dict[str, Array]]:
        first = {
            "static": column([static]),
            "adaptive": column([0.0]),
            "utility": column([utility]),
        }
        second = {"adaptive": column([static + 0.05]), "utility": column([2 * utility])}
        return [first, {**first, **second}]

    points, before = [runs(0.2, 0.1), runs(0.4, 0.3)], {"utility": column([0.5])}
    first, second = left_at(points, 0.3, before, static=True)
    assert first == pytest.approx([0.4])
    assert second == pytest.approx([0.8])
    first, second = left_at(points, 0.3, before)
    assert first == pytest.approx([0.4])
    assert second == pytest.approx([0.6])  # the stronger of both
    first, second = left_at(points, 0.2, before)
    assert first == pytest.approx([0.2])
    assert second is None  # the second run does not come down to it


def test_a_claim_is_judged_by_the_runs_that_reach_the_level_and_never_vanishes() -> None:
    def columns(*values: float | None) -> list[Array | None]:
        return [None if v is None else np.array([v, v - 0.1, v + 0.1]) for v in values]

    kept, missed = columns(0.5, 0.6, None), [np.full(3, 0.3)] * 3
    claim = gain_claim("more", "It keeps more.", 0.3, kept, missed)
    assert isinstance(claim, Claim)
    assert claim.found.value == pytest.approx(0.25)
    assert 0.15 <= claim.found.low < 0.25 < claim.found.high <= 0.35
    assert "in 2 of 3 runs" in claim.statistic
    whole = gain_claim("more", "It keeps more.", 0.3, missed, missed)
    assert isinstance(whole, Claim)
    assert "of 3 runs" not in whole.statistic
    note = gain_claim("more", "It keeps more.", 0.3, kept, columns(None, 0.1, 0.2))
    assert isinstance(note, str)
    assert "Undecided: more" in note
    assert "1 of 3 runs" in note
    assert sorted_out([claim, note, whole]) == ((claim, whole), (note,))


def test_measures_are_those_of_the_answers_that_were_kept(
    work: Context, table: inkblur.Embedding
) -> None:
    """On the real texts as `rates` has them; a resumed run measures the same."""
    sizes = SampleSizes(studied=2, known=2, unknown=2, taught=10, asked=10)
    setting = ReleaseSpec("laplace", 1.0)
    for score in ("accuracy", "f1"):
        fight = AttackVsLabel(score, work, authors(), split(), sizes, score=score)
        kept = fight._after(setting, table, "0")
        found = fight._measured(kept)
        right = [text.count("1") / len(text) for text in kept["static"]]
        assert found["static"][0] == pytest.approx(max(right))
        expected = getattr(rates(fight._truth.tolist(), kept["labels"]), score)
        assert found["utility"][0] == pytest.approx(expected)
        again = fight._measured(json.loads(json.dumps(kept)))
        assert all((again[key] == found[key]).all() for key in found)
