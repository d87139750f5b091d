"""What attackers make of both bases: who wrote a text, and what stood in it.

`benchmarks/fluent.py` runs these as its parts `authors`, `likelihood` and `reading`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import inkblur
from benchmarks.fluent_data import (
    COLLECTIONS,
    Setting,
    choice,
    cosines,
    drawn,
    first_words,
    settings,
    written,
)
from inkblur.evaluation import (
    NULL_ID,
    Attempt,
    AuthorTexts,
    Ids,
    Likelihood,
    LinearSvm,
    ModelReader,
    Reader,
    Trigrams,
    attempts,
    attribute,
    channel_of,
    entering_ids,
    guessed,
    recovered,
    true_words,
    unigram,
)
from reproduction.corpora import Corpus, Split

STRENGTHS = ("light", "medium", "strong")


def _author_texts(split: Split, options: argparse.Namespace) -> AuthorTexts:
    words = options.author_words

    def part(corpus: Corpus, each: int) -> tuple[tuple[str, ...], Ids]:
        some = corpus.first_of_each_author(each)
        assert some.authors is not None
        return tuple(first_words(text, words) for text in some.texts), some.authors

    attacked = part(split.test, options.attacked_texts or options.author_texts)
    return AuthorTexts(*part(split.train, options.author_texts), *attacked)


def authors(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The strongest attack on authors at equal epsilon, both bases; every attack beside it."""
    for name in options.author_collections.split(","):
        texts = _author_texts(COLLECTIONS[name](), options)
        true = [entering_ids(text, table) for text in texts.attacked]
        for setting in settings(options):
            mechanism = setting.mechanism(table)
            began = time.perf_counter()
            tried = attempts(
                texts, inkblur.Privatizer(mechanism), table, inkblur.seeded_rng(1), seed=1
            )
            sample = true[:: max(1, len(true) // 200)]
            yield {
                **setting.facts(),
                "collection": name,
                "texts": len(true),
                "cosine": cosines(table, sample, drawn(mechanism, sample, 3)),
                "named": _named(tried),
                "seconds": time.perf_counter() - began,
            }


def _named(tried: Sequence[Attempt]) -> dict[str, Any]:
    """The share of texts that each attack names rightly, every author counting alike.

    With 95 % of a bootstrap over texts; and text by text, so that two bases can be compared.
    """
    found: dict[str, Any] = {}
    for who in sorted({(each.kind, each.attack) for each in tried}):
        same = [each for each in tried if (each.kind, each.attack) == who]
        right = np.concatenate([each.correct for each in same])
        _, own, texts = np.unique(
            np.concatenate([each.authors for each in same]), return_inverse=True, return_counts=True
        )
        weights = 1.0 / texts[own]
        rows = np.random.default_rng(1).integers(len(right), size=(2000, len(right)))
        shares = (right * weights)[rows].sum(axis=1) / weights[rows].sum(axis=1)
        found[" ".join(who)] = {
            "share": float((right * weights).sum() / weights.sum()),
            "interval": np.quantile(shares, [0.025, 0.975]).tolist(),
            "hits": "".join("01"[hit] for hit in right.astype(int)),
            "authors": own.tolist(),
        }
    return found


def likelihood(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Authors named through the channel, among all authors of a collection."""
    for name in options.author_collections.split(","):
        texts = _author_texts(COLLECTIONS[name](), options)
        true = [entering_ids(text, table) for text in texts.attacked]
        for setting in settings(options):
            mechanism = setting.mechanism(table)
            began = time.process_time()
            after = drawn(mechanism, true, 1)
            shown = written(table, after)
            channel = channel_of(mechanism, inkblur.seeded_rng(2))
            attack = Likelihood(channel, table).fit(texts.known, texts.known_authors)
            hits = attack.predict(shown) == texts.attacked_authors
            yield {
                **setting.facts(),
                "collection": name,
                "texts": len(true),
                "cosine": cosines(table, true, after),
                "named": float(hits.mean()),
                "hits": "".join("01"[hit] for hit in hits.astype(int)),
                "chance": 1 / len(set(texts.attacked_authors.tolist())),
                "processor_seconds": time.process_time() - began,
            }


def reading(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What three readers recover of both bases, and authors named from decoded texts."""
    model = ModelReader(table, *([options.model] if options.model else []))
    asked = settings(options)
    for strength in STRENGTHS:  # each base with its own tau
        stored = inkblur.ReleaseSpec("staircase", strength=strength).mechanism_on(table)
        epsilon = float(stored.parameters["epsilon"])
        if "frequency" in options.bases:
            asked.append(Setting(epsilon))
        if "lm" in options.bases:
            asked.append(Setting(epsilon, None, choice(options).shape, options.model))
    for name in options.reading_collections.split(","):
        split = COLLECTIONS[name]()
        public = [entering_ids(text, table) for text in split.train.texts]
        prior = unigram(table, public)
        trigrams = Trigrams(public, prior)
        some = split.test.first_of_each_author(options.reading_texts)
        texts = [first_words(text, options.reading_words) for text in some.texts]
        truth = [true_words(text, table) for text in texts]
        named = _Naming(table, split)
        for setting in asked:
            mechanism = setting.mechanism(table)
            outs = drawn(mechanism, [words.ids for words in truth], 1)
            reader = Reader(channel_of(mechanism, inkblur.seeded_rng(2)), prior)
            found = reader.candidates([out[:, None] for out in outs])
            began = time.perf_counter()
            said = {
                "unigram": [guessed(each) for each in found],
                "trigram": [guessed(each, trigrams) for each in found],
                "language model": model.guessed(found),
            }
            for who, guesses in said.items():
                result = recovered(who, truth, outs, guesses, confidence=0.95, seed=1)
                parts = ("as_it_stands", "recovered", "content", "names", "sure", "sure_and_right")
                yield {
                    **setting.facts(),
                    "collection": name,
                    "reader": who,
                    "words": result.words,
                    **{part: _mean(getattr(result, part)) for part in parts},
                    "seconds": time.perf_counter() - began,
                    "authors_named": named.share(some, [guess.words for guess in guesses]),
                }
            yield {
                **setting.facts(),
                "collection": name,
                "reader": "none",
                "authors_named": named.share(some, outs),
            }


def _mean(interval: Any) -> float | None:
    return None if interval is None else float(interval.mean)


class _Naming:
    """Linear SVMs that name authors from decoded texts, having studied true ones."""

    def __init__(self, table: inkblur.Embedding, split: Split) -> None:
        assert split.train.authors is not None
        self._table, self._known = table, split.train.authors
        # Decoded texts are words alone, so the attacker studies words alone.
        texts = [
            self._written(ids[ids != NULL_ID])
            for ids in (entering_ids(text, table) for text in split.train.texts)
        ]
        self._attack = LinearSvm(seed=1).fit(texts, self._known)

    def share(self, asked: Corpus, ids: Sequence[Ids]) -> float:
        """Of texts whose author is named."""
        assert asked.authors is not None
        texts = [self._written(text[text < len(self._table)]) for text in ids]
        return attribute(self._attack, texts, asked.authors, known=self._known).accuracy

    def _written(self, ids: Ids) -> str:
        return " ".join(self._table.words[i] for i in ids.tolist())
