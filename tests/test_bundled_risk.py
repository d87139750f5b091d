"""`tools/bundled/risk.py`: what attackers make of a setting; strengths are chosen by it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.channel import ExactChannel
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.stacking import stacked, stacking_weights
from inkblur.evaluation.measures.intervals import percentile_interval
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.mechanisms.staircase import Staircase
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Array, Ids, Strength

sys.path.append(str(Path(__file__).parents[1] / "tools" / "bundled"))

from risk import ON_LENGTHS, Attempt, AuthorTexts, Scores, answers, attempts, strongest
from strengths import SettingRisk, chosen


def halved(texts: list[str], authors: Ids) -> AuthorTexts:
    """Every second text known, the others attacked."""
    return AuthorTexts(tuple(texts[::2]), authors[::2], tuple(texts[1::2]), authors[1::2])


def written(toy: Embedding, authors: int, texts: int, words: int = 60) -> AuthorTexts:
    """Every author prefers ten words of their own, three times in four."""
    rng = np.random.default_rng(3)
    made: list[str] = []
    numbers: list[int] = []
    for author in range(authors):
        own = np.roll(np.arange(60), 7 * author)[:10]
        for _ in range(texts):
            ids = np.where(rng.random(words) < 0.75, rng.choice(own, words), rng.integers(60))
            made.append(" ".join(toy.words[i] for i in ids))
            numbers.append(author)
    return halved(made, np.array(numbers))


def test_halves_share_no_author_and_have_every_text(toy: Embedding) -> None:
    texts = written(toy, 9, 4)
    one, two = texts.halves()
    assert not set(one.suspects.tolist()) & set(two.suspects.tolist())
    assert len(one.attacked) + len(two.attacked) == len(texts.attacked) == 18
    assert set(one.attacked_authors.tolist()) <= set(one.suspects.tolist())
    with pytest.raises(ParameterError, match="4 are needed"):
        written(toy, 3, 4).halves()


def test_an_attacked_author_without_a_known_text_is_refused(toy: Embedding) -> None:
    """Their texts counted as those of the next author in order."""
    texts = written(toy, 6, 4)
    known = texts.known_authors != 3
    with pytest.raises(ParameterError, match="1 attacked author has no known text, such as 3"):
        replace(
            texts,
            known=tuple(np.array(texts.known)[known].tolist()),
            known_authors=texts.known_authors[known],
        )


def test_the_likelihood_attack_is_bayes_rule_through_the_channel(toy: Embedding) -> None:
    """Against the definition, word by word; and it names authors where the words are replaced."""
    mechanism = Staircase(toy, epsilon=3.0, tau=0.1)
    texts = written(toy, 6, 8)
    attack = Likelihood(ExactChannel(mechanism, 60), toy, smoothing=0.2)
    attack.fit(texts.known, texts.known_authors)
    released = released_by(mechanism, texts.attacked)
    every = mechanism.probabilities(np.arange(60))
    index = {word: i for i, word in enumerate(toy.words)}

    def counts(rows: list[str]) -> Array:
        ids = [index[word] for text in rows for word in text.split()]
        return np.bincount(ids, minlength=60).astype(np.float64)

    own = [
        counts([t for t, a in zip(texts.known, texts.known_authors, strict=True) if a == author])
        for author in range(6)
    ]
    everybody = np.sum(own, axis=0) / np.sum(own)
    shares = np.stack([0.8 * each / each.sum() + 0.2 * everybody for each in own])
    expected = np.stack([counts([text]) for text in released]) @ np.log(shares @ every).T
    np.testing.assert_allclose(attack.scores(released), expected, rtol=1e-9)
    assert (attack.predict(released) == texts.attacked_authors).mean() > 0.5  # chance: 0.17
    assert attack.predict([""]).tolist() == [-1]


def released_by(mechanism: DiscreteMechanism, texts: tuple[str, ...]) -> list[str]:
    rng = seeded_rng(5)
    return [" ".join(mechanism.release(text.split(), rng.next_child("t")).words) for text in texts]


def test_stacking_trusts_the_attack_that_is_right() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(5, size=300)
    right = np.eye(5)[truth] + rng.normal(size=(300, 5)) * 0.5
    useless = rng.normal(size=(300, 5))
    weights = stacking_weights([useless, right], truth)
    assert weights[1] > 10 * weights[0] >= 0
    both = (stacked([useless, right], weights).argmax(axis=1) == truth).mean()
    assert both == pytest.approx((right.argmax(axis=1) == truth).mean(), abs=0.03)


def test_stacking_learns_on_the_half_that_it_does_not_attack(toy: Embedding) -> None:
    """Of two attacks each is right on one half alone: who learned on the other trusts the wrong one."""
    halves = written(toy, 8, 4).halves()
    found: list[Scores] = []
    for half in halves:
        truth = np.searchsorted(half.suspects, half.attacked_authors)
        right = np.eye(len(half.suspects))[truth]
        either = (right, np.roll(right, 1, axis=1))[:: -1 if found else 1]
        found.append({("one", "static"): either[0], ("two", "static"): either[1]})
    said = [each for each in answers(halves, found, [None]) if each.attack == "stacked"]
    assert [each.correct.any() for each in said] == [False, False]


def attempt(half: int, attack: str, hits: int, *, texts: int = 100) -> Attempt:
    authors = np.repeat(np.arange(10), texts // 10)
    correct = np.arange(texts) % 10 < hits / texts * 10
    return Attempt(half, attack, "static", None, 10, authors, correct)


def test_the_strongest_attack_counts_above_chance() -> None:
    found = strongest([attempt(0, "weak", 20), attempt(0, "good", 60), attempt(0, "good", 50)])
    assert found.attack == "good"
    assert found.accuracy == pytest.approx(0.55)
    assert found.risk == pytest.approx(0.5)
    assert found.low <= found.risk <= found.high
    again = Attempt.from_json(attempt(1, "good", 30).to_json())
    assert again.correct.sum() == 30
    assert strongest([again]).risk == strongest([attempt(1, "good", 30)]).risk


def test_the_interval_over_ten_authors_covers_what_it_says() -> None:
    """Authors whose texts are named with a chance drawn evenly from [0, 1], so that half are: 95 %
    of the intervals must hold that. Plain percentiles of ten authors hold it 9 times in 10.
    """
    authors, texts, collections = 10, 20, 1_000
    rng = np.random.default_rng(7)
    expanded = plain = 0
    for _ in range(collections):
        correct = rng.random((authors, texts)) < rng.random((authors, 1))
        numbers = np.repeat(np.arange(authors), texts)
        made = Attempt(0, "any", "static", None, 1_000_000, numbers, correct.ravel())
        found = strongest([made])  # chance is nothing among a million suspects
        expanded += found.low <= 0.5 <= found.high
        again = made.by_author[rng.integers(authors, size=(1_000, authors))].mean(axis=1)
        low, high = percentile_interval(again, 0.95)
        plain += low <= 0.5 <= high
    assert expanded / collections == pytest.approx(0.95, abs=0.02)  # standard error .007
    assert plain / collections < 0.92


@pytest.mark.parametrize("authors", [2, 3, 5])
def test_an_interval_over_few_authors_covers_what_it_says_too(authors: int) -> None:
    """Resamples never leave the range of the authors' own shares, which holds the mean of others
    like them half of the time with two authors.
    """
    texts, collections = 5, 200
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(collections):
        correct = rng.random((authors, texts)) < rng.beta(0.5, 2.0, (authors, 1))
        numbers = np.repeat(np.arange(authors), texts)
        found = strongest([Attempt(0, "any", "static", None, 10**6, numbers, correct.ravel())])
        covered += found.low <= 0.2 <= found.high  # the mean of that law
    assert covered / collections >= 0.95


@pytest.mark.parametrize("hits", [0, 100])
def test_ten_authors_alike_are_no_proof_about_others(hits: int) -> None:
    """An interval from 0 % to 0 % said too much, and so did one from 100 % to 100 %."""
    found = strongest([attempt(0, "any", hits)])
    assert found.high - found.low > 0.2
    assert found.low <= found.risk <= found.high


def test_a_choice_looks_at_one_half_alone_and_every_smaller_epsilon() -> None:
    def setting(epsilon: float, choosing: int, judging: int) -> SettingRisk:
        tried = [attempt(0, "a", choosing), attempt(1, "a", judging)]
        return SettingRisk({"epsilon": epsilon}, {"c": tried}, {"c": tried})

    settings = {
        1.0: setting(1.0, 10, 90),  # the judging half has no say
        2.0: setting(2.0, 20, 10),
        2.5: setting(2.5, 40, 10),
        3.0: setting(3.0, 90, 10),
        4.0: setting(4.0, 10, 10),  # a lucky draw
    }
    found = chosen(settings)
    assert {s: found[s].parameters["epsilon"] for s in found} == {
        Strength.LIGHT: 2.5,
        Strength.MEDIUM: 2.0,
        Strength.STRONG: 1.0,
    }
    del settings[2.5]
    assert Strength.LIGHT not in chosen(settings)  # 2 is medium already
    body = found[Strength.STRONG].to_json()
    assert body["named"] == 0.9
    assert body["collections"]["c"]["choosing_half"] == 0.0


def test_a_choice_is_made_by_words_and_reported_with_lengths() -> None:
    tried = [
        attempt(half, attack, hits)
        for half in (0, 1)
        for attack, hits in (("svm", 10), ("text-lengths", 80))
    ]
    setting = SettingRisk({"epsilon": 1.0}, {"c": tried}, {"c": tried})
    found = chosen({1.0: setting})
    assert list(found) == [Strength.STRONG]  # no epsilon changes what lengths show
    body = found[Strength.STRONG].to_json()
    assert (body["named"], body["lengths_hidden"]["named"]) == (0.8, 0.1)
    assert body["collections"]["c"]["attack"] == "text-lengths"
    assert body["collections"]["c"]["lengths_hidden"]["attack"] == "svm"


def test_shorter_texts_are_attacked_too(toy: Embedding) -> None:
    texts = written(toy, 4, 4)
    blur = ReleaseSpec("staircase", 3.0).privatizer(toy)
    found = attempts(texts, blur, toy, seeded_rng(2), lengths=(5,))
    assert {each.words for each in found} == {None, 5}
    usual = {"likelihood", "likelihood-texts", "svm", "svm-words", "stacked"}
    assert {each.attack for each in found if each.words == 5} == usual
    lengths = {"text-lengths", "likelihood-lengths", "stacked-lengths"}
    assert {each.attack for each in found if each.words is None} == usual | lengths
    names = [(each.half, each.attack, each.kind, each.words) for each in found]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kept", ["sentence-ends", "punctuation"])
def test_sentences_are_attacked_where_their_ends_show(toy: Embedding, kept: str) -> None:
    blur = ReleaseSpec("staircase", 3.0, keep=(kept,)).privatizer(toy)
    found = {each.attack for each in attempts(written(toy, 4, 4), blur, toy, seeded_rng(2))}
    assert found >= {"sentence-lengths", "likelihood-lengths"}


def test_every_draw_is_attacked_as_if_it_were_the_only_one(toy: Embedding) -> None:
    texts = written(toy, 8, 4)
    blur = ReleaseSpec("staircase", 3.0).privatizer(toy)
    once = attempts(texts, blur, toy, seeded_rng(2), lengths=(5,))
    found = attempts(texts, blur, toy, seeded_rng(2), lengths=(5,), draws=3)
    assert len(found) == 3 * len(once)
    assert [each.to_json() for each in found[: len(once)]] == [each.to_json() for each in once]
    second, third = found[len(once) : 2 * len(once)], found[2 * len(once) :]
    assert [each.to_json() for each in second] != [each.to_json() for each in third]
    assert {tuple(each.authors) for each in third} == {tuple(each.authors) for each in once}


def test_an_author_of_whom_nothing_is_released_stays_a_suspect(toy: Embedding) -> None:
    """Signs alone come out as an empty text, which no classifier can study."""
    texts = written(toy, 8, 4)
    silent = texts.halves()[0].suspects[0]
    blur = ReleaseSpec("staircase", 30.0).privatizer(toy)
    known = tuple("?!" if author == silent else text
                  for text, author in zip(texts.known, texts.known_authors, strict=True))  # fmt: skip
    found = attempts(replace(texts, known=known), blur, toy, seeded_rng(2))
    assert len(found) == len(attempts(texts, blur, toy, seeded_rng(2)))
    for each in found:
        others = each.correct[each.authors != silent]
        if each.attack != "text-lengths":  # their texts are equally long
            assert others.mean() > 0.5, (each.attack, each.kind)  # chance: 0.25


def test_texts_that_are_not_released_are_attacked_as_they_were_written(toy: Embedding) -> None:
    """Authors who differ in where they break lines alone."""
    same = [" ".join(toy.words[start : start + 20]) for start in range(4)]
    lines = [text.replace(" ", "\n" * (1 + author // 2)) for author in range(4) for text in same]
    found = attempts(halved(lines, np.repeat(np.arange(4), 4)), None, toy, seeded_rng(2))
    assert strongest([each for each in found if each.attack == "svm"]).risk == 1.0


def test_lengths_count_where_they_show_and_what_is_left_without_is_said(toy: Embedding) -> None:
    """Words that say nothing, and authors whose texts are twice as long as those of the last."""
    rng = np.random.default_rng(1)
    sizes = np.repeat([10 * 2**author for author in range(8)], 8)
    texts = halved([" ".join(rng.choice(toy.words, size)) for size in sizes], np.arange(64) // 8)
    mechanism = Staircase(toy, epsilon=0.01, tau=0.1, frequency_power=0.0)
    shown, hidden = (
        attempts(texts, Privatizer(mechanism, length=length), toy, seeded_rng(1))
        for length in (None, 40)
    )
    assert not {each.attack for each in hidden} & ON_LENGTHS
    for half in (0, 1):
        every, fixed = (
            strongest(each for each in some if each.half == half).risk for some in (shown, hidden)
        )
        assert every > 0.9
        assert fixed < 0.4


def test_words_that_do_not_enter_are_not_held_against_an_author() -> None:
    """Each stop word lies beside a content word of the next author, and is dropped."""
    stop = ["the", "of", "and", "to", "in", "is", "was", "for", "on", "with", "as", "by"]
    centers = np.random.default_rng(7).normal(size=(12, 8))
    content = [f"wor{chr(97 + i)}d" for i in range(12)]
    table = Embedding([*content, *stop], np.vstack([centers, centers + 0.01]), name="made")
    rng = np.random.default_rng(3)
    made = []
    for author in np.repeat(np.arange(4), 16).tolist():
        own = np.arange(3 * author, 3 * author + 3)
        words = [content[i] for i in rng.choice(own, 25)] + [stop[i] for i in (own + 3) % 12] * 10
        made.append(" ".join(rng.permutation(words)))
    texts = halved(made, np.repeat(np.arange(4), 16))
    blur = ReleaseSpec("staircase", 3.0, drop=("stop-words",)).privatizer(table)
    found = attempts(texts, blur, table, seeded_rng(2))
    for name in ("likelihood", "likelihood-texts"):
        assert np.mean([each.correct.mean() for each in found if each.attack == name]) > 0.7
