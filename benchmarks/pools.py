"""What does a whole text keep at a loss of epsilon, and what does an attacker learn of its author?

Private texts are released through a pool of other, public texts; a linear SVM that was fitted on
the pool reads the label from what was released. Labels: SMS spam and disaster tweets (macro F1),
20 Newsgroups without headers, footers and quotes (accuracy). Authors: half of C50's are the
pool, the other half are attacked by an SVM that has studied their training texts, true or released.
Meaning: cosines of means of GloVe vectors, which have no part in the release, beside those of
random pairs and of the nearest text of the pool. Three runs with other keys each. Needs the folder
that INKBLUR_DATA names, and minutes:

    python benchmarks/pools.py [sms|tweets|newsgroups|authors]...
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score, f1_score
from sklearn.svm import LinearSVC

import inkblur
from inkblur.evaluation import LinearSvm
from inkblur.pools import Pool, PoolStaircase
from reproduction.corpora import data_folder, disaster_tweets, newsgroups, reuters_c50, sms_spam
from reproduction.newsgroups import bare

SEEDS = (1, 2, 3)
PoolTexts = Sequence[str]
TextsByAuthor = tuple[PoolTexts, NDArray[Any]]
Settings = Sequence[tuple[float, float]]  # share and epsilon


class Releases:
    """Stand-ins of the same texts in many settings: where the texts lie does not depend on them."""

    def __init__(self, pool: Pool, texts: PoolTexts) -> None:
        self._pool, self._table = pool, inkblur.load_embedding()
        self._encoded = self._mechanism(1.0, 0.1).encode(texts)

    def _mechanism(self, epsilon: float, tau: float) -> PoolStaircase:
        return PoolStaircase(self._pool, self._table, epsilon=epsilon, tau=tau)

    def places(self, epsilon: float, tau: float, seed: int) -> NDArray[np.int64]:
        """The place in the pool of each text's stand-in."""
        bits = inkblur.seeded_rng(seed).bits(len(self._encoded), 1)[:, 0]
        return self._mechanism(epsilon, tau).draw(self._encoded, bits)

    def drawn(self, epsilon: float, tau: float, seed: int) -> PoolTexts:
        """The stand-in of each text."""
        return [self._pool.texts[i] for i in self.places(epsilon, tau, seed).tolist()]

    def nearest_author(
        self, known: NDArray[Any], places: NDArray[np.int64], near: int
    ) -> NDArray[Any]:
        """Who has most known texts that have the released one among their `near` nearest; of
        equals, who has the nearest. The known texts are the first ones.
        """
        points = self._encoded.points[: len(known)].astype(np.float32)
        seen = points @ self._pool.points.astype(np.float32).T
        limits = -np.partition(-seen, near - 1, axis=1)[:, near - 1]
        shown = seen[:, places]
        names = np.unique(known)
        counted = [
            (shown >= limits[:, None])[known == name].sum(axis=0)
            + shown[known == name].mean(axis=0) / 2**25
            for name in names
        ]
        guessed: NDArray[Any] = names[np.argmax(counted, axis=0)]
        return guessed


