"""Forms of the staircase that are compared: weights of all words, and a base distribution q.

Every form has loss epsilon between any two words: weights differ by at most e^epsilon, and the sum
of q times weight is the same for every word (where it is not, the upper step is lowered).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inkblur import Embedding, ReleaseSpec, seeded_rng
from inkblur.evaluation import NULL_ID, Array, Ids, channel_of
from reproduction.staircase.collections import SEED

_BLOCK = 256  # words whose probabilities are held at a time
OTHERS = {
    "mahalanobis": (4.0, 5.5, 7.0, 9.0),
    "laplace": (4.0, 5.5, 7.0, 9.0),
    "exponential": (9.0, 12.0, 15.0, 18.0),
}
BaseOverWords = Callable[["Words30k"], Array]  # q
Weights = Callable[["Words30k", Ids], Array]  # weights of all words for these ids, (ids, words)


@dataclass(frozen=True, slots=True)
class StaircaseForm:
    """A form of the staircase: `base` is q, `weights` what q is multiplied with."""

    family: str
    detail: str
    epsilon: float
    weights: Weights
    base: BaseOverWords

    @property
    def name(self) -> str:
        """Names the setting in tables and in the file."""
        return f"{self.family}: {self.detail}, epsilon {self.epsilon:g}"

    def drawn(self, words: Words30k, ids: Ids, shares: Array) -> tuple[Ids, Array]:
        """A draw for each id; and what comes out where words come in with these shares."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        q, size = self.base(words), len(words.table)
        out = np.empty(len(ids), np.int64)
        order = np.argsort(ids, kind="stable")
        in_order = ids[order]
        nulls = order[: np.searchsorted(in_order, 0)]
        out[nulls] = np.searchsorted(np.cumsum(q), rng.random(len(nulls))).clip(0, size - 1)
        outcomes = np.outer(shares[:, size], q)  # the null word draws from q
        for block in _blocks(ids, shares):
            chances = self.weights(words, block) * q
            chances /= chances.sum(axis=1, keepdims=True)
            outcomes += shares[:, block] @ chances
            ends = np.cumsum(chances, axis=1)
            for row, word in enumerate(block.tolist()):
                first, last = np.searchsorted(in_order, [word, word + 1])
                draws = rng.random(last - first) * ends[row, -1]
                out[order[first:last]] = np.searchsorted(ends[row], draws).clip(0, size - 1)
        return out, outcomes


@dataclass(frozen=True, slots=True)
class Other:
    """Another mechanism on the same table."""

    spec: ReleaseSpec

    @property
    def family(self) -> str:
        """The mechanism."""
        return self.spec.mechanism

    @property
    def detail(self) -> str:
        """Its parameters."""
        return self.spec.family

    @property
    def epsilon(self) -> float:
        """By unit of its own distance."""
        return self.spec.known_epsilon

    @property
    def name(self) -> str:
        """Names the setting in tables and in the file."""
        return self.spec.name

    def drawn(self, words: Words30k, ids: Ids, shares: Array) -> tuple[Ids, Array]:
        """As above; the channel of vector noise is estimated."""
        mechanism = self.spec.mechanism_on(words.table)
        out = mechanism.replace(ids, seeded_rng(SEED).child(self.name))
        channel = channel_of(mechanism, seeded_rng(SEED).child("channel", self.name))
        everything = np.arange(len(words.table))
        null = channel.likelihood(np.array([NULL_ID]), everything)[0]
        outcomes = np.outer(shares[:, len(words.table)], null)
        for block in _blocks(ids, shares):
            outcomes += shares[:, block] @ channel.likelihood(block, everything)
        return out, outcomes


