"""N_w and S_w: counted right, streamed, the same in every sample, and near the known figures."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import inkblur
from inkblur.errors import ParameterError
from inkblur.evaluation.measures import statistics
from inkblur.evaluation.measures.statistics import privacy_statistics
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import Rows, seeded_rng
from inkblur.spec import grid
from inkblur.types import Ids


def toy(words: int = 40, dimension: int = 3) -> inkblur.Embedding:
    points = np.random.default_rng(2).normal(size=(words, dimension))
    return inkblur.Embedding([f"w{i}" for i in range(words)], points, name="toy")


class Scripted(WordMechanism):
    """Word i goes to itself in the runs that i divides, and else to word (run mod 3)."""

    name = "scripted"

    def __init__(self, embedding: inkblur.Embedding) -> None:
        super().__init__(embedding)
        self.guarantee = Laplace(embedding, epsilon=1.0).guarantee

    @property
    def parameters(self) -> dict[str, float | str]:
        return {"epsilon": 1.0}

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        rng.rows(len(ids), 1)
        run = np.arange(len(ids)) % 12
        return np.where(run % np.maximum(ids, 1) == 0, ids, run % 3)


def test_survivals_and_distinct_outputs_are_counted_by_hand() -> None:
    result = privacy_statistics(Scripted(toy(6)), rng=seeded_rng(1), runs=12)
    for word in range(6):
        outs = [word if run % max(word, 1) == 0 else run % 3 for run in range(12)]
        assert result.survived[word] == outs.count(word)
        assert result.distinct[word] == len(set(outs))


def test_a_words_numbers_do_not_depend_on_the_sample_or_the_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = Laplace(toy(), epsilon=2.0)
    everything = privacy_statistics(mechanism, rng=seeded_rng(3), runs=30)
    monkeypatch.setattr(statistics, "_DRAWS_AT_A_TIME", 70)
    sampled = privacy_statistics(mechanism, rng=seeded_rng(3), runs=30, words=11)
    assert len(set(sampled.words)) == 11
    table = dict(zip(everything.words, everything.survived, strict=True))
    assert [table[word] for word in sampled.words] == list(sampled.survived)
    variety = dict(zip(everything.words, everything.distinct, strict=True))
    assert [variety[word] for word in sampled.words] == list(sampled.distinct)


def test_words_and_settings_have_independent_streams() -> None:
    table = inkblur.Embedding(["a", "b", "c", "d"], [[0.0], [0.9], [1.8], [2.7]], name="even")
    found = [
        privacy_statistics(spec.mechanism_on(table), rng=seeded_rng(1), runs=500)
        for spec in grid("laplace", {"epsilon": [1.0, 1.0 + 1e-9]})
    ]
    assert found[0].survived != found[1].survived  # one stream for both would make them equal
    assert found[0].survived[1] != found[0].survived[2]  # equal laws, by symmetry


def test_survival_on_a_line_is_the_laplace_probability() -> None:
    table = inkblur.Embedding([f"w{i}" for i in range(9)], np.arange(9.0)[:, None], name="line")
    result = privacy_statistics(
        Laplace(table, epsilon=2.0), rng=seeded_rng(4), words=["w4"], runs=20_000
    )
    expected = 1 - math.exp(-2.0 * 0.5)
    assert result.survived[0] / 20_000 == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))
    assert result.distinct == (9,)


def test_the_grid_goes_lambda_by_lambda_and_says_its_sizes() -> None:
    seen: list[int] = []
    found = [
        privacy_statistics(
            spec.mechanism_on(toy()), rng=seeded_rng(1), words=5, runs=7, on_draws=seen.append
        )
        for spec in grid("mahalanobis", {"lam": [0.0, 1.0], "epsilon": [1.0, 4.0]})
    ]
    assert [(r.lam, r.epsilon) for r in found] == [(0.0, 1.0), (0.0, 4.0), (1.0, 1.0), (1.0, 4.0)]
    assert len({r.words for r in found}) == 1
    assert sum(seen) == 4 * 5 * 7
    body = json.loads(json.dumps(found[3].to_json()))
    assert (body["words"], body["runs"], body["embedding"]["words"]) == (5, 7, 40)
    assert body["N_w"]["mean"] == found[3].survival.mean
    assert body["S_w"]["mean"] == found[3].variety.mean


def test_bad_requests_are_refused() -> None:
    mechanism = Laplace(toy(), epsilon=1.0)
    rng = seeded_rng(1)
    with pytest.raises(ParameterError, match="runs must be"):
        privacy_statistics(mechanism, rng=rng, runs=0)
    with pytest.raises(ParameterError, match="41 words cannot be sampled from the 40"):
        privacy_statistics(mechanism, rng=rng, words=41)
    with pytest.raises(ParameterError, match="words must be"):
        privacy_statistics(mechanism, rng=rng, words=0)
    with pytest.raises(ParameterError, match="'nope'"):
        privacy_statistics(mechanism, rng=rng, words=["w1", "nope"])
    with pytest.raises(ParameterError, match="list of words"):
        privacy_statistics(mechanism, rng=rng, words=[])
    with pytest.raises(ParameterError, match="list of words"):
        privacy_statistics(mechanism, rng=rng, words="w1")
