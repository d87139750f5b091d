"""`python -m benchmarks`: who takes part, and that the answers are exact. Nothing is timed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import __main__ as speed
from benchmarks.peak_memory import peak_of
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.nearest.canonical import Float64s, exhaustive
from inkblur.types import Ids


def test_every_search_finds_the_nearest_word(toy: Embedding) -> None:
    queries = speed.noisy(toy.vectors, 5.0, 300, np.random.default_rng(4))
    found = speed.searches(toy, "cpu", 1)
    assert list(found)[:2] == [speed.BASELINE, speed.ENGINE]
    for search in found.values():
        assert speed.agreement(toy.vectors, search, queries) == 1.0


def test_a_wrong_search_is_caught(toy: Embedding) -> None:
    def wrong(points: Float64s) -> Ids:
        ids = exhaustive(toy.vectors, points)
        ids[::4] = (ids[::4] + 1) % len(toy)
        return ids

    queries = speed.noisy(toy.vectors, 5.0, 400, np.random.default_rng(3))
    assert speed.agreement(toy.vectors, wrong, queries) == 0.75


def test_the_warm_up_is_not_counted_and_turns_alternate() -> None:
    order: list[str] = []

    def search(name: str) -> speed.NearestSearch:
        return lambda queries: order.append(name) or np.zeros(1, np.int64)  # type: ignore[func-returns-value]

    found = {name: search(name) for name in "ab"}
    seconds = speed.seconds_of(found, np.zeros((1, 1)), 2, iter(map(float, range(99))).__next__)
    assert {name: len(turns) for name, turns in seconds.items()} == {"a": 2, "b": 2}
    assert order == ["a", "b"] * 3


@pytest.mark.parametrize("words", [2, 60, 700])
def test_a_table_grows_and_shrinks(toy: Embedding, words: int) -> None:
    table = speed.grown(toy, words)
    assert len(table) == len(set(table.words)) == words
    kept = min(words, len(toy))
    assert table.words[:kept] == toy.words[:kept]
    assert (table.vectors[:kept] == toy.vectors[:kept]).all()


def test_the_command_prints_a_line_for_each_contender(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--batch", "16", "--check", "20", "--repeat", "1", "--device", "cpu"]
    speed.main([*few, "--words", "50", "--words", "80"])
    printed = capsys.readouterr().out
    for words in (50, 80):
        assert f"{words} words, {speed.ENGINE}: " in printed
    assert printed.count("100.000% exact") >= 4


def test_memory_at_its_peak_is_seen() -> None:
    size, peak = peak_of(lambda: len(np.ones(30_000_000)))
    assert size == 30_000_000
    assert peak is None or 200e6 < peak < 400e6
