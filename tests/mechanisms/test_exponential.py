"""The exponential mechanism: its probabilities, its draws, its limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms import exponential
from inkblur.mechanisms.exact_choice import BLOCK, digits
from inkblur.mechanisms.exponential import Exponential
from inkblur.rng import JoinedRows, seeded_rng
from inkblur.types import NULL_ID, Array, Ids

S = Decimal("0.25")


def table(words: int = 40, dimension: int = 5, seed: int = 1) -> Embedding:
    rng = np.random.default_rng(seed)
    names = [chr(97 + i % 26) + chr(97 + i * 7 % 26) + chr(97 + i // 26) for i in range(words)]
    return Embedding(names, rng.standard_normal((words, dimension)) + 0.3, name="random")


@pytest.mark.parametrize("bounding", ["clip", "rescale"])
@pytest.mark.parametrize("epsilon", [1.0, 10.0, 47.5, 100.0])
def test_probabilities_against_sixty_digits(epsilon: float, bounding: str) -> None:
    """From the word vectors on, independently: cosines, bigrams, weights and shares in Decimal."""
    embedding = Embedding(["cat", "cats", "dog"], [[1.0, 2.0], [1.5, 2.0], [-1.0, 0.5]], name="toy")
    pairs = {"cat": {"ca", "at"}, "cats": {"ca", "at", "ts"}, "dog": {"do", "og"}, None: set()}
    mechanism = Exponential(embedding, epsilon=epsilon, bigram=float(S), bounding=bounding)
    got = mechanism.probabilities(np.array([0, 1, 2, NULL_ID]))
    with localcontext() as context:
        context.prec = 60
        vectors = {
            word: [Decimal(float(x)) for x in row]
            for word, row in zip(embedding.words, embedding.vectors, strict=True)
        }
        null = [Decimal(float(x)) for x in embedding.null_vector]
        for i, word in enumerate([*embedding.words, None]):
            vector = null if word is None else vectors[word]
            weights = []
            for other in embedding.words:
                cosine = _cosine(vector, vectors[other])
                a, b = pairs[word], pairs[other]
                rating = cosine - S * 2 * len(a & b) / max(1, len(a) + len(b))
                if bounding == "clip":
                    rating = max(Decimal(0), rating)
                else:
                    rating = (rating + 1 + S) / (2 + S)
                weights.append((Decimal(epsilon) / 2 * rating).exp())
            wanted = [float(w / sum(weights)) for w in weights]
            assert got[i] == pytest.approx(wanted, rel=1e-6)  # directions are rounded to 2^-26


def _cosine(left: list[Decimal], right: list[Decimal]) -> Decimal:
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    squares = Decimal(sum(a * a for a in left) * sum(b * b for b in right))
    return dot / squares.sqrt()


@pytest.mark.parametrize("epsilon", [1.0, 12.0, 40.0])
@pytest.mark.parametrize("word", [0, 17, NULL_ID])
@pytest.mark.parametrize("size", [40, 200])  # one block, and four
def test_frequencies_follow_the_probabilities(epsilon: float, word: int, size: int) -> None:
    mechanism = Exponential(table(size), epsilon=epsilon)
    draws = 50_000
    ids = np.full(draws, word)
    out = mechanism.replace(ids, seeded_rng(11))
    expected = mechanism.probabilities(np.array([word]))[0] * draws
    counts = np.bincount(out, minlength=size)
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    keep = wanted > 0
    assert stats.chisquare(observed[keep], wanted[keep]).pvalue > 1e-4


@pytest.mark.parametrize("size", [40, 200])
def test_the_chance_of_rare_words_is_right_too(size: int) -> None:
    """Positions that land among the last 2^-52 of a block's probability still find their words."""
    mechanism = Exponential(table(size, dimension=2), epsilon=300.0)
    first, spare = mechanism.width - digits(150.0, BLOCK), digits(150.0, BLOCK) - 2
    block = mechanism.probabilities(np.array([3]))[0][:BLOCK]
    shares = block / block.sum()
    rare = np.flatnonzero(shares < 2.0**-53)
    assert len(rare) > 3
    edge = shares[rare].sum()
    where = edge * (np.arange(4000) + 0.5) / 4000
    lead = np.full((4000, first), seeking_block(mechanism, 3, 0))
    # In units of the second digit, below a first one of 0; what is finer does not matter here.
    digit = np.column_stack([np.full(4000, 2.0**-54), where * 2.0**52, np.zeros((4000, spare))])
    out = mechanism.draw(np.full(4000, 3), np.column_stack([lead, digit]))
    counts = np.bincount(out, minlength=size)
    assert counts[rare] == pytest.approx(shares[rare] / edge * 4000, abs=1.5)


def seeking_block(mechanism: Exponential, word: int, block: int) -> float:
    """A uniform that leads from the word into the block."""
    if not (first := mechanism.width - digits(mechanism.kappa, BLOCK)):
        return 0.5
    grid = (np.arange(4000) + 0.5) / 4000
    uniforms = np.full((4000, mechanism.width), 0.5)
    uniforms[:, :first] = grid[:, None]
    found = mechanism.draw(np.full(4000, word), uniforms) // BLOCK
    return float(grid[np.flatnonzero(found == block)[0]])


