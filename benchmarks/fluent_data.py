"""What the benchmarks of the language model's base share: texts, settings, draws and measures.

Sentences and texts are of three collections: news (Reuters C50), fan fiction (PAN 2018) and novels.
A base is chosen on sentences of every second test text and judged on those of the others; the
judges of fluency learn from the training parts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import inkblur
from inkblur.evaluation import NULL_ID, STOP_WORDS, FluentStaircase, Ids, causal_model
from reproduction.corpora import Split, english_novels, pan18, reuters_c50

COLLECTIONS: dict[str, Callable[[], Split]] = {
    "news": reuters_c50,
    "fan_fiction": lambda: pan18(1),
    "novels": english_novels,
}
TAUS = {8.0: 0.002, 6.5: 0.01, 5.0: 0.03}  # of the frequency base, by epsilon
SHIPPED = Path(__file__).with_name("fluent_choice.json")  # as `fluent_search.py` wrote it
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LOW, _HIGH = 12, 22  # words in a sentence


@dataclass(frozen=True, slots=True)
class Shape:
    """How a base follows the model: `FluentStaircase` and `CausalModel` say what these are."""

    delta: float
    fit: float
    trust: float
    prompt: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to release: without a shape, the frequency base."""

    epsilon: float
    tau: float | None = None
    shape: Shape | None = None
    model: str = ""

    def mechanism(self, table: inkblur.Embedding) -> Any:
        """The staircase of this setting."""
        if self.shape is not None:
            shape = self.shape
            return FluentStaircase(
                table,
                epsilon=self.epsilon,
                tau=self.tau,
                model=causal_model(table, self.model).expecting(
                    trust=shape.trust, prompt=shape.prompt
                ),
                delta=shape.delta,
                fit=shape.fit,
            )
        # With a given tau, words are as common in the base as in the language model's.
        power = {} if self.tau is None else {"frequency_power": 1.0}
        return inkblur.make_mechanism(
            "staircase", table, epsilon=self.epsilon, tau=self.tau, **power
        )

    def facts(self) -> dict[str, Any]:
        """For a line of results."""
        own = {} if self.shape is None else {"shape": asdict(self.shape)}
        base = "frequency" if self.shape is None else "lm"
        return {"base": base, "epsilon": self.epsilon, "tau": self.tau, **own}


@dataclass(frozen=True, slots=True)
class Choice:
    """A shape, and its tau at each epsilon."""

    shape: Shape
    taus: dict[float, float]

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `fluent_search.py` wrote."""
        body = json.loads(path.read_text(encoding="utf-8"))
        taus = {float(epsilon): tau for epsilon, tau in body["taus"].items()}
        return cls(Shape(**body["shape"]), taus)

    def written(self) -> str:
        """For a file."""
        return json.dumps({"shape": asdict(self.shape), "taus": self.taus}, indent=1) + "\n"


def choice(options: argparse.Namespace) -> Choice:
    """The base that is asked for."""
    return Choice.read(options.choice)


def settings(options: argparse.Namespace) -> list[Setting]:
    """The bases and epsilons that are asked for."""
    chosen, found = choice(options), []
    for epsilon in (float(asked) for asked in options.epsilons.split(",")):
        if "frequency" in options.bases.split(","):
            for factor in map(float, options.frequency_factors.split(",")):
                found.append(Setting(epsilon, TAUS[epsilon] * factor))
        if "lm" in options.bases.split(","):
            for factor in map(float, options.factors.split(",")):
                tau = chosen.taus[epsilon] * factor
                found.append(Setting(epsilon, tau, chosen.shape, options.model))
    return found


def searched_sentences(texts: Sequence[str], count: int) -> list[str]:
    """What a shape is chosen on: of every second text."""
    return sentences(texts[::2], count)


def judged_sentences(texts: Sequence[str], count: int) -> list[str]:
    """What it is judged on: of the others."""
    return sentences(texts[1::2], count)


def sentences(texts: Sequence[str], count: int) -> list[str]:
    """`count` sentences of 12 to 22 words, as few of each text as will do."""
    fitting = []
    for text in texts:
        parts = _SENTENCE.split(" ".join(text.split()))
        own = [part for part in parts if _LOW <= len(part.split()) <= _HIGH]
        third = len(own) // 3  # neither the first, which are often headings, nor the last
        fitting.append([*own[third:], *own[:third]])
    found: list[str] = []
    for turn in range(max(map(len, fitting), default=0)):
        more = [own[turn] for own in fitting if len(own) > turn]
        rows = np.linspace(0, len(more) - 1, min(count - len(found), len(more))).astype(int)
        found += [more[row] for row in rows]
        if len(found) == count:
            break
    return found


def first_words(text: str, words: int) -> str:
    """The beginning of a text."""
    return " ".join(text.split()[:words])


def passages(text: str, words: int, most: int) -> list[str]:
    """The first `most` passages of so many words each; of a shorter text, all of it.

    >>> passages("a b c d e", 2, 9)
    ['a b', 'c d']
    >>> passages("a", 2, 9)
    ['a']
    """
    all_words = text.split()
    starts = range(0, max(0, len(all_words) - words) + 1, words)[:most]
    return [" ".join(all_words[start : start + words]) for start in starts]


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
    """The ids that come out of texts of ids; seeded, for measuring alone."""
    streams = [inkblur.seeded_rng(seed).child(str(row)) for row in range(len(texts))]
    if hasattr(mechanism, "replace_texts"):
        return [text.ids for text in mechanism.replace_texts(texts, streams)]
    return [mechanism.replace(text, stream) for text, stream in zip(texts, streams, strict=True)]


def written(table: inkblur.Embedding, texts: Sequence[Ids]) -> list[str]:
    """Texts of ids as words."""
    return [" ".join(table.words[i] for i in text.tolist()) for text in texts]


def perplexity(logs: Sequence[Any]) -> float:
    """Of the words with these log-probabilities, text by text."""
    return float(np.exp(-np.concatenate(logs).mean()))