def labels(name: str, parts: Any, settings: Settings, *, macro: bool) -> None:
    """Print the score for each share of a label near a text and each epsilon."""
    (public, public_labels), (texts, truth) = parts
    pool = inkblur.build_pool(public, inkblur.load_embedding(), labels=public_labels, name=name)
    names = [pool.label_names[i] for i in pool.labels]
    read_label = label_reader(list(pool.texts), names, by_heart=True)
    counts = Counter(truth)
    alike = [1 / counts[label] for label in truth]

    def score(said: PoolTexts, weights: Sequence[float] | None = None) -> float:
        if not macro:
            return float(accuracy_score(truth, said, sample_weight=weights))
        return float(f1_score(truth, said, average="macro", sample_weight=weights))

    print(
        f"\n{name}: {len(pool):,} in the pool, {len(texts):,} private texts; public classifier "
        f"{pool.accuracy:.3f} cross-fitted",
        flush=True,
    )
    plain = label_reader(public, public_labels)(texts)
    untouched = score(plain)
    print(
        f"untouched {untouched:.3f}, all labels weighing alike {score(plain, alike):.3f}",
        flush=True,
    )
    count, releases = len(pool.label_names), Releases(pool, texts)
    for share, epsilon in settings:
        runs = [releases.drawn(epsilon, share / count, seed) for seed in SEEDS]
        read = [read_label(shown) for shown in runs]
        found = [score(said) for said in read]
        even = float(np.mean([score(said, alike) for said in read]))
        same = np.mean([meaning(texts, shown) for shown in runs])
        mean = float(np.mean(found))
        print(
            f"share {share:g} epsilon {epsilon:g}: {mean:.3f} ({min(found):.3f} to "
            f"{max(found):.3f}), {mean / untouched:.1%} of untouched; labels alike "
            f"{even:.3f}; cosine {same:.3f}",
            flush=True,
        )
    chance = np.random.default_rng(0).permutation(len(texts))
    print(
        f"cosine of random pairs {meaning(texts, [texts[i] for i in chance]):.3f}, of the nearest "
        f"in the pool {nearest(texts, list(pool.texts)):.3f}"
    )


def label_reader(
    texts: PoolTexts, names: Sequence[str], *, by_heart: bool = False
) -> Callable[[PoolTexts], list[str]]:
    """Tells labels of texts, having studied these. `by_heart` is for what was released, always
    texts of the pool: the classifier is fitted until it knows them.
    """
    terms = TfidfVectorizer(sublinear_tf=True, min_df=1 + (not by_heart), ngram_range=(1, 2))
    strictness = 20.0 if by_heart else 0.5
    model = LinearSVC(C=strictness).fit(terms.fit_transform(texts), names)
    return lambda asked: list(model.predict(terms.transform(asked)))


@cache
def _glove() -> tuple[dict[str, int], NDArray[np.float32]]:
    folder = data_folder() / "vectors"
    words = (folder / "glove-6b-300d.vocab.txt").read_text("utf-8").split("\n")
    vectors = np.load(folder / "glove-6b-300d.npy", mmap_mode="r")
    return {word: row for row, word in enumerate(words)}, vectors


def means(texts: PoolTexts) -> NDArray[np.float32]:
    """Directions of the means of GloVe vectors, stop words and all."""
    rows, vectors = _glove()
    out = np.zeros((len(texts), 300), dtype=np.float32)
    for place, text in enumerate(texts):
        ids = [rows[w] for w in re.findall(r"[a-z]+", text.lower()) if w in rows]
        if ids:
            out[place] = vectors[ids].mean(axis=0)
    out -= out.mean(axis=0)
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
    return out


def meaning(left: PoolTexts, right: PoolTexts) -> float:
    """The mean cosine of pairs, what all texts have in common taken away."""
    both = means([*left, *right])
    return float((both[: len(left)] * both[len(left) :]).sum(axis=1).mean())


def nearest(texts: PoolTexts, pool: PoolTexts) -> float:
    """The mean cosine of a text and its nearest in the pool."""
    both = means([*texts, *pool])
    rows, others = both[: len(texts)], both[len(texts) :].T
    blocks = range(0, len(rows), 512)
    return float(np.concatenate([(rows[s : s + 512] @ others).max(axis=1) for s in blocks]).mean())


def of(part: Any, who: NDArray[Any]) -> TextsByAuthor:
    """The texts of these authors."""
    rows = np.flatnonzero(np.isin(part.authors, who))
    return [part.texts[row] for row in rows.tolist()], part.authors[rows]