@dataclass(slots=True)
class Words30k:
    """The table, its label profiles, and the texts as ids."""

    table: Embedding  # adapted
    learned: Embedding  # the same words with counts that favor those which say little of topics
    plain: int  # dimensions of the word vectors; the others are the profile
    known: list[Ids]
    known_authors: Ids
    attacked: list[Ids]
    authors: Ids
    taught: list[Ids]
    taught_labels: list[str]
    asked: list[Ids]
    labels: list[str]
    models: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)  # worked out once a process

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made when first asked for."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def odds(self) -> Array:
        """How much likelier each topic is where a word stands, logarithms, (words, topics)."""
        names = sorted(set(self.taught_labels))
        seen = np.zeros((len(self.table), len(names)))
        for text, label in zip(self.taught, self.taught_labels, strict=True):
            seen[np.unique(text[text != NULL_ID]), names.index(label)] += 1
        prior = seen.sum(axis=0) / seen.sum()
        smoothed = (seen + 10 * prior) / (seen.sum(axis=1, keepdims=True) + 10)
        return np.asarray(np.log(smoothed / prior))

    @property
    def profiles(self) -> Array:
        """What each word says of topics, (words, topics - 1)."""
        return np.asarray(self.table.vectors[:, self.plain :], np.float64)

    def scaled(self, alpha: float) -> tuple[Any, Any]:
        """Vectors with the word's own part times alpha, and their squares."""

        def make() -> tuple[Any, Any]:
            points = self.table.vectors.copy()
            points[:, : self.plain] *= alpha
            return points, (points**2).sum(axis=1)

        made: tuple[Any, Any] = self.once(f"scaled {alpha}", make)
        return made

    def whitened(self) -> tuple[Any, Any]:
        """Vectors in which Mahalanobis distance (lambda 0.5) is Euclidean, and their squares."""

        def make() -> tuple[Any, Any]:
            points = self.table.vectors.astype(np.float64)
            spread = np.cov(points.T)
            spread *= len(spread) / np.trace(spread)
            values, axes = np.linalg.eigh(0.5 * spread + 0.5 * np.eye(len(spread)))
            turned = (points @ axes / np.sqrt(values)).astype(np.float32)
            return turned, (turned**2).sum(axis=1)

        made: tuple[Any, Any] = self.once("whitened", make)
        return made


def _distances(points: Any, squares: Any, ids: Ids) -> Any:
    found = squares[None] - 2.0 * points[ids] @ points.T
    found[np.arange(len(ids)), ids] = -np.inf  # the word itself first
    return found


def _nearest(points: Any, squares: Any, ids: Ids, count: int) -> Any:
    return np.argpartition(_distances(points, squares, ids), count, axis=1)[:, :count]


def uniform(words: Words30k) -> Array:
    """q alike for all words."""
    size = len(words.table)
    return np.full(size, 1.0 / size)


def by_frequency(power: float) -> BaseOverWords:
    """q by a power of public frequency."""

    def base(words: Words30k) -> Array:
        counts = np.asarray(words.table.counts, np.float64) ** power
        return np.asarray(counts / counts.sum())

    return base


def for_the_task(words: Words30k) -> Array:
    """q with mass moved to words that say little of topics."""
    counts = np.asarray(words.learned.counts, np.float64)
    return np.asarray(counts / counts.sum())


def two_steps(epsilon: float, near: int, alpha: float = 1.0, *, white: bool = False) -> Weights:
    """The mechanism as it is, q uniform: e^epsilon for the nearest words."""

    def weights(words: Words30k, ids: Ids) -> Array:
        found = np.ones((len(ids), len(words.table)))
        space = words.whitened() if white else words.scaled(alpha)
        np.put_along_axis(found, _nearest(*space, ids, near), math.exp(epsilon), axis=1)
        return found

    return weights


def by_mass(epsilon: float, tau: float, base: BaseOverWords) -> Weights:
    """e^epsilon for the nearest words until their mass under q is tau, the last one in part."""

    def weights(words: Words30k, ids: Ids) -> Array:
        q = words.once(f"q {base}", lambda: base(words))
        order = np.argsort(_distances(*words.scaled(1.0), ids), axis=1)
        mass = q[order]
        inside = np.clip((tau - np.cumsum(mass, axis=1) + mass) / mass, 0.0, 1.0)
        found: Array = np.empty_like(inside)
        np.put_along_axis(found, order, 1.0 + inside * (math.exp(epsilon) - 1.0), axis=1)
        return found

    return weights


def three_steps(epsilon: float, near: int, middle: int) -> Weights:
    """e^epsilon for the nearest, e^(epsilon / 2) for the next, 1 for the others."""

    def weights(words: Words30k, ids: Ids) -> Array:
        found = np.ones((len(ids), len(words.table)))
        distances = _distances(*words.scaled(1.0), ids)
        both = np.argpartition(distances, (near, near + middle), axis=1)
        np.put_along_axis(found, both[:, near : near + middle], math.exp(epsilon / 2), axis=1)
        np.put_along_axis(found, both[:, :near], math.exp(epsilon), axis=1)
        return found

    return weights


def by_word(epsilon: float, telling: int, others: int) -> Weights:
    """Fewer near words for words that say much of topics. The sums of weights differ then, and the
    upper step is lowered by the logarithm of their ratio, so that the loss stays epsilon.
    """

    def weights(words: Words30k, ids: Ids) -> Array:
        size = len(words.table)
        length: Array = np.linalg.norm(words.profiles, axis=1)
        many = np.where(length > np.median(length[length > 0]), telling, others)
        high = epsilon
        for _ in range(100):
            sums = [k * math.expm1(high) + size for k in (telling, others)]
            high = epsilon - math.log(max(sums) / min(sums))
        found = np.ones((len(ids), size))
        distances = _distances(*words.scaled(1.0), ids)
        for count in (telling, others):
            rows = np.flatnonzero(many[ids] == count)
            near = np.argpartition(distances[rows], count, axis=1)[:, :count]
            found[rows[:, None], near] = math.exp(high)
        return found

    return weights


