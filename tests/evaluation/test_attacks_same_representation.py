"""The attack in word-vector space: equal to trying every known text."""

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.same_representation import SameRepresentation
from inkblur.evaluation.measures import earth_movers
from inkblur.types import Array


@pytest.mark.parametrize("lengths", [(9, 10), (3, 14)])
@pytest.mark.parametrize("distance", ["earth-movers", "euclidean"])
def test_finds_the_nearest_of_all(
    toy: Embedding, rng: np.random.Generator, distance: str, lengths: tuple[int, int]
) -> None:
    if lengths == (3, 14) and distance == "earth-movers":
        pytest.importorskip("ot")
    texts = [list(rng.choice(toy.words, rng.integers(*lengths))) for _ in range(40)]
    known, unknown = texts[:25], texts[25:]
    bags = [toy.centers(toy.ids(text)) for text in texts]

    def apart(left: Array, right: Array) -> float:
        if distance == "euclidean":
            return float(np.linalg.norm(left.mean(axis=0) - right.mean(axis=0)))
        return earth_movers.earth_movers(earth_movers.euclidean_costs(left, right))

    expected = np.array([[apart(x, y) for y in bags[:25]] for x in bags[25:]]).argmin(axis=1)
    attack = SameRepresentation(toy, distance=distance)
    attack.fit([" ".join(text) for text in known], np.arange(25))
    assert attack.predict([" ".join(text) for text in unknown]).tolist() == expected.tolist()


def test_most_known_texts_are_never_solved(toy: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "inkblur.evaluation.attacks.same_representation.earth_movers"
    solved = []

    def counted(costs: np.ndarray, **weights: object) -> float:
        solved.append(costs.shape)
        return earth_movers.earth_movers(costs)

    monkeypatch.setattr(module, counted)
    known = [f"{toy.words[i]} {toy.words[(i + 7) % 60]}" for i in range(60)]
    attack = SameRepresentation(toy).fit(known, np.arange(60))
    assert attack.predict(known[:10]).tolist() == list(range(10))
    assert 10 <= len(solved) < 100  # of 600 pairs


def test_stop_words_unknown_words_and_length(plane: Embedding) -> None:
    table = Embedding(["the", "sun", "moon"], [[0.0, 9.0], [0.0, 0.0], [1.0, 0.0]], name="three")
    known, authors = ["the the sun", "the moon moon", "nothing known"], [0, 1, 2]
    attack = SameRepresentation(table).fit(known, authors)
    assert attack.predict(["The sun.", "MOON", "unheard of", ""]).tolist() == [0, 1, -1, DONT_KNOW]
    assert attack.predict(["the the the the"]).tolist() == [DONT_KNOW]
    with_stop_words = SameRepresentation(table, stop_words=True, distance="euclidean")
    assert with_stop_words.fit(known, authors).predict(["the the the the"]).tolist() == [0]
    cut = SameRepresentation(table, words=1).fit(["moon sun sun", "sun moon moon"], [0, 1])
    assert cut.predict(["moon sun sun sun", "sun moon"]).tolist() == [0, 1]


def test_awkward_corpora(plane: Embedding) -> None:
    with pytest.raises(ParameterError, match="no known text has a word"):
        SameRepresentation(plane).fit(["x", "y"], [0, 1])
    with pytest.raises(ParameterError, match="at least 2 authors"):
        SameRepresentation(plane).fit(["sun"], [0])
    with pytest.raises(ParameterError, match="fit first"):
        SameRepresentation(plane).predict(["sun"])
    with pytest.raises(ParameterError, match="distance"):
        SameRepresentation(plane, distance="manhattan")
