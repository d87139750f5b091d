"""The race: who takes part, what is counted, and that the answers are exact. Nothing is timed."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest

from benchmarks import peers, speed
from benchmarks.peak_memory import peak_of
from benchmarks.plain_search import brute_force, numpy_product, numpy_tiled
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.nearest.canonical import Float64s, exhaustive
from inkblur.types import Ids

SETTING = speed.RaceSetting(words=60, batch=32, tokens=200, epsilon=3.0)


def ticking() -> speed.Clock:
    """A clock that advances by one at each look."""
    ticks = count()
    return lambda: float(next(ticks))


def test_everyone_takes_part_and_the_exact_ones_are_exact(toy: Embedding) -> None:
    found = speed.compare(toy, SETTING, clock=ticking(), repeat=2, check=300)
    names = [result.name for result in found]
    ours = [speed.BASELINE, speed.TILED, speed.REFERENCE, speed.ENGINE, speed.PRIVATIZE]
    assert [name for name in names if name in ours] == ours
    assert names[0] == speed.BASELINE
    by_name = {result.name: result for result in found}
    assert by_name[speed.ENGINE].agreement == by_name[speed.REFERENCE].agreement == 1.0
    assert by_name[speed.ENGINE].checked == 300
    assert by_name[speed.PRIVATIZE].agreement is None
    for result in found:
        assert 0 < result.slowest <= result.rate <= result.fastest < math.inf
        assert 0 < result.least_ratio <= result.ratio <= result.most_ratio < math.inf
        assert result.memory is None or result.memory >= 0
        assert result.to_json()["words"] == 60
    ratios = {(q.of, q.to): q.ratio for q in speed.quotients(found)}
    assert ratios[speed.ENGINE, speed.BASELINE] == 1.0  # by this clock all are equally fast


def test_only_some(toy: Embedding) -> None:
    found = speed.compare(toy, SETTING, clock=ticking(), repeat=1, only=["tiled"])
    assert [result.name for result in found] == [speed.TILED]
    assert found[0].agreement is None
    assert speed.compare(toy, SETTING, clock=ticking(), only=["nobody"]) == []


def test_the_warm_up_is_not_counted_and_turns_alternate() -> None:
    order: list[str] = []

    def turn(name: str) -> speed.Turn:
        def take(clock: speed.Clock) -> float:
            order.append(name)
            return 1.0

        return take

    contenders = [speed.Contender(name, 1, turn(name)) for name in "ab"]
    assert speed.race(contenders, repeat=2, clock=ticking()) == {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert order == ["a", "b"] * 3


def test_a_wrong_search_is_caught(toy: Embedding) -> None:
    queries = speed.noisy(toy.vectors, 5.0, 400, np.random.default_rng(3))

    def wrong(points: Float64s) -> Ids:
        ids = exhaustive(toy.vectors, points)
        ids[::4] = (ids[::4] + 1) % len(toy)
        return ids

    shares = speed.agreement(toy.vectors, {"wrong": wrong}, queries)
    assert shares == {"wrong": 0.75}


def test_the_plain_searches_find_the_nearest_word(toy: Embedding) -> None:
    queries = speed.noisy(toy.vectors, 5.0, 100, np.random.default_rng(4))
    expected = exhaustive(toy.vectors, queries).tolist()
    assert brute_force(toy.vectors, queries).tolist() == expected
    assert numpy_tiled(toy.vectors)(queries).tolist() == expected
    assert numpy_product(toy.vectors, 7)(queries).tolist() == expected


@pytest.mark.parametrize("words", [2, 60, 700])
def test_a_table_grows_and_shrinks(toy: Embedding, words: int) -> None:
    table = speed.grown(toy, words)
    assert len(table) == len(set(table.words)) == words
    kept = min(words, len(toy))
    assert table.words[:kept] == toy.words[:kept]
    assert (table.vectors[:kept] == toy.vectors[:kept]).all()
    assert all(word.isalpha() for word in table.words)


def test_made_up_names_avoid_the_words_there_are() -> None:
    table = Embedding(["growna", "grownup"], np.eye(2), name="toy")
    assert speed.grown(table, 4).words == ("growna", "grownup", "grownb", "grownc")


def test_peers_that_are_not_installed_stay_away(
    toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "installed", lambda name: False)
    assert peers.missing() == ["faiss-cpu", "mldp-text", "pypantera"]
    assert peers.faiss_flat(toy.vectors) is None
    assert all(peer.make(toy, 1.0, 0.5) is None for peer in peers.MECHANISMS.values())


@pytest.mark.skipif("pypantera" in peers.missing(), reason="pypantera is not installed")
def test_pypantera_gives_words_of_the_table(toy: Embedding) -> None:
    release = peers.pypantera(toy, 5.0, 0.5)
    assert release is not None
    assert set(str(release(list(toy.words[:2]))).split()) <= set(toy.words)


@pytest.mark.skipif("faiss-cpu" in peers.missing(), reason="faiss is not installed")
def test_faiss_finds_the_nearest_word(toy: Embedding) -> None:
    queries = speed.noisy(toy.vectors, 5.0, 100, np.random.default_rng(4))
    search = peers.faiss_flat(toy.vectors)
    assert search is not None
    assert search(queries).tolist() == exhaustive(toy.vectors, queries).tolist()


def test_memory_at_its_peak_is_seen() -> None:
    size, peak = peak_of(lambda: len(np.ones(30_000_000)))
    assert size == 30_000_000
    assert peak is None or 200e6 < peak < 400e6
