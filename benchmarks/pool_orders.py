"""Which order of a pool's texts keeps most, and does choosing a cluster first help?

    python benchmarks/pool_orders.py [sms|tweets|newsgroups]...

Texts of the pool play private ones, each left out, with the label and the label scores that a
classifier gives which was not fitted on it. Exact expectations, no draws:

    label first   texts of the given label, the nearest first; q balanced over labels
    joined        nearest in [meaning; weight x label scores]; q uniform, or balanced
    clusters      one of K clusters first, at a part of epsilon; then within it, at the rest, the
                  nearest share of its texts

Each is given its best setting for every epsilon and `keep_meaning`, by what the pool's own choice
maximizes: (1 - k) label / best label + k meaning gained / best meaning gained, "best" being that of
label first. A JSON line a result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_predict
from sklearn.svm import LinearSVC

import inkblur
from benchmarks.pools import halves
from reproduction.corpora import disaster_tweets, newsgroups, sms_spam
from reproduction.newsgroups import bare

EPSILONS = (1, 2, 4, 6, 8)
KEEP_MEANING = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
WEIGHTS = (0.3, 1.0, 3.0)  # of label scores beside meaning
CLUSTERS = (20, 100)
SPLITS = (0.25, 0.5, 0.75)  # of epsilon that the cluster gets
SAMPLE = 300
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """What a setting keeps, expected."""

    label: float  # probability that the label is right
    meaning: float  # mean cosine
    setting: str


class Orders:
    """A pool, and texts of it that play private ones."""

    def __init__(self, name: str, texts: Any, labels: Any) -> None:
        self.pool = inkblur.build_pool(texts, inkblur.load_embedding(), labels=labels, name=name)
        pool = self.pool
        self.labels = pool.labels
        count = len(pool.label_names)
        self.balanced: Floats = 1.0 / count / np.bincount(self.labels)[self.labels]
        self.uniform: Floats = np.full(len(pool), 1.0 / len(pool))
        points = pool.points.astype(np.float64)
        self.points = points / np.linalg.norm(points, axis=1, keepdims=True)
        words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(list(pool.texts))
        scores = cross_val_predict(
            LinearSVC(C=0.3), words, self.labels, cv=5, method="decision_function"
        )
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
        self.scores = scores / np.linalg.norm(scores, axis=1, keepdims=True)
        self.rows = np.unique(np.linspace(0, len(pool) - 1, SAMPLE).astype(int))
        self.near = self.points[self.rows] @ self.points.T
        self.near_scores = self.scores[self.rows] @ self.scores.T
        self.right = (self.labels[self.rows, None] == self.labels).astype(np.float64)
        alike = np.zeros(count)
        np.add.at(alike, self.labels[self.rows], 1.0)
        self.weight = 1.0 / alike[self.labels[self.rows]] / count  # labels weigh alike

    def ranked(self, keys: Floats, q: Floats, epsilon: float, name: str) -> Iterator[Kept]:
        """One staircase: the texts with the largest keys are near, up to each share of the mass."""
        lift = np.exp(epsilon) - 1
        sums = {share: np.zeros(2) for share in SHARES if share < 1 or name == "label first"}
        for place, row in enumerate(self.rows.tolist()):
            order = np.argsort(-keys[place], kind="stable")
            order = order[order != row]
            mass = np.cumsum(q[order])
            whole = mass[-1]
            gains = np.stack([self.right[place, order], self.near[place, order]]) * q[order]
            reached = np.cumsum(gains, axis=1)
            for share in sums:
                top = whole * share / (self.pool_labels if name == "label first" else 1)
                at = min(int(np.searchsorted(mass, top)), len(mass) - 1)
                total = whole + lift * mass[at]
                sums[share] += self.weight[place] * (reached[:, -1] + lift * reached[:, at]) / total
        for share, (label, same) in sums.items():
            yield Kept(float(label), float(same), f"{name}, share {share:g}")

    @property
    def pool_labels(self) -> int:
        """How many."""
        return len(self.pool.label_names)

    def label_first(self, epsilon: float) -> Iterator[Kept]:
        """As the product has it."""
        own = self.pool.given[self.rows, None] == self.labels
        yield from self.ranked(self.near + 10 * own, self.balanced, epsilon, "label first")

    def joined(self, epsilon: float) -> Iterator[Kept]:
        """Meaning and label scores in one distance."""
        for weight in WEIGHTS:
            keys = self.near + weight * self.near_scores
            for name, q in (("uniform", self.uniform), ("balanced", self.balanced)):
                yield from self.ranked(keys, q, epsilon, f"joined, weight {weight:g}, {name} q")

    def clusters(self, epsilon: float) -> Iterator[Kept]:
        """A cluster at one part of epsilon, a text in it at the other."""
        for count in CLUSTERS:
            found = KMeans(count, n_init=1, random_state=0).fit(self.points)
            for split in SPLITS:
                yield from self._in_clusters(found, epsilon * split, epsilon * (1 - split))

    def _in_clusters(self, found: Any, first: float, second: float) -> Iterator[Kept]:
        count = found.n_clusters
        own = np.argmax(self.points[self.rows] @ found.cluster_centers_.T, axis=1)
        lift = np.exp(second) - 1
        for share in (0.02, 0.1, 0.3):
            total = np.zeros(2)
            for cluster in range(count):
                inside = np.flatnonzero(found.labels_ == cluster)
                near = max(1, round(share * len(inside)))
                for place in range(len(self.rows)):
                    chance = np.where(own[place] == cluster, np.exp(first), 1.0)
                    chance /= np.exp(first) + count - 1
                    order = inside[np.argsort(-self.near[place, inside])]
                    both = np.stack([self.right[place, order], self.near[place, order]])
                    kept = both.sum(axis=1) + lift * both[:, :near].sum(axis=1)
                    total += self.weight[place] * chance * kept / (len(inside) + lift * near)
            part = first / (first + second)
            name = f"{count} clusters at {part:g} of epsilon, share {share:g}"
            yield Kept(float(total[0]), float(total[1]), name)


def some(corpus: Any, count: int) -> tuple[list[str], list[str]]:
    """So many texts by chance, and their labels."""
    rows = np.random.default_rng(0).permutation(len(corpus.texts))[:count]
    return [corpus.texts[r] for r in rows], [corpus.labels[r] for r in rows]


def worth(each: Kept, *, keep: float, label: float, nothing: float, gain: float) -> float:
    """What the pool's own choice maximizes."""
    return (1 - keep) * each.label / label + keep * (each.meaning - nothing) / gain


