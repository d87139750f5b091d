"""Koppel's attack: equal to its plain description, its rules for awkward input, its published reach."""

import os
from typing import Any, cast

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks import koppel
from inkblur.evaluation.attacks.base import DONT_KNOW, attribute
from inkblur.evaluation.attacks.koppel import Koppel, NgramWeighting, Similarity
from inkblur.evaluation.measures.ngrams import space_free_ngrams
from inkblur.types import Ids
from reproduction import corpora
from reproduction.corpora import Corpus

needs_data = pytest.mark.skipif(
    not os.environ.get(corpora.VARIABLE), reason=f"set {corpora.VARIABLE} to the data folder"
)


def babble(rng: np.random.Generator, letters: str, words: int) -> str:
    lengths = rng.integers(1, 8, words)
    return " ".join("".join(rng.choice(list(letters), size)) for size in lengths)


@pytest.fixture
def texts(rng: np.random.Generator) -> tuple[list[str], Ids, list[str]]:
    """Four authors with their own favorite letters; author 7 has one text."""
    alphabets = {2: "abcde", 3: "bcdef", 5: "cdefg", 7: "defgh"}
    known = [(a, babble(rng, alphabets[a], 60)) for a in (3, 2, 5, 7, 2, 3, 5)]
    unknown = [babble(rng, alphabet, 25) for alphabet in alphabets.values()]
    return [text for _, text in known], np.array([a for a, _ in known]), [*unknown, "", "zzzz zz"]


