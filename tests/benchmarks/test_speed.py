"""The race: who takes part, what is counted, and that the answers are exact. Nothing is timed."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, speed
from benchmarks.peak_memory import peak_of
from benchmarks.peer_process import PeerProcess, Unavailable
from benchmarks.plain_search import brute_force, numpy_product, numpy_tiled
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.nearest.canonical import Float64s, exhaustive
from inkblur.types import Ids

SETTING = speed.RaceSetting(words=60, batch=32, tokens=200, epsilon=3.0)


def ticking() -> speed.Clock:
    """A clock that advances by one at each look."""
    ticks = count()
    return lambda: float(next(ticks))


OURS = [speed.BASELINE, speed.TILED, speed.REFERENCE, speed.ENGINE, speed.PRIVATIZE]


@pytest.mark.parametrize("only", [OURS, pytest.param([], marks=pytest.mark.long)])  # pip for peers
def test_everyone_takes_part_and_the_exact_ones_are_exact(toy: Embedding, only: list[str]) -> None:
    found = speed.compare(toy, SETTING, clock=ticking(), repeat=2, check=300, only=only)
    names = [result.name for result in found]
    assert [name for name in names if name in OURS] == OURS
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


def test_a_peer_that_pip_cannot_reach_is_left_out_with_a_reason(
    toy: Embedding, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    setting = speed.RaceSetting(len(toy), batch=4, tokens=10, epsilon=5.0)
    reasons: list[str] = []
    only = ["mldp-text", "pypantera"]
    race = partial(speed.compare, toy, setting, clock=time.perf_counter, repeat=1, only=only)
    assert race(on_skip=reasons.append) == []
    assert "mldp-text mahalanobis is not measured: it needs a table of at least 100" in reasons[0]
    assert "pypantera mahalanobis is not measured: -m pip install failed" in reasons[1]
    assert "\n" not in reasons[1]


def test_a_peer_that_breaks_gives_its_last_line(
    toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this environment, where the peer's package is not installed."""
    peer = peers.MECHANISMS["mldp-text mahalanobis"]
    monkeypatch.setattr(type(peer), "python", lambda self: Path(sys.executable))
    with pytest.raises(Unavailable, match=r"stopped .*No module named 'mldp_text'"):
        PeerProcess(replace(peer, fewest=2), toy, epsilon=5.0, lam=0.5)


@pytest.mark.skipif("INKBLUR_PEERS" not in os.environ, reason="pip would fetch hundreds of MB")
@pytest.mark.parametrize("name", peers.MECHANISMS)
def test_a_peer_in_its_own_environment_gives_words_of_the_table(name: str) -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 6))
    table = Embedding(
        [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)], vectors, name="t"
    )
    with PeerProcess(peers.MECHANISMS[name], table, epsilon=5.0, lam=0.5) as peer:
        answer = peer.replace(table.words[:2])
        assert set(answer["out"].split()) <= set(table.words)
        assert peer.turn(table.words[:2], time.process_time) >= 0
        assert peer.memory is not None


@pytest.mark.skipif(find_spec("faiss") is None, reason="faiss is not installed")
def test_faiss_finds_the_nearest_word(toy: Embedding) -> None:
    queries = speed.noisy(toy.vectors, 5.0, 100, np.random.default_rng(4))
    search = peers.faiss_flat(toy.vectors)
    assert search(queries).tolist() == exhaustive(toy.vectors, queries).tolist()


def test_memory_at_its_peak_is_seen() -> None:
    size, peak = peak_of(lambda: len(np.ones(30_000_000)))
    assert size == 30_000_000
    assert peak is None or 200e6 < peak < 400e6