@pytest.mark.parametrize("bigram", [0.0, 0.4])
@pytest.mark.parametrize("room", [0, 500, 10_000])
def test_neither_batch_nor_store_shows(
    room: int, bigram: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same draws token by token, record by record, in one batch, stored or not."""
    embedding = table(200, 20)
    ids = np.random.default_rng(3).permutation(np.tile(np.arange(-1, 200), 6))
    monkeypatch.setattr(exponential, "_STORE_BYTES", 0)
    wanted = Exponential(embedding, epsilon=20.0, bigram=bigram).replace(ids, seeded_rng(5))
    monkeypatch.setattr(exponential, "_STORE_BYTES", room)
    mechanism = Exponential(embedding, epsilon=20.0, bigram=bigram)
    stream = seeded_rng(5)
    pieces = [mechanism.replace(part, stream) for part in np.array_split(ids, 137)]
    assert np.array_equal(np.concatenate(pieces), wanted)
    again = mechanism.replace(ids, JoinedRows([seeded_rng(5)], [len(ids)]))
    assert np.array_equal(again, wanted)
    store = mechanism._known
    assert store.sums.nbytes + store.order.nbytes <= room
    assert (store.slots >= 0).sum() == {0: 0, 500: 10, 10_000: 201}[room]


def test_batches_may_share_a_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some fill the store while others read it; the commonest words are stored first."""
    embedding = table(300, 20)
    ids = np.random.default_rng(4).integers(-1, 300, (40, 50))
    alone = [Exponential(embedding, epsilon=20.0).replace(part, seeded_rng(6)) for part in ids]
    monkeypatch.setattr(exponential, "_STORE_BYTES", 6000)
    shared = Exponential(embedding, epsilon=20.0)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda part: shared.replace(part, seeded_rng(6)), ids))
    assert np.array_equal(together, alone)
    common = Exponential(embedding, epsilon=20.0)
    common.replace(np.concatenate([np.arange(300), np.full(50, 42)]), seeded_rng(2))
    assert 42 in np.flatnonzero(common._known.slots >= 0)


class Uniform:
    """A rating of one's own: every word is as good as every other."""

    symmetric = True
    spec = "uniform"

    def __init__(self, size: int) -> None:
        self.size = size

    def block(self, rows: Ids, columns: slice) -> Array:
        return np.full((len(rows), len(range(*columns.indices(self.size)))), 0.5)


def test_ratings_are_pluggable() -> None:
    mechanism = Exponential(table(), epsilon=9.0, rating=Uniform(40))
    assert mechanism.probabilities(np.array([0])) == pytest.approx(np.full((1, 40), 1 / 40))
    assert mechanism.guarantee.epsilon < 1e-9  # a draw that ignores its input costs nothing
    assert "uniform" in mechanism.spec
    with pytest.raises(ParameterError, match="same embedding"):
        Exponential(table(), epsilon=9.0, rating=Uniform(39))
    with pytest.raises(ParameterError, match="not both"):
        Exponential(table(), epsilon=9.0, bigram=0.2, rating=Uniform(40))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan"), 601.0, 1e308])
def test_epsilon_out_of_range(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        Exponential(table(), epsilon=epsilon)


def test_a_zero_vector_is_replaced_evenly() -> None:
    embedding = Embedding(["a", "b", "zero"], [[1, 0], [0, 1], [0, 0]], name="toy")
    mechanism = Exponential(embedding, epsilon=50.0)
    assert mechanism.probabilities(np.array([2])) == pytest.approx(np.full((1, 3), 1 / 3))
    assert mechanism.guarantee.private


@pytest.mark.parametrize(
    ("kind", "why"),
    [("wild", "outside"), ("one row", "expected"), ("lopsided", "says that it is symmetric")],
)
def test_a_rating_that_would_make_the_guarantee_false_is_refused(
    toy: Embedding, kind: str, why: str
) -> None:
    """Beyond [0, 1]; a row that NumPy would repeat; half a table that is not the other's mirror."""

    class Bad:
        size, symmetric, spec = len(toy), True, kind

        def block(self, rows: Ids, columns: slice) -> Array:
            order = np.arange(self.size)[columns]
            if kind == "lopsided":
                return (rows[:, None] < order).astype(np.float64)
            shape = 1 if kind == "one row" else len(rows), len(order)
            return np.full(shape, 5.0 if kind == "wild" else 0.5)

    with pytest.raises(ParameterError, match=why):
        _ = Exponential(toy, epsilon=4.0, rating=Bad()).guarantee
    if kind != "lopsided":
        with pytest.raises(ParameterError, match=why):
            Exponential(toy, epsilon=4.0, rating=Bad()).release(["wordaa", "wordab"], seeded_rng(1))
