"""Who attacks a release: those who know the channel too, static and adaptive, and all together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.catalogue import USUAL
from inkblur.evaluation.attacks.stacking import stacked_across
from inkblur.evaluation.author_attacks import AuthorAttacks
from inkblur.evaluation.dataset import Dataset, make_dataset
from inkblur.evaluation.evaluate import PreparedEvaluation, evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import TextReleaser, releaser
from inkblur.evaluation.results import ADAPTIVE, STATIC, SettingResult
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.staircase import Staircase
from inkblur.rng import Rows
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID, Ids

pytest.importorskip("sklearn")
AUTHORS, WORDS = 12, 60
PLAN = Plan(seed=4, repeats=1, read_texts=0, meaning_texts=0, examples=0)


def table() -> Embedding:
    vectors = np.random.default_rng(7).normal(size=(WORDS, 6))
    return Embedding([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(WORDS)], vectors,
                     name="made")  # fmt: skip


def data(length: int = 60) -> Dataset:
    """Every author prefers five words of their own, every second time."""
    rng, words = np.random.default_rng(3), table().words
    texts: list[str] = []
    names: list[str] = []
    labels: list[str] = []
    for author in range(AUTHORS):
        own = np.roll(np.arange(WORDS), 5 * author)[:5]
        for _ in range(14):
            any_word = rng.integers(WORDS, size=length)
            ids = np.where(rng.random(length) < 0.5, rng.choice(own, length), any_word)
            texts.append(" ".join(words[i] for i in ids))
            names.append(f"author {author}")
            labels.append("odd" if author % 2 else "even")
    return make_dataset(texts, authors=names, labels=labels, seed=4, test_share=0.5)


def test_nobody_is_named_for_an_empty_text() -> None:
    """The weighed answer of several attacks named whom the classifiers like best without a word."""
    texts = [f"{word} w{number}" for number in range(4) for word in "abcdefghij"]
    parts = ["train"] * 30 + ["test"] * 20
    authors = list("abcdefghij") * 5
    made = make_dataset([*texts, *[" "] * 10], authors=authors, parts=parts, seed=4)
    attacks = AuthorAttacks(made, made.train.texts, table(), replace(PLAN, attacks=USUAL))
    found = attacks.on_true_texts(made.test.texts)
    assert [each.name for each in found] == list(USUAL)
    for each in found:
        assert each.found.answers[10:].tolist() == [DONT_KNOW] * 10, each.name


class Leaky(WordMechanism):
    """Another mechanism, but one word in 20 is copied."""

    def __init__(self, inner: WordMechanism) -> None:
        super().__init__(inner.embedding)
        self.inner, self.name, self.guarantee = inner, "leaky", inner.guarantee
        self._coin = np.random.default_rng(9)

    @property
    def parameters(self) -> dict[str, float | str]:
        return self.inner.parameters

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        copied = (self._coin.random(len(ids)) < 0.05) & (ids != NULL_ID)
        return np.where(copied, ids, self.inner.replace(ids, rng))


def tried(found: SettingResult) -> set[tuple[str, str]]:
    return {(each.attack, each.attacker) for each in found.attacks}


def test_the_usual_attacks_on_a_release_and_on_true_texts() -> None:
    report = evaluate(data(), table(), [ReleaseSpec(epsilon=3.0)], PLAN)
    blind = ("svm", "svm-words", "koppel", "sentence-lengths", "text-lengths")
    plain = {(name, kind) for name in blind for kind in (ADAPTIVE, STATIC)}
    bayes = {("likelihood", STATIC), ("likelihood-lengths", STATIC)}
    assert tried(report.settings[0]) == plain | bayes | {("stacked", ADAPTIVE)}
    assert tried(report.before) == {(name, STATIC) for name in USUAL}
    found = report.before.attack("likelihood", "all", STATIC)
    assert found is not None
    assert found.accuracy.mean > 0.9  # on true texts it is naive Bayes


def test_likelihood_is_the_headline_where_it_is_the_strongest() -> None:
    report = evaluate(data(400), table(), [ReleaseSpec(epsilon=1.5, parameters={"tau": 0.1})], PLAN)
    (found,) = report.settings
    worst = found.strongest()
    assert worst is not None
    bayes = found.attack("likelihood", "all", STATIC)
    assert bayes is not None
    classifiers = [each.accuracy.mean for each in found.attacks if each.attack.startswith("svm")]
    assert bayes.accuracy.mean > max(classifiers) + 0.1
    assert worst.accuracy.mean >= bayes.accuracy.mean


def test_a_planted_leak_raises_the_headline() -> None:
    """A mechanism that copies one word in 20 behind a guarantee that forbids it."""
    honest = Staircase(table(), epsilon=0.01, tau=0.1)
    spec = ReleaseSpec(epsilon=0.01, parameters={"tau": 0.1})
    found = {}
    for name, mechanism in (("honest", honest), ("leaking", Leaky(honest))):
        made = TextReleaser(spec, Privatizer(mechanism))
        (result,) = evaluate(data(400), table(), [made], PLAN).settings
        worst = result.strongest()
        assert worst is not None
        found[name] = worst.accuracy
    assert found["honest"].low is not None
    assert found["honest"].low <= 2 / AUTHORS  # the best of nine attacks at chance, 1 in 12
    assert found["leaking"].low is not None
    assert found["leaking"].low > found["honest"].mean + 0.2


def test_a_release_on_other_vectors_has_a_channel_of_its_own() -> None:
    """A search measures one setting, of one name, in several metrics, one after the other."""
    plan = replace(PLAN, attacks=("likelihood",), models=(), repeats=2)
    other = Embedding(table().words, table().vectors[::-1], name="other")
    first, second = (releaser(ReleaseSpec(epsilon=3.0), each) for each in (table(), other))
    assert first.name == second.name
    alone = PreparedEvaluation(data(200), table(), plan).measure(second).attacks
    after = PreparedEvaluation(data(200), table(), plan)
    after.measure(first)
    assert after.measure(second).attacks == alone
    assert 4 / AUTHORS < alone[0].accuracy.mean < 1


def test_stacking_learns_from_other_authors_alone() -> None:
    """One attack is right for the first half of the authors, one for the second: weights that an
    author's own texts had taught would trust the right one.
    """
    authors = 10
    truth = np.repeat(np.arange(authors), 20)
    right, wrong = np.eye(authors)[truth], np.eye(authors)[(truth + 1) % authors]
    even = (truth % 2 == 0)[:, None]
    scores = [np.where(even, right, wrong), np.where(even, wrong, right)]
    said = stacked_across(scores, truth)
    assert said is not None
    assert (said.argmax(axis=1) == truth).mean() < 0.1
    assert stacked_across(scores[:1], truth) is None
    few = truth < 8
    assert stacked_across([each[few] for each in scores], truth[few]) is None


def test_an_unknown_attack_is_refused() -> None:
    with pytest.raises(ParameterError, match="unknown attack"):
        Plan(seed=1, attacks=("magic",))
