"""Small made-up corpora: authors who like some words, labels that like others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import Attack, Attribution, checked_authors, judged
from inkblur.evaluation.results import Interval, Measurement

TOPICS = {"sea": ["wave", "fish", "boat", "tide"], "sky": ["rain", "wind", "cloud", "storm"]}
HABITS = [["indeed", "surely"], ["perhaps", "maybe"], ["quickly", "boldly"], ["alas", "hence"]]
FILLER = ["house", "road", "tree", "stone"]
NAMES = ["Zebedee Quux", "Ursula Ptolemy", "Ignatz Vorm", "Wilhelmina Yarrow"]


def table() -> Embedding:
    """Every word that occurs, the words of one kind near each other."""
    rng = np.random.default_rng(2)
    words: list[str] = []
    rows = []
    for group in [*TOPICS.values(), *HABITS, FILLER]:
        center = rng.normal(size=6) * 4
        for word in group:
            words.append(word)
            rows.append(center + rng.normal(size=6) * 0.4)
    return Embedding(words, np.array(rows), name="made")


def write_text_vectors(path: Path, made: Embedding) -> Path:
    """A table as GloVe writes it."""
    rows = zip(made.words, made.vectors.tolist(), strict=True)
    lines = [f"{word} {' '.join(f'{x:.6f}' for x in row)}" for word, row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def corpus(
    each: int = 8, authors: int = 4, seed: int = 3
) -> tuple[list[str], list[str], list[str]]:
    """Texts, authors' names and labels; `each` texts an author."""
    rng = np.random.default_rng(seed)
    texts, names, labels = [], [], []
    for author in range(authors):
        for number in range(each):
            label = list(TOPICS)[number % 2]
            words = [
                *rng.choice(TOPICS[label], 4),
                *rng.choice(HABITS[author], 4),
                *rng.choice(FILLER, 4),
            ]
            texts.append(" ".join(str(word) for word in rng.permutation(words)))
            names.append(NAMES[author])
            labels.append(label)
    return texts, names, labels


def interval(mean: float, spread: float = 0.05) -> Interval:
    """Over texts, as wide on either side."""
    return Interval(mean, mean - spread, mean + spread, (mean,), "texts")


def attack(attacker: str, share: float, **options: Any) -> Measurement:
    """An attack on the authors: five suspects, unless the options say otherwise."""
    usual = {"chance": 0.2, "f1": interval(share), "authors": 5, "known": 60, "attacked": 40}
    found = {"name": "koppel", "scenario": "all", **usual, **options}
    return Measurement("author", attacker=attacker, value=interval(share), **found)


def labels(studied: str, asked: str, f1: float, chance: float = 0.25) -> Measurement:
    """A classifier of labels, of which there are four."""
    return Measurement(
        "labels", "svm", asked, studied, value=interval(f1), chance=chance, known=60, attacked=40
    )


def attribute(
    attack: Attack, texts: Sequence[str], authors: ArrayLike, *, known: ArrayLike
) -> Attribution:
    """Let a fitted attack name the authors of `texts`; `known` are those it studied."""
    everyone, studied = checked_authors(texts, authors), np.asarray(known, np.int64)
    asked = [texts[row] for row in np.flatnonzero(np.isin(everyone, studied)).tolist()]
    return judged(attack.predict(asked) if asked else np.empty(0, np.int64), everyone, studied)
