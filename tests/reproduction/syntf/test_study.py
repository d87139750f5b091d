"""The two tasks on made-up postings, and the gap between what they keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.writeprints import WritePrints
from inkblur.evaluation.dataset import make_dataset
from inkblur.evaluation.releasers import releaser
from inkblur.spec import ReleaseSpec
from reproduction.context import Context
from reproduction.datasets import Datasets
from reproduction.newsgroups import SCENARIOS, suspects
from reproduction.syntf import gaps
from reproduction.syntf.resampling import RunScores, ScoreView, as_they_are
from reproduction.syntf.study import MODELS, PostingsStudy, _counts, weighted

pytest.importorskip("sklearn")
pytest.importorskip("textblob")
pytest.importorskip("spellchecker")

WORDS = [f"{a}{b}{c}" for a in "bdkmt" for b in "aou" for c in ("ling", "ster", "nard")]


@pytest.fixture
def study(tmp_path: Path) -> PostingsStudy:
    """Ten authors with words of their own, each in two groups with words of theirs."""
    draws = np.random.default_rng(3)
    texts, authors, labels, parts = [], [], [], []
    for author in range(10):
        for number in range(6):
            group = number % 2
            own = draws.choice(WORDS[author * 3 : author * 3 + 3], 12).tolist()
            shared = draws.choice(WORDS[35 + 5 * group : 40 + 5 * group], 8).tolist()
            texts.append(" ".join([*own, *shared]))
            authors.append(f"author {author}")
            labels.append(f"group {group}")
            parts.append("test" if number > 3 else "train")
    work = Context(
        "syntf/made-up", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path / "record"
    )
    made = PostingsStudy(work, train=None, test=None, each=None, words=len(WORDS))
    made.data = make_dataset(texts, authors=authors, labels=labels, parts=parts, seed=0)
    made.embedding = Embedding(WORDS, draws.normal(size=(len(WORDS), 20)), name="made up")
    return made


def test_the_attacker_names_those_whom_writeprints_names(study: PostingsStudy) -> None:
    found = study.plain(study.texts)["attack"]
    data = study.data
    for scenario in SCENARIOS:
        chosen = suspects(data, scenario)
        train, test = (np.flatnonzero(np.isin(p.authors, chosen)) for p in (data.train, data.test))
        for model in MODELS:
            attack = WritePrints(classifier=model)
            attack.fit([data.train.texts[i] for i in train], data.train.authors[train])
            answers = attack.predict([data.test.texts[i] for i in test])
            expected = weighted(data.test.authors[test].tolist(), answers.tolist())
            assert found[scenario][model] == pytest.approx(expected)


def test_more_noise_takes_more_and_a_step_repeats(study: PostingsStudy) -> None:
    def settings(epsilon: float) -> ReleaseSpec:
        return ReleaseSpec("exponential", epsilon, release="tf", length=40, morphology="lower")

    kept = study.synthetic(settings(200.0), 2, [10])
    lost = study.synthetic(settings(0.01), 2)
    assert set(kept) == {"10", "40"}
    assert all(len(runs) == 2 for runs in kept.values())
    assert kept == study.synthetic(settings(200.0), 2, [10])
    for found in kept["40"]:
        assert found["utility"]["svm"][0] > 0.9
    for found in lost["40"]:
        assert found["utility"]["svm"][0] < 0.8
        assert found["attack"]["top-10"]["svm"][0] < kept["40"][0]["attack"]["top-10"]["svm"][0]


def test_the_answers_that_are_kept_give_the_scores(study: PostingsStudy) -> None:
    made = ReleaseSpec("exponential", 2.0, release="tf", length=8, morphology="lower")
    ((found,),) = study.synthetic(made, 1).values()
    tasks = [(found["utility"], found["answers"]["utility"])]
    tasks += [(found["attack"][s], found["answers"]["attack"][s]) for s in SCENARIOS]
    for scores, letters in tasks:
        for model in MODELS:
            assert weighted([*letters["truth"]], [*letters[model]]) == pytest.approx(scores[model])


def test_similar_words_join_the_vocabulary(study: PostingsStudy) -> None:
    """Each word has a twin next to it that no posting uses, and three are taken."""
    near = study.embedding.vectors + 0.001
    other = np.random.default_rng(4).normal(size=(60, 20))
    wide = Embedding(
        [*WORDS, *(f"{word}y" for word in WORDS), *(f"far{n}x" for n in range(60))],
        np.vstack([study.embedding.vectors, near, other]),
        name="wide",
    )
    study.all_words = wide
    table, extended = study.table("lower"), study.extended("lower")
    assert set(table.words) < set(extended.words)
    assert {f"{word}y" for word in table.words} <= set(extended.words)
    made = ReleaseSpec("exponential", 1.0, release="tf", length=5, morphology="lower")
    ((found,),) = study.synthetic(made, 1, (), similar=True).values()
    assert found != study.synthetic(made, 1)["5"][0]


def test_words_become_counts_row_by_row() -> None:
    assert _counts(np.array([[0, 1, 1], [2, 2, 2]]), 3).toarray().tolist() == [[1, 2, 0], [0, 0, 3]]


def test_vectorized_texts_keep_what_counts_can_tell(study: PostingsStudy) -> None:
    made = ReleaseSpec("exponential", 1.0, release="tf", length=5, morphology="lower")
    found = study.vectorized(releaser(made, study.embedding))  # type: ignore[arg-type]
    assert found["utility"]["naive-bayes"] == [1.0, 1.0, 1.0]


def test_scores_weigh_classes_by_their_size() -> None:
    f1, precision, recall = weighted(["a"] * 3 + ["b"], ["a", "a", "b", "b"])
    assert precision == pytest.approx(0.75 * 1.0 + 0.25 * 0.5)
    assert recall == pytest.approx(0.75 * 2 / 3 + 0.25 * 1.0)
    assert f1 == pytest.approx(0.75 * 0.8 + 0.25 * 2 / 3)
    assert weighted([1, 2], [1, -1])[2] == 0.5  # an attack that does not answer is no class


def scores(utility: float, attacks: tuple[float, float, float, float]) -> RunScores:
    def both(f1: float) -> dict[str, list[float]]:
        return {"naive-bayes": [f1 / 2, 0.0, 0.0], "svm": [f1, 0.0, 0.0]}

    return {
        "utility": both(utility),
        "attack": {s: both(f1) for s, f1 in zip(SCENARIOS, attacks, strict=True)},
    }


def test_every_scenario_is_decided_by_the_lowest_end_and_not_by_the_lowest_mean() -> None:
    before = scores(0.8, (0.8,) * 4)
    steady, shaky = (0.6, 0.6, 0.6), (0.2, 0.4, 0.7)  # attacks; the utility left is 1
    runs = [scores(0.8, (a, b, 0.2, 0.2)) for a, b in zip(steady, shaky, strict=True)]

    def gap(found: RunScores, scenario: str) -> float:
        return float(gaps.gap(found, before, scenario, "svm"))

    def seen(look: ScoreView, found: RunScores, scenario: str) -> float:
        return gap(look(found), scenario)

    means = [found.value for found in gaps.by_scenario(gap, runs)]
    assert min(means) == means[0]
    decides = gaps.in_every(seen, runs, as_they_are)
    assert decides.value == means[1]
    assert decides.low < 0 < decides.high


def test_gaps_are_between_relative_scores_and_the_worst_scenario_counts() -> None:
    before = scores(0.8, (0.8, 0.4, 0.5, 0.2))
    after = scores(0.6, (0.4, 0.3, 0.1, 0.1))
    assert gaps.gap(after, before, "top-5", "strongest") == pytest.approx(0.75 - 0.5)
    assert gaps.gap(after, before, "top-10", "naive-bayes") == pytest.approx(0.0)
    assert gaps.smallest_gap(after, before) == pytest.approx(0.0)

    def gap(found: RunScores, scenario: str) -> float:
        return float(gaps.gap(found, before, scenario, "svm"))

    other = scores(0.6, (0.4, 0.2, 0.1, 0.1))
    found = gaps.by_scenario(gap, [after, other])
    assert found[1].value == pytest.approx(0.125)  # Top 10/Any: the mean of 0 and 0.25

    def seen(look: ScoreView, found: RunScores, scenario: str) -> float:
        return gap(look(found), scenario)

    assert gaps.in_every(seen, [after, other], as_they_are) == found[1]
    assert found[1].low < 0 < found[1].high
    assert gaps.attack_left(after, scores(0.8, (0, 0, 0, 0)), "top-5", "svm") == 0.0
