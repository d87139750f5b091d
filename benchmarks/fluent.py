"""What does a language model's base buy, what does it show, and how fast is it?

    INKBLUR_DATA=... python benchmarks/fluent.py OUT.jsonl --parts speed,quality,authors,reading

writes one JSON object a figure, as it goes. Sentences and texts are of three collections: news
(Reuters C50), fan fiction (PAN 2018) and novels; what is judged comes from their test parts, and
the judges of fluency learn from their training parts.

- speed: words a second, texts advancing together, and the peak of memory.
- quality: content words' cosine; perplexity by judges that had no part in the release (a trigram
  model, and a recurrent network that is trained here for `--judge-seconds`); and with `--encoder`,
  a folder of all-MiniLM-L6-v2, how often the nearest of 100 originals is the true one.
- authors: the strongest attack on the author, by `inkblur.evaluation.attempts`.
- likelihood: the attack on authors through the channel alone, which needs no released copies to
  study: affordable on a CPU.
- reading: words that are recovered by unigrams, trigrams and by the language model; and authors
  named from what it decoded.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import inkblur
from benchmarks.fluency_judges import RecurrentJudge, SentenceEncoder, trigram_logs
from inkblur.evaluation import (
    NULL_ID,
    STOP_WORDS,
    Array,
    AuthorTexts,
    FluentStaircase,
    Ids,
    Likelihood,
    LinearSvm,
    ModelReader,
    Reader,
    Trigrams,
    attempts,
    attribute,
    causal_model,
    channel_of,
    entering_ids,
    guessed,
    recovered,
    strongest,
    true_words,
    unigram,
)
from reproduction.corpora import Corpus, Split, english_novels, pan18, reuters_c50

COLLECTIONS: dict[str, Callable[[], Split]] = {
    "news": reuters_c50,
    "fan_fiction": lambda: pan18(1),
    "novels": english_novels,
}
SETTINGS = ((8.0, 0.002), (6.5, 0.01), (5.0, 0.03))  # epsilon, and tau of the frequency base
TAUS = {8.0: 0.003, 6.5: 0.0075, 5.0: 0.015}  # of the language model's base
BEFORE = (0.1, 0.0)  # delta and fit: the base without a preference for near words that fit
STRENGTHS = (4.0, 2.5, 1.0)  # the staircase's light, medium and strong
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LOW, _HIGH = 12, 22  # words in a sentence


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to release."""

    base: str  # lm, or frequency
    epsilon: float
    tau: float | None = None
    model: str = ""
    shape: tuple[float, float] | None = None  # delta and fit, where not the usual ones

    def mechanism(self, table: inkblur.Embedding) -> Any:
        """The staircase of this setting."""
        own: dict[str, Any] = {"tau": self.tau, "base": self.base}
        if self.base == "lm":
            model = causal_model(table, self.model)
            made = partial(FluentStaircase, table, epsilon=self.epsilon, tau=self.tau, model=model)
            return made() if self.shape is None else made(delta=self.shape[0], fit=self.shape[1])
        if self.tau is not None:
            own["frequency_power"] = 1.0  # as the language model's base has it
        return inkblur.make_mechanism("staircase", table, epsilon=self.epsilon, **own)

    def facts(self) -> dict[str, Any]:
        """For a line of results."""
        return {
            "base": self.base,
            "epsilon": self.epsilon,
            "tau": self.tau,
            **({} if self.shape is None else {"delta": self.shape[0], "fit": self.shape[1]}),
        }


def settings(options: argparse.Namespace) -> list[Setting]:
    """The bases and epsilons that are asked for."""
    found = []
    for epsilon, tau in SETTINGS:
        every = {
            "frequency": Setting("frequency", epsilon, tau),
            "lm": Setting("lm", epsilon, TAUS[epsilon], options.model),
            "before": Setting("lm", epsilon, tau, options.model, BEFORE),
        }
        if epsilon in [float(asked) for asked in options.epsilons.split(",")]:
            found += [every[base] for base in options.bases.split(",")]
    return found