def authors(epsilons: Sequence[float]) -> None:
    """How often an attacker names the author of a released text: half of C50's authors are the
    pool, without labels, the other half are attacked.

    How many texts are near one is what the pool chooses, for a `keep_meaning` of 1, 0.75 and 0.5,
    the default. The attackers: linear SVMs that have studied the authors' true texts, or released
    ones; and one who knows the channel, and counts which author has most known texts that the
    released one is near to.
    """
    split, name = reuters_c50(), "half of C50"
    numbers = np.unique(np.asarray(split.train.authors))
    public = [*of(split.train, numbers[::2])[0], *of(split.test, numbers[::2])[0]]
    train, test = of(split.train, numbers[1::2]), of(split.test, numbers[1::2])
    table = inkblur.load_embedding()
    pool = inkblur.build_pool(public, table, name=name)
    count = len(np.unique(train[1]))
    print(
        f"\nauthors, pool {name}: {len(pool):,} in the pool, {count} authors attacked "
        f"({len(train[0]):,} known texts, {len(test[0]):,} released)",
        flush=True,
    )
    plain = LinearSvm(seed=1).fit(*train)
    print(f"untouched {np.mean(plain.predict(test[0]) == test[1]):.3f}", flush=True)
    releases = Releases(pool, [*train[0], *test[0]])
    for epsilon in epsilons:
        for keep in (1.0, 0.75, 0.5):
            chosen = PoolStaircase(pool, table, epsilon=epsilon, keep_meaning=keep)
            near = round(chosen.tau * len(pool))
            found: dict[str, list[float]] = {}
            same: list[float] = []
            for seed in SEEDS:
                places = releases.places(epsilon, near / len(pool), seed)
                shown = [pool.texts[place] for place in places.tolist()]
                known, unknown = shown[: len(train[0])], shown[len(train[0]) :]
                said = {
                    "svm, studied released": LinearSvm(seed=seed).fit(known, train[1]),
                    "svm, studied true": plain,
                }
                for name, attack in said.items():
                    rate = float(np.mean(attack.predict(unknown) == test[1]))
                    found.setdefault(name, []).append(rate)
                guessed = releases.nearest_author(train[1], places[len(train[0]) :], near)
                found.setdefault("channel", []).append(float(np.mean(guessed == test[1])))
                same.append(meaning(test[0], unknown))
            told = ", ".join(f"{name} {np.mean(rates):.3f}" for name, rates in found.items())
            strongest = max(float(np.mean(rates)) for rates in found.values())
            print(
                f"epsilon {epsilon:g}, keep_meaning {keep:g}, {near} near: strongest "
                f"{strongest:.3f}; {told}; cosine {np.mean(same):.3f}",
                flush=True,
            )
    chance = np.random.default_rng(0).permutation(len(test[0]))
    print(f"cosine of random pairs {meaning(test[0], [test[0][i] for i in chance]):.3f}")


def halves(corpus: Any, share: float) -> tuple[Any, Any]:
    """A public part and a private one, by chance."""
    rows = np.random.default_rng(0).permutation(len(corpus.texts))
    cut = int(share * len(rows))
    parts = [
        ([corpus.texts[r] for r in part], [corpus.labels[r] for r in part])
        for part in (rows[:cut], rows[cut:])
    ]
    return parts[0], parts[1]


def main(chosen: Sequence[str]) -> None:
    """Print the tables that were asked for, or all."""
    if not chosen or "sms" in chosen:
        labels("sms", halves(sms_spam(), 0.7), [(1, 2), (1, 3), (1, 4)], macro=True)
    if not chosen or "tweets" in chosen:
        labels("tweets", halves(disaster_tweets(), 0.7), [(1, 1), (1, 2), (1, 3)], macro=True)
    if not chosen or "newsgroups" in chosen:
        split = newsgroups()
        parts = [(part.texts, part.labels) for part in (bare(split.train), bare(split.test))]
        labels("newsgroups", parts, [(1, 4), (1, 5), (1, 6), (1 / 3, 6), (0.3, 6)], macro=False)
    if not chosen or "authors" in chosen:
        authors((4, 6))


if __name__ == "__main__":
    main(sys.argv[1:])
