"""How often words survive, and how many others replace them (Mahalanobis paper, section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import JoinedRows, Rng
from inkblur.types import NULL_ID, Ids, counted, whole

RUNS = 100  # the paper's number of runs per word
_DRAWS_AT_A_TIME = 1 << 16  # ids held at a time: words x runs x dimension would not fit

WordSample = int | Sequence[str] | None  # how many to sample, which, or (None) the whole vocabulary


@dataclass(frozen=True, slots=True)
class WordStatistic:
    """A statistic over words: its mean, spread and the percentiles that the paper draws."""

    count: int  # words
    mean: float
    sd: float  # over these words, dividing by `count`
    p5: float
    p50: float
    p95: float

    @classmethod
    def of(cls, values: Sequence[int]) -> WordStatistic:
        """Summarize one number per word."""
        array = np.asarray(values, dtype=np.float64)
        figures = (array.mean(), array.std(), *np.percentile(array, [5, 50, 95]))
        return cls(len(array), *map(float, figures))

    @property
    def standard_error(self) -> float:
        """Of the mean, for words drawn evenly from a large vocabulary; runs are included."""
        return self.sd / math.sqrt(self.count)


@dataclass(frozen=True, slots=True)
class PrivacyStatistics:
    """N_w and S_w of one mechanism, word by word.

    N_w, `survived`: how many of `runs` independent runs gave the word itself. S_w, `distinct`: how
    many different words came out, itself included (so the paper's Table 2 tends to 1, not 0).
    """

    mechanism: str
    parameters: Mapping[str, float | str]
    embedding: str
    sha256: str  # of the embedding
    vocabulary: int  # words that can come out
    dimension: int
    runs: int
    seeded: bool
    words: tuple[str, ...]  # the words measured
    survived: tuple[int, ...]  # N_w, in 0..runs
    distinct: tuple[int, ...]  # S_w, in 1..runs

    @property
    def epsilon(self) -> float:
        """The mechanism's epsilon."""
        return float(self.parameters["epsilon"])

    @property
    def lam(self) -> float | None:
        """The mechanism's lambda, where it has one."""
        return float(self.parameters["lam"]) if "lam" in self.parameters else None

    @property
    def survival(self) -> WordStatistic:
        """N_w summarized over the words."""
        return WordStatistic.of(self.survived)

    @property
    def variety(self) -> WordStatistic:
        """S_w summarized over the words."""
        return WordStatistic.of(self.distinct)

    def to_json(self) -> dict[str, Any]:
        """A JSON object, without the numbers of each word."""
        return {
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "embedding": {
                "name": self.embedding,
                "words": self.vocabulary,
                "dimension": self.dimension,
                "sha256": self.sha256,
            },
            "words": len(self.words),
            "runs": self.runs,
            "seeded": self.seeded,
            "N_w": {**asdict(self.survival), "standard_error": self.survival.standard_error},
            "S_w": {**asdict(self.variety), "standard_error": self.variety.standard_error},
        }


def privacy_statistics(
    mechanism: WordMechanism,
    *,
    rng: Rng,
    words: WordSample = None,
    runs: int = RUNS,
    on_draws: Callable[[int], None] = lambda draws: None,  # called with the draws just made
) -> PrivacyStatistics:
    """N_w and S_w for all words of the vocabulary, a sample of this size, or the words given.

    Each word and setting draws from its own stream of `rng`, so a word's numbers are the same in
    every sample that holds it, and different words and settings are independent.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> mech = inkblur.make_mechanism("laplace", table, epsilon=50.0)
    >>> privacy_statistics(mech, rng=inkblur.seeded_rng(1), runs=10).survived
    (10, 10)
    """
    runs = whole(runs, "runs")
    embedding = mechanism.embedding
    ids = measured_ids(embedding, words, rng)
    survived: list[int] = []
    distinct: list[int] = []
    step = max(1, _DRAWS_AT_A_TIME // runs)
    for start in range(0, len(ids), step):
        block = ids[start : start + step]
        names = [embedding.words[i] for i in block.tolist()]
        streams = [rng.child("statistics", mechanism.spec, name) for name in names]
        supply = JoinedRows(streams, [runs] * len(block))
        out = np.sort(mechanism.replace(np.repeat(block, runs), supply).reshape(-1, runs), axis=1)
        survived += (out == block[:, None]).sum(axis=1).tolist()
        distinct += (1 + (out[:, 1:] != out[:, :-1]).sum(axis=1)).tolist()
        on_draws(out.size)
    return PrivacyStatistics(
        mechanism=mechanism.name,
        parameters=dict(mechanism.parameters),
        embedding=embedding.name,
        sha256=embedding.sha256,
        vocabulary=len(embedding),
        dimension=embedding.dimension,
        runs=runs,
        seeded=rng.seeded,
        words=tuple(embedding.words[i] for i in ids.tolist()),
        survived=tuple(survived),
        distinct=tuple(distinct),
    )


def measured_ids(embedding: Embedding, words: WordSample, rng: Rng) -> Ids:
    """The ids to measure: all, an even sample without repeats, or those of the words given."""
    if words is None:
        return np.arange(len(embedding), dtype=np.int64)
    if isinstance(words, int):
        count = whole(words, "words")
        if count > len(embedding):
            raise ParameterError(
                f"{count:,} words cannot be sampled from the {len(embedding):,} of "
                f"{embedding.name}; ask for fewer, or for all of them"
            )
        return np.sort(rng.child("statistics sample").permutation(len(embedding))[:count])
    if isinstance(words, str) or not len(words):
        raise ParameterError("`words=` takes a list of words; None is the whole vocabulary")
    ids = embedding.ids(words)
    unknown = [word for word, id in zip(words, ids.tolist(), strict=True) if id == NULL_ID]
    if unknown:
        raise ParameterError(
            f"{counted(len(unknown), 'word is', 'words are')} not in {embedding.name}, such as "
            f"{unknown[0]!r}"
        )
    return ids