def searched_sentences(texts: Sequence[str], count: int) -> list[str]:
    """What a shape is chosen on: of every second text."""
    return sentences(texts[::2], count)


def judged_sentences(texts: Sequence[str], count: int) -> list[str]:
    """What it is judged on: of the others."""
    return sentences(texts[1::2], count)


def sentences(texts: Sequence[str], count: int) -> list[str]:
    """One sentence of 12 to 22 words from each of `count` texts, spread evenly over all texts."""
    found = []
    for text in texts:
        parts = _SENTENCE.split(" ".join(text.split()))
        fitting = [part for part in parts if _LOW <= len(part.split()) <= _HIGH]
        found += fitting[len(fitting) // 2 :][:1]
    rows = np.linspace(0, len(found) - 1, min(count, len(found))).astype(int)
    return [found[row] for row in np.unique(rows)]


def first_words(text: str, words: int) -> str:
    """The beginning of a text."""
    return " ".join(text.split()[:words])


def released(blur: inkblur.Privatizer, texts: Sequence[str], seed: int) -> list[str]:
    """Seeded, for measuring alone."""
    records = [inkblur.Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, inkblur.seeded_rng(seed)).texts)


def cosines(
    table: inkblur.Embedding,
    before: Sequence[Ids],
    after: Sequence[Ids],
    *,
    content: bool = True,
) -> float:
    """Mean cosine of words, by default content words, and what stands in their places."""
    vectors = table.vectors / np.maximum(np.linalg.norm(table.vectors, axis=1), 1e-9)[:, None]
    stop = np.array([word in STOP_WORDS for word in table.words])
    true, out = np.concatenate(before), np.concatenate(after)
    chosen = (true != NULL_ID) & ~(content & stop[true])
    return float(np.einsum("ij,ij->i", vectors[true[chosen]], vectors[out[chosen]]).mean())


def drawn(mechanism: Any, texts: Sequence[Ids], seed: int) -> list[Ids]:
    """The ids that come out of texts of ids."""
    streams = [inkblur.seeded_rng(seed).child(str(row)) for row in range(len(texts))]
    if hasattr(mechanism, "replace_texts"):
        return [text.ids for text in mechanism.replace_texts(texts, streams)]
    return [mechanism.replace(text, stream) for text, stream in zip(texts, streams, strict=True)]


