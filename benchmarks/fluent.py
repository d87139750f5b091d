"""What does a language model's base buy, what does it show, and how fast is it?

    INKBLUR_DATA=... python benchmarks/fluent.py OUT.jsonl --parts speed,quality,authors,reading

writes one JSON object a figure, as it goes (`fluent_data.py` says which texts).

- speed: words a second, texts advancing together, and the peak of memory.
- quality: content words' cosine; perplexity by judges that had no part in the release: a trigram
  model, a recurrent network that is trained here for `--judge-seconds`, and with `--judge-model`
  another causal model; and with `--encoder`, a folder of all-MiniLM-L6-v2, how often the nearest of
  100 originals is the true one. Beside each perplexity stands its ratio to the frequency base's,
  with 95 % of a bootstrap over sentences. With several `--frequency-factors` the frequency base is
  drawn with several taus, and the ratio is to what lies between two of them at equal cosine.
- page: the sentences of `docs/fluent.md`, before and after.
- authors: every attack on the author, by `inkblur.evaluation.attempts`; and how many more texts the
  strongest names than with the frequency base, with 95 % of a bootstrap over texts.
- classifiers: the same for the attacks that need no channel, which is slow on a CPU.
- likelihood: the attack on authors through the channel alone, which needs no released copies to
  study: affordable on a CPU.
- reading: words that are recovered by unigrams, trigrams and by the language model; and authors
  named from what it decoded.

`--choice` is a file that `fluent_search.py` wrote; without it the base is the one that is shipped.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import inkblur
from benchmarks.fluency_judges import (
    CausalJudge,
    RecurrentJudge,
    SentenceEncoder,
    trigram_logs,
)
from benchmarks.fluent_attacks import authors, classifiers, likelihood, reading
from benchmarks.fluent_data import (
    COLLECTIONS,
    SHIPPED,
    Setting,
    choice,
    cosines,
    drawn,
    first_words,
    judged_sentences,
    perplexity,
    settings,
    written,
)
from inkblur.evaluation import Array, Ids, Trigrams, entering_ids, unigram
from reproduction.corpora import reuters_c50

MADE_UP = (
    "Our room had a lovely view of the harbour, but the bed was far too soft for my back.",
    "The president said on Tuesday that the government would not raise taxes before the election.",
    "She closed the door behind her and walked slowly down to the river, where the boat was "
    "waiting.",
    "My doctor listened, explained the results and did not rush me. The clinic itself is old.",
)


def speed(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Words a second of whole releases."""
    began = time.perf_counter()
    chosen = choice(options)
    mechanism = Setting(8.0, chosen.taus[8.0], chosen.shape, options.model).mechanism(table)
    yield {"seconds_to_load": time.perf_counter() - began, **mechanism.parameters}
    blur = inkblur.Privatizer(mechanism)
    source = [first_words(text, options.speed_words) for text in reuters_c50().test.texts]
    texts = (source * 4)[: options.speed_texts]
    records = [inkblur.Record(str(row), text) for row, text in enumerate(texts)]
    blur.release_batch(records[: len(records) // 8 or 1], inkblur.seeded_rng(1))  # warm
    began = time.perf_counter()
    out = blur.release_batch(records, inkblur.seeded_rng(2)).texts
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
    texts = {
        name: judged_sentences(split.test.texts, options.sentences)
        for name, split in splits.items()
    }
    before = {name: [entering_ids(text, table) for text in some] for name, some in texts.items()}
    public = [entering_ids(text, table) for split in splits.values() for text in split.train.texts]
    judges = _Judges(table, public, options)
    encoder = SentenceEncoder(options.encoder) if options.encoder else None

    def figures(name: str, after: Sequence[Ids], logs: _Logs) -> dict[str, Any]:
        body: dict[str, Any] = {
            "collection": name,
            "sentences": len(after),
            "cosine": cosines(table, before[name], after),
            "cosine_all_words": cosines(table, before[name], after, content=False),
            "perplexity": {judge: perplexity(own) for judge, own in logs.items()},
        }
        if encoder is not None:
            shown = encoder.encoded(written(table, after))
            body["traced_of_100"] = _traced(encoder.encoded(texts[name]), shown)
        return body

    for name in texts:
        yield {"base": "untouched", **figures(name, before[name], judges.logs(before[name]))}
    plain: defaultdict[tuple[float, str], list[tuple[float, _Logs]]] = defaultdict(list)
    for setting in settings(options):
        mechanism = setting.mechanism(table)
        for name in texts:
            after = drawn(mechanism, before[name], 1)
            logs = judges.logs(after)
            body = {**setting.facts(), **figures(name, after, logs)}
            known = plain[setting.epsilon, name]  # the frequency base comes first
            if setting.shape is None:
                known.append((body["cosine"], logs))
            elif known:
                body["ratio"] = {
                    judge: _ratio(own, body["cosine"], [(c, each[judge]) for c, each in known])
                    for judge, own in logs.items()
                }
            yield body


def page(table: inkblur.Embedding, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Before and after, drawn once."""
    records = [inkblur.Record(str(row), text) for row, text in enumerate(MADE_UP)]
    for setting in settings(options):
        blur = inkblur.Privatizer(setting.mechanism(table))
        shown = blur.release_batch(records, inkblur.seeded_rng(1)).texts
        yield {**setting.facts(), "before_and_after": dict(zip(MADE_UP, shown, strict=True))}


_Logs = dict[str, list[Array]]  # log-probabilities of words, text by text, by judge


class _Judges:
    """Who judges fluency."""

    def __init__(
        self, table: inkblur.Embedding, public: Sequence[Ids], options: argparse.Namespace
    ) -> None:
        self._table = table
        self._trigrams = Trigrams(public, unigram(table, public))
        seconds = options.judge_seconds
        self._network = RecurrentJudge(public, len(table), seconds=seconds) if seconds else None
        self._causal = CausalJudge(options.judge_model) if options.judge_model else None

    def logs(self, texts: Sequence[Ids]) -> _Logs:
        found = {"trigrams": [trigram_logs(self._trigrams, text) for text in texts]}
        if self._network is not None:
            found["network"] = self._network.logs(texts)
        if self._causal is not None:
            found["causal"] = self._causal.logs(written(self._table, texts))
        return found


def _ratio(
    logs: Sequence[Array], cosine: float, plain: Sequence[tuple[float, Sequence[Array]]]
) -> list[float]:
    """Of perplexities, with 95 % of a bootstrap over sentences.

    `plain` are cosines and logs of the frequency base. Between two of them its log-perplexity is
    taken to be linear in the cosine; beyond all of them the nearest stands.
    """
    ordered = sorted(plain, key=lambda each: each[0])
    place = float(np.interp(cosine, [c for c, _ in ordered], np.arange(len(ordered))))
    low, share = int(place), place - int(place)
    high = min(low + 1, len(ordered) - 1)
    rows = np.random.default_rng(1).integers(len(logs), size=(2000, len(logs)))
    rows = np.concatenate([np.arange(len(logs))[None], rows])  # first all sentences, once each

    def perplexities(each: Sequence[Array]) -> Array:
        sums = np.array([[own.sum(), len(own)] for own in each])[rows].sum(axis=1)
        found: Array = -sums[:, 0] / sums[:, 1]
        return found

    below, above = (perplexities(ordered[which][1]) for which in (low, high))
    ratios = np.exp(perplexities(logs) - (1 - share) * below - share * above)
    return [float(ratios[0]), *np.quantile(ratios[1:], [0.025, 0.975]).tolist()]


def _traced(originals: Array, shown: Array) -> float:
    """How often the nearest of 100 originals is the true one; both are unit vectors."""
    hits = []
    for start in range(0, len(originals), 100):
        part = slice(start, start + 100)
        nearest = (shown[part] @ originals[part].T).argmax(axis=1)
        hits.append(nearest == np.arange(len(nearest)))
    return float(np.concatenate(hits).mean())


PARTS = {
    "speed": speed,
    "quality": quality,
    "page": page,
    "authors": authors,
    "classifiers": classifiers,
    "likelihood": likelihood,
    "reading": reading,
}


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--parts", default="speed,quality,authors,reading")
    parser.add_argument("--model", default="", help="a causal model's folder or .gguf file")
    parser.add_argument("--choice", type=Path, default=SHIPPED, help="by fluent_search.py")
    parser.add_argument("--bases", default="frequency,lm", help="of frequency, lm")
    parser.add_argument("--epsilons", default="8,6.5,5")
    parser.add_argument("--factors", default="1", help="of tau, for the language model's base")
    parser.add_argument("--frequency-factors", default="1", help="of tau, for the other base")
    parser.add_argument("--encoder", default="", help="a folder of all-MiniLM-L6-v2")
    parser.add_argument("--sentences", type=int, default=200, help="of each collection")
    parser.add_argument("--judge-seconds", type=float, default=60.0)
    parser.add_argument("--judge-model", default="", help="a causal model's folder or .gguf file")
    parser.add_argument("--speed-texts", type=int, default=4096)
    parser.add_argument("--speed-words", type=int, default=100, help="of each text")
    parser.add_argument("--author-collections", default="news,fan_fiction")
    parser.add_argument("--author-texts", type=int, default=10, help="of each author and part")
    parser.add_argument("--attacked-texts", type=int, default=0, help="0: as many as are known")
    parser.add_argument("--attacked-passages", type=int, default=1, help="of each attacked text")
    parser.add_argument("--author-words", type=int, default=80, help="of each passage")
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
