"""Do the defaults of pools hold on collections that had no part in choosing them?

    python -m benchmarks.pool_defaults FOLDER [mood|authors]

The protocol, written down before anything was measured. SMS, disaster tweets, 20 Newsgroups and C50
have been looked at more than once; these had no part:

- **mood**: tweets and sentences of product reviews, film reviews and editorials, with the mean of
  twenty people's ratings (Hutto and Gilbert, ICWSM 2014). FOLDER holds their `*_GroundTruth.txt`
  (the archive `hutto_ICWSM_2014.tar.gz` in the source package vaderSentiment 0.5 on PyPI). The
  label is the sign of the rating. 70 % by chance are the pool and the others private. All of a
  label near a text (`keep_meaning` 0) at epsilon 2 and 3, and the default at epsilon 4 and 6. The
  pool's own expectation of the label's accuracy must be within .03 of what is measured.
- **authors**: English novels (even numbers are the pool, odd ones are attacked), and the 20 authors
  of PAN 2018's problem 1 through a pool of all those novels. The default, `keep_meaning` 0.5, must
  keep at least two thirds of what `keep_meaning` 1 keeps of the meaning above random pairs, by
  GloVe, and the strongest attacker must name fewer authors.

Every setting is drawn three times under other keys and reported once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, f1_score

import inkblur
from benchmarks.pools import SEEDS, LabelReader, attacks, halves, meaning, nearest, of
from reproduction.corpora import Corpus, english_novels, pan18

COLLECTIONS = ("tweets", "amazonReviewSnippets", "movieReviewSnippets", "nytEditorialSnippets")
SETTINGS = ((2.0, 0.0), (3.0, 0.0), (4.0, None), (6.0, None))  # epsilon and keep_meaning


def moods(path: Path) -> Corpus:
    """Texts with the sign of their rating; those rated 0 are left out."""
    rows = [line.split("\t", 2) for line in path.read_text("utf-8", "replace").splitlines()]
    rated = [(float(row[1]), row[2]) for row in rows if len(row) == 3 and float(row[1]) != 0]
    labels = tuple("positive" if rating > 0 else "negative" for rating, _ in rated)
    return Corpus(path.stem, tuple(text for _, text in rated), labels=labels)


def mood(folder: Path) -> None:
    """Labels told from released texts, and what the pool expected."""
    table = inkblur.load_embedding()
    for name in COLLECTIONS:
        (public, public_labels), (texts, truth) = halves(
            moods(folder / f"{name}_GroundTruth.txt"), 0.7
        )
        pool = inkblur.build_pool(public, table, labels=public_labels, name=name)
        names = [pool.label_names[i] for i in pool.labels]
        reader = LabelReader(list(pool.texts), names, by_heart=True)
        plain = LabelReader(public, public_labels).read(texts)
        untouched = f1_score(truth, plain, average="macro")
        print(
            f"\n{name}: {len(pool):,} in the pool, {len(texts):,} private texts; public classifier "
            f"{pool.accuracy:.3f} cross-fitted; untouched macro F1 {untouched:.3f}, accuracy "
            f"{accuracy_score(truth, plain):.3f}",
            flush=True,
        )
        for epsilon, keep in SETTINGS:
            mechanism = inkblur.PoolStaircase(pool, table, epsilon=epsilon, keep_meaning=keep)
            encoded = mechanism.encode(texts)
            found: list[tuple[float, ...]] = []
            for seed in SEEDS:
                bits = inkblur.seeded_rng(seed).bits(len(texts), 1)[:, 0]
                places = mechanism.draw(encoded, bits).tolist()
                shown = [pool.texts[place] for place in places]
                said = reader.read(shown)
                found.append((
                    float(f1_score(truth, said, average="macro")),
                    float(accuracy_score(truth, [names[place] for place in places])),
                    meaning(texts, shown),
                ))  # fmt: skip
            macro, right, same = np.mean(found, axis=0)
            print(
                f"epsilon {epsilon:g}, keep_meaning {'default' if keep is None else f'{keep:g}'}: "
                f"macro F1 {macro:.3f} ({macro / untouched:.1%} of untouched); label right "
                f"{right:.3f}, the pool expected {mechanism.expected.label:.3f}; cosine {same:.3f}",
                flush=True,
            )
        chance = np.random.default_rng(0).permutation(len(texts))
        print(
            f"cosine of random pairs {meaning(texts, [texts[i] for i in chance]):.3f}, of the "
            f"nearest in the pool {nearest(texts, list(pool.texts)):.3f}",
            flush=True,
        )


def authors() -> None:
    """Attacks on authors whose texts are of another kind than C50's."""
    split = english_novels()
    assert split.train.authors is not None
    numbers = np.unique(split.train.authors)
    public, attacked = set(numbers[::2].tolist()), set(numbers[1::2].tolist())
    texts = [*of(split.train, public)[0], *of(split.test, public)[0]]
    attacks(
        "half of the novels", texts, of(split.train, attacked), of(split.test, attacked), (4, 6)
    )
    pan, everyone = pan18(1), set(range(20))
    texts = [*split.train.texts, *split.test.texts]
    attacks("all novels", texts, of(pan.train, everyone), of(pan.test, everyone), (4, 6))


def main(given: Sequence[str]) -> None:
    """Print what was asked for, or all."""
    folder, *chosen = given
    if not chosen or "authors" in chosen:
        authors()
    if not chosen or "mood" in chosen:
        mood(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