def compare(name: str, texts: Any, labels: Any) -> None:
    """Print the best of each order for every epsilon and keep_meaning."""
    orders = Orders(name, texts, labels)
    nothing = float((orders.near @ orders.balanced).mean())
    for epsilon in EPSILONS:
        tried = {
            "label first": list(orders.label_first(epsilon)),
            "joined": list(orders.joined(epsilon)),
            "clusters": list(orders.clusters(epsilon)),
        }
        label = max(each.label for each in tried["label first"])
        gain = max(each.meaning - nothing for each in tried["label first"])
        for keep in KEEP_MEANING:
            value = partial(worth, keep=keep, label=label, nothing=nothing, gain=gain)
            best = {kind: max(found, key=value) for kind, found in tried.items()}
            wins = max(best, key=lambda kind: value(best[kind]))
            shown = {
                kind: [round(value(each), 3), round(each.label, 3), round(each.meaning, 3),
                       each.setting]
                for kind, each in best.items()
            }  # fmt: skip
            print(
                json.dumps({"pool": name, "epsilon": epsilon, "keep": keep, "wins": wins, **shown}),
                flush=True,
            )


def main(chosen: list[str]) -> None:
    """Compare on the pools that were named, or on all."""
    if not chosen or "sms" in chosen:
        compare("sms", *halves(sms_spam(), 0.7)[0])
    if not chosen or "tweets" in chosen:
        compare("tweets", *halves(disaster_tweets(), 0.7)[0])
    if not chosen or "newsgroups" in chosen:
        compare("newsgroups", *some(bare(newsgroups().train), 3000))


if __name__ == "__main__":
    main(sys.argv[1:])