def speed(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Words a second of whole releases."""
    began = time.perf_counter()
    mechanism = Setting("lm", 8.0, 0.002, options.model).mechanism(table)
    yield {"seconds_to_load": time.perf_counter() - began, **mechanism.parameters}
    blur = inkblur.Privatizer(mechanism)
    source = [first_words(text, 100) for text in reuters_c50().test.texts]
    texts = (source * 4)[: options.speed_texts]
    released(blur, texts[: options.speed_texts // 8 or 1], 1)  # warm
    began = time.perf_counter()
    out = released(blur, texts, 2)
    seconds = time.perf_counter() - began
    words = sum(len(text.split()) for text in out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    yield {
        "texts": len(texts),
        "words": words,
        "words_a_second": words / seconds,
        "peak_memory": peak,
        "device": mechanism.parameters["device"],
    }


def quality(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Cosine, perplexity and tracing for both bases."""
    splits = {name: load() for name, load in COLLECTIONS.items()}
    held_out = [
        entering_ids(text, table) for split in splits.values() for text in split.train.texts
    ]
    trigrams = Trigrams(held_out, unigram(table, held_out))
    network = RecurrentJudge(held_out, len(table), seconds=options.judge_seconds)
    texts = {
        name: judged_sentences(split.test.texts, options.sentences)
        for name, split in splits.items()
    }
    before = {name: [entering_ids(text, table) for text in some] for name, some in texts.items()}

    if options.encoder:
        encoder = SentenceEncoder(options.encoder)
        originals = {name: encoder.encoded(some) for name, some in texts.items()}

    def figures(name: str, after: Sequence[Ids], shown: Sequence[str]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "collection": name,
            "sentences": len(after),
            "cosine": cosines(table, before[name], after),
            "cosine_all_words": cosines(table, before[name], after, content=False),
            "trigram_perplexity": perplexity([trigram_logs(trigrams, text) for text in after]),
            "network_perplexity": perplexity(network.logs(after)),
        }
        if options.encoder:
            body["traced_of_100"] = _traced(originals[name], encoder.encoded(shown))
        return body

    for name in texts:
        yield {"base": "untouched", **figures(name, before[name], texts[name])}
    for setting in settings(options):
        mechanism = setting.mechanism(table)
        for name in texts:
            after = drawn(mechanism, before[name], 1)
            shown = [" ".join(table.words[i] for i in text.tolist()) for text in after]
            yield {**setting.facts(), **figures(name, after, shown)}


def perplexity(logs: Sequence[Any]) -> float:
    """Of the words with these log-probabilities, text by text."""
    return float(np.exp(-np.concatenate(logs).mean()))


def _traced(originals: Array, shown: Array) -> float:
    """How often the nearest of 100 originals is the true one; both are unit vectors."""
    hits = []
    for start in range(0, len(originals), 100):
        part = slice(start, start + 100)
        nearest = (shown[part] @ originals[part].T).argmax(axis=1)
        hits.append(nearest == np.arange(len(nearest)))
    return float(np.concatenate(hits).mean())


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
                "cosine": cosines(table, sample, drawn(mechanism, sample, 3)),
                "strongest": strongest(tried).to_json(),
                "all": {
                    f"{kind} {attack}": strongest(
                        [a for a in tried if (a.attack, a.kind) == (attack, kind)]
                    ).accuracy
                    for attack, kind in sorted({(a.attack, a.kind) for a in tried})
                },
                "seconds": time.perf_counter() - began,
            }


def likelihood(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Authors named through the channel, among all authors of a collection."""
    for name in options.author_collections.split(","):
        texts = _author_texts(COLLECTIONS[name](), options)
        true = [entering_ids(text, table) for text in texts.attacked]
        for setting in settings(options):
            mechanism = setting.mechanism(table)
            began = time.process_time()
            after = drawn(mechanism, true, 1)
            shown = [" ".join(table.words[i] for i in text.tolist()) for text in after]
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
    if "frequency" in options.bases:
        asked += [Setting("frequency", epsilon) for epsilon in STRENGTHS]
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


PARTS = {
    "speed": speed,
    "quality": quality,
    "authors": authors,
    "likelihood": likelihood,
    "reading": reading,
}


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--parts", default="speed,quality,authors,reading")
    parser.add_argument("--model", default="", help="a causal model's folder or .gguf file")
    parser.add_argument("--bases", default="frequency,lm", help="of frequency, lm, before")
    parser.add_argument("--epsilons", default="8,6.5,5")
    parser.add_argument("--encoder", default="", help="a folder of all-MiniLM-L6-v2")
    parser.add_argument("--sentences", type=int, default=200, help="of each collection")
    parser.add_argument("--judge-seconds", type=float, default=60.0)
    parser.add_argument("--speed-texts", type=int, default=4096)
    parser.add_argument("--author-collections", default="news,fan_fiction")
    parser.add_argument("--author-texts", type=int, default=10, help="of each author and part")
    parser.add_argument("--attacked-texts", type=int, default=0, help="0: as many as are known")
    parser.add_argument("--author-words", type=int, default=80, help="of each text")
    parser.add_argument("--reading-collections", default="news,fan_fiction,novels")
    parser.add_argument("--reading-texts", type=int, default=2, help="of each author")
    parser.add_argument("--reading-words", type=int, default=64, help="of each text")
    options = parser.parse_args()
    table = inkblur.load_embedding()
    with options.output.open("a", encoding="utf-8") as stream:
        for part in options.parts.split(","):
            for figure in PARTS[part](table, options):
                line = json.dumps({"part": part, **figure})
                print(line, flush=True)
                stream.write(line + "\n")
                stream.flush()


if __name__ == "__main__":
    main()
