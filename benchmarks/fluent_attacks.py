"""What attackers make of both bases: who wrote a text, and what stood in it.

`benchmarks/fluent.py` runs these as its parts `authors`, `classifiers`, `likelihood` and `reading`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
    passages,
    settings,
    written,
)
from inkblur.evaluation import (
    NULL_ID,
    Array,
    Attempt,
    AuthorTexts,
    Ids,
    Likelihood,
    LinearSvm,
    ModelReader,
    Reader,
    Trigrams,
    Words,
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


def _author_texts(split: Split, options: argparse.Namespace) -> tuple[AuthorTexts, Ids]:
    """Texts to study and passages to attack; and the number of the text that each is taken from."""
    known = split.train.first_of_each_author(options.author_texts)
    attacked = split.test.first_of_each_author(options.attacked_texts or options.author_texts)
    assert known.authors is not None
    assert attacked.authors is not None
    words = options.author_words
    cut = [passages(text, words, options.attacked_passages) for text in attacked.texts]
    source = np.repeat(np.arange(len(cut)), [len(own) for own in cut])
    texts = AuthorTexts(
        tuple(first_words(text, words) for text in known.texts),
        known.authors,
        tuple(passage for own in cut for passage in own),
        attacked.authors[source],
    )
    return texts, source


def authors(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every attack on authors at equal epsilon, both bases; and how far the strongest differ."""
    return _attacked(table, options, attempts)


def classifiers(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The same for those attacks alone that need no channel."""
    return _attacked(table, options, _classified)


def _classified(
    texts: AuthorTexts, blur: inkblur.Privatizer, table: inkblur.Embedding, rng: Any, *, seed: int
) -> list[Attempt]:
    """Whom linear SVMs name that studied true texts, or eight releases of each."""
    tried = []
    for number, half in enumerate(texts.halves()):
        stream = rng.child(f"half {number}")
        released = _released(half.attacked, blur, stream.child("attacked"))
        copies = [_released(half.known, blur, stream.child(f"known {copy}")) for copy in range(8)]
        studied = {
            "static": list(half.known),
            "adaptive": [text for copy in copies for text in copy],
        }
        for kind, known in studied.items():
            authors = np.tile(half.known_authors, len(known) // len(half.known))
            for svm in (LinearSvm(seed=seed), LinearSvm(seed=seed, view=Words(), name="svm-words")):
                correct = svm.fit(known, authors).predict(released) == half.attacked_authors
                suspects = len(half.suspects)
                said = (None, suspects, half.attacked_authors, correct)
                tried.append(Attempt(number, svm.name, kind, *said))
    return tried


def _released(texts: Sequence[str], blur: inkblur.Privatizer, rng: Any) -> list[str]:
    records = [inkblur.Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, rng).texts)


def _attacked(
    table: inkblur.Embedding, options: argparse.Namespace, attack: Callable[..., list[Attempt]]
) -> Iterator[dict[str, Any]]:
    for name in options.author_collections.split(","):
        texts, source = _author_texts(COLLECTIONS[name](), options)
        true = [entering_ids(text, table) for text in texts.attacked]
        plain: dict[float, Naming] = {}
        for setting in settings(options):
            mechanism = setting.mechanism(table)
            began = time.perf_counter()
            tried = attack(
                texts, inkblur.Privatizer(mechanism), table, inkblur.seeded_rng(1), seed=1
            )
            sample = true[:: max(1, len(true) // 200)]
            naming = Naming.of(tried, texts, source)
            body = {
                **setting.facts(),
                "collection": name,
                "texts": int(source[-1]) + 1,
                "passages": len(true),
                "cosine": cosines(table, sample, drawn(mechanism, sample, 3)),
                "named": naming.facts(),
                "seconds": time.perf_counter() - began,
            }
            if setting.shape is None:
                plain.setdefault(setting.epsilon, naming)
            elif setting.epsilon in plain:  # the frequency base comes first
                body["more_than_frequency"] = naming.more_than(plain[setting.epsilon])
            yield body


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """The share of each text's passages that each attack names rightly; all authors count alike."""

    by_text: dict[str, Array]  # (texts,), by attack
    authors: Ids  # (texts,)

    @classmethod
    def of(cls, tried: Sequence[Attempt], texts: AuthorTexts, source: Ids) -> Naming:
        """From attempts on passages, each taken from the text that `source` numbers."""
        passages_of = np.bincount(source)
        by_text: dict[str, Array] = {}
        for each in sorted(tried, key=lambda each: (each.kind, each.attack)):
            own = source[np.isin(texts.attacked_authors, each.authors)]  # those of its half
            right = np.bincount(own, each.correct, len(passages_of)) / passages_of
            attack = f"{each.kind} {each.attack}"
            by_text[attack] = by_text.get(attack, 0.0) + right
        _, first = np.unique(source, return_index=True)
        return cls(by_text, texts.attacked_authors[first])

    def shares(self) -> dict[str, Array]:
        """Of texts named, by attack: of all texts, then of 2,000 bootstrap samples of texts."""
        count = len(self.authors)
        _, own, texts = np.unique(self.authors, return_inverse=True, return_counts=True)
        weights = 1.0 / texts[own]
        rows = np.random.default_rng(1).integers(count, size=(2000, count))
        rows = np.concatenate([np.arange(count)[None], rows])
        total = weights[rows].sum(axis=1)
        return {
            attack: (right * weights)[rows].sum(axis=1) / total
            for attack, right in self.by_text.items()
        }

    def facts(self) -> dict[str, Any]:
        """For a line of results: shares with 95 % intervals, and by text."""
        return {
            attack: {
                "share": float(shares[0]),
                "interval": np.quantile(shares[1:], [0.025, 0.975]).tolist(),
                "by_text": self.by_text[attack].round(4).tolist(),
                "authors": self.authors.tolist(),
            }
            for attack, shares in self.shares().items()
        }

    def more_than(self, other: Naming) -> list[float]:
        """What the strongest attack names more than the other's strongest, with its interval.

        Both are of the same texts. The strongest is chosen anew in every sample.
        """
        mine, others = (np.max([*each.shares().values()], axis=0) for each in (self, other))
        more = mine - others
        return [float(more[0]), *np.quantile(more[1:], [0.025, 0.975]).tolist()]


def likelihood(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Authors named through the channel, among all authors of a collection."""
    for name in options.author_collections.split(","):
        texts, _ = _author_texts(COLLECTIONS[name](), options)
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
        truth = [true_words(text, entering_ids(text, table)) for text in texts]
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