def plainly(
    attack: Koppel, known: list[str], authors: Ids, unknown: list[str]
) -> list[list[set[int]]]:
    """The description, half by half and author by author, over dense vectors of all n-grams.

    Equals up to rounding are all right: which of them is first is decided by the last digit.
    """
    joined = {
        a: "\n".join(t for t, b in zip(known, authors, strict=True) if b == a)
        for a in sorted(set(authors.tolist()))
    }
    counts = {a: space_free_ngrams(text) for a, text in joined.items()}
    total = sum(counts.values(), start=type(space_free_ngrams(""))())
    grams = [g for g, _ in sorted(total.items(), key=lambda i: (-i[1], i[0]))][: attack.features]
    users = np.array([sum(g in c for c in counts.values()) for g in grams])

    def vector(counter: Any) -> Any:
        x = np.array([counter[g] for g in grams], float)
        p = x / x.sum() if x.sum() else x
        idf = 1 + np.log((1 + len(counts)) / (1 + users))
        return {
            NgramWeighting.SHARE: p,
            NgramWeighting.TF_IDF: p * idf,
            NgramWeighting.LOG_TF_IDF: np.log(1 + x) * idf,
        }[attack.weighting]

    vectors = {a: vector(c) for a, c in counts.items()}
    rng = np.random.default_rng(attack.seed)
    halves = [rng.permutation(len(grams))[: len(grams) // 2] for _ in range(attack.halves)]
    ballots = []
    for text in unknown:
        u = vector(space_free_ngrams(text))
        ballot = []
        for half in halves:
            values = {DONT_KNOW: 1e-11}
            for a, x in vectors.items():
                if attack.similarity is Similarity.COSINE:
                    norm = np.linalg.norm(u[half]) * np.linalg.norm(x[half])
                    value = u[half] @ x[half] / norm if norm else 0.0
                else:
                    largest = np.maximum(u[half], x[half]).sum()
                    value = np.minimum(u[half], x[half]).sum() / largest if largest else 0.0
                values[a] = value
            ballot.append(
                {a for a, value in values.items() if value > max(values.values()) - 1e-12}
            )
        ballots.append(ballot)
    return ballots


@pytest.mark.parametrize("similarity", Similarity)
@pytest.mark.parametrize("weighting", NgramWeighting)
@pytest.mark.parametrize("block", [1, 1 << 23])
def test_equals_the_plain_description(
    similarity: Similarity,
    weighting: NgramWeighting,
    block: int,
    texts: tuple[list[str], Ids, list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(koppel, "_BLOCK_NUMBERS", block)  # 1: every author is a block of its own
    known, authors, unknown = texts
    attack = Koppel(seed=4, similarity=similarity, weighting=weighting, features=300, halves=12)
    got = attack.fit(known, authors).votes(unknown)
    for ballot, right in zip(got.tolist(), plainly(attack, known, authors, unknown), strict=True):
        assert all(vote in best for vote, best in zip(ballot, right, strict=True))
    assert (got[-2:] == DONT_KNOW).all()
    for answer, ballot in zip(attack.predict(unknown).tolist(), got.tolist(), strict=True):
        cast = set(ballot) - {DONT_KNOW}  # none where a text shares no n-gram with known ones
        assert answer in (cast or {DONT_KNOW})


def test_the_most_voted_author_wins_and_the_threshold_holds_back(
    texts: tuple[list[str], Ids, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, authors, _ = texts
    ballots = np.array([[2, 2, 3, 3, 5], [7, 7, 7, 7, -1], [-1] * 5, [3, 5, 5, -1, -1]])
    monkeypatch.setattr(Koppel, "votes", lambda *_: ballots)
    for threshold, expected in ((0.0, [2, 7, -1, 5]), (0.8, [-1, 7, -1, -1]), (0.81, [-1] * 4)):
        attack = Koppel(seed=0, halves=5, threshold=threshold).fit(known, authors)
        assert attack.predict(["a", "b", "c", "d"]).tolist() == expected


def test_the_seed_alone_decides(texts: tuple[list[str], Ids, list[str]]) -> None:
    known, authors, unknown = texts
    votes = [
        Koppel(seed=seed, halves=30, features=100).fit(known, authors).votes(unknown)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(votes[0], votes[1])
    assert (votes[0] != votes[2]).any()


def test_halves_are_halves() -> None:
    masks = koppel._random_halves(11, 50, np.random.default_rng(0))
    assert (masks.sum(axis=0) == 5).all()
    assert masks.sum(axis=1).min() > 0
    assert (koppel._random_halves(1, 3, np.random.default_rng(0)) == 1).all()


def test_a_hundred_thousand_authors_fit_in_memory() -> None:
    count = 100_000
    names = [f"{chr(0x4E00 + i // 300)}{chr(0x4E00 + i % 300)}" for i in range(count)]
    attack = Koppel(seed=0, halves=20, features=count).fit(names, np.arange(count))
    assert attack.predict([names[4], names[77_777]]).tolist() == [4, 77_777]


def test_one_author_empty_texts_and_wrong_authors_are_refused() -> None:
    attack = Koppel(seed=0)
    for texts, authors, message in (
        (["a", "b"], [1, 1], "at least 2 authors"),
        ([], [], "at least 2 authors"),
        (["", " "], [0, 1], "empty"),
        (["a", "b"], [0], "as many authors"),
        (["a", "b"], ["x", "y"], "number_authors"),
        (["a", "b"], [0, -1], "known text 1 has no author"),
        ("ab", [0, 1], "list of texts"),
    ):
        with pytest.raises(ParameterError, match=message):
            attack.fit(texts, authors)
    with pytest.raises(ParameterError, match="fit first"):
        Koppel(seed=0).predict(["a"])
    for wrong in ({"similarity": "euclid"}, {"threshold": 1.5}, {"halves": 0}, {"weighting": "x"}):
        with pytest.raises(ParameterError):
            Koppel(seed=0, **cast(Any, wrong))


def test_an_author_with_only_an_empty_text_is_never_named() -> None:
    attack = Koppel(seed=0).fit(["", "some words"], [0, 1])
    assert attack.predict(["some words", "else"]).tolist() == [1, DONT_KNOW]


def accuracy(known: Corpus, unknown: Corpus, similarity: Similarity) -> float:
    assert known.authors is not None
    assert unknown.authors is not None
    attack = Koppel(seed=0, similarity=similarity).fit(known.texts, known.authors)
    return attribute(attack, unknown.texts, unknown.authors, known=known.authors).accuracy


@needs_data
@pytest.mark.parametrize(
    ("similarity", "floor"), [(Similarity.COSINE, 0.65), (Similarity.RUZICKA, 0.68)]
)
def test_reaches_the_plain_implementation_on_reuters(similarity: Similarity, floor: float) -> None:
    split = corpora.reuters_c50()
    assert accuracy(split.train, split.test.first_of_each_author(10), similarity) >= floor


@needs_data
@pytest.mark.parametrize(
    ("problem", "similarity", "right"),
    [  # texts named rightly, of 105 and 21
        (1, Similarity.COSINE, 28),
        (1, Similarity.RUZICKA, 34),
        (2, Similarity.COSINE, 15),
        (2, Similarity.RUZICKA, 14),
    ],
)
def test_reaches_the_plain_implementation_on_pan18(
    problem: int, similarity: Similarity, right: int
) -> None:
    split = corpora.pan18(problem)
    assert round(accuracy(split.train, split.test, similarity) * len(split.test)) >= right