def classes(count: int, neutral: float) -> Callable[[Words30k], tuple[Ids, Array]]:
    """An alphabet for each class of words: the class of each word, and q.

    `count` 0 takes the topic that a word speaks for most; else the profiles are clustered. Words
    that say least of topics form a class of mass `neutral`; the other classes share the rest.
    """

    def make(words: Words30k) -> tuple[Ids, Array]:
        length = np.linalg.norm(words.profiles, axis=1)
        quiet = length <= np.quantile(length, 0.5)
        number = np.zeros(len(length), np.int64)
        if count:
            from sklearn.cluster import MiniBatchKMeans

            model = MiniBatchKMeans(count, random_state=SEED, n_init=3, batch_size=4096)
            number[~quiet] = 1 + model.fit_predict(words.profiles[~quiet])
        else:
            number[~quiet] = 1 + words.odds()[~quiet].argmax(axis=1)
        q = np.zeros(len(length))
        present = np.unique(number[~quiet])
        for each in present.tolist():
            q[number == each] = (1.0 - neutral) / len(present) / (number == each).sum()
        q[quiet] = neutral / quiet.sum()
        return number, q

    def once(words: Words30k) -> tuple[Ids, Array]:
        made: tuple[Ids, Array] = words.once(f"classes {count} {neutral}", lambda: make(words))
        return made

    return once


def class_alphabets(epsilon: float, count: int, neutral: float) -> tuple[Weights, BaseOverWords]:
    """e^epsilon within the word's class, all of one mass; of the neutral class a part as large,
    the same for all of its words.
    """
    made = classes(count, neutral)

    def weights(words: Words30k, ids: Ids) -> Array:
        number, q = made(words)
        tau = float(q[number == number.max()].sum())
        inside = (number[ids][:, None] == number[None, :]).astype(np.float64)
        inside[number[ids] == 0] *= tau / neutral
        return np.asarray(1.0 + inside * math.expm1(epsilon))

    return weights, lambda words: made(words)[1]


def forms() -> list[StaircaseForm | Other]:
    """All settings, the long ones first."""
    found: list[StaircaseForm | Other] = []

    def add(
        family: str, detail: str, epsilon: float, weights: Weights, base: BaseOverWords = uniform
    ) -> None:
        found.append(StaircaseForm(family, detail, epsilon, weights, base))

    for mechanism, epsilons in OTHERS.items():
        found += [Other(ReleaseSpec(mechanism, epsilon)) for epsilon in epsilons]
    for epsilon in (6.8, 5.5, 4.0, 3.0, 2.0):
        for near in (400, 1_500, 5_000):
            add("two steps", f"{near} near words", epsilon, two_steps(epsilon, near))
        for count, neutral in ((0, 1 / 21), (0, 0.5), (60, 0.5), (200, 0.5)):
            weights, base = class_alphabets(epsilon, count, neutral)
            kind = f"{count or 20} classes, neutral {neutral:.2g}"
            add("class alphabets", kind, epsilon, weights, base)
    for epsilon in (6.8, 4.0, 2.0):
        for near, middle in ((100, 2_000), (400, 4_000)):
            steps = three_steps(epsilon, near, middle)
            add("three steps", f"{near} and {middle} words", epsilon, steps)
        add("k by word", "400 or 1500", epsilon, by_word(epsilon, 400, 1_500))
        add("k by word", "1500 or 400", epsilon, by_word(epsilon, 1_500, 400))
        add("Mahalanobis sets", "1500 near words", epsilon, two_steps(epsilon, 1_500, white=True))
        add("no word vectors", "alpha 0, 1500", epsilon, two_steps(epsilon, 1_500, 0.0))
        add("more of the word", "alpha x 3, 1500", epsilon, two_steps(epsilon, 1_500, 3.0))
        for name, base in (
            ("root of frequency", by_frequency(0.5)),
            ("for the task", for_the_task),
        ):
            add(f"q {name}", "tau 0.05", epsilon, by_mass(epsilon, 0.05, base), base)
    return found


def _blocks(drawn: Ids, shares: Array) -> Iterator[Ids]:
    """All words that are drawn for, or that somebody uses."""
    used = np.union1d(drawn[drawn != NULL_ID], np.flatnonzero(shares[:, :-1].any(axis=0)))
    for start in range(0, len(used), _BLOCK):
        yield used[start : start + _BLOCK]
