"""The staircase whose filling fits the sentence: its base is what a language model expects next.

    q_t(y) = (1 - delta) P(y | words released before t) + delta frequency(y)

The model reads released words alone: no true word, no true sentence end, no length that is not
released. So q_t is public by the time it is used, and the model costs no privacy (`conditional`).

Floats differ between machines, so q_t does. It is rounded coarsely to whole units, and the random
bits of a position are bound to a digest of those units: an equal base repeats the same draw, any
other base draws independently. The same bits under two bases would void the composition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.staircase.conditional import Base, draw
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.mechanisms.staircase.units import safe_for_null, word_units
from inkblur.protocols import DrawnText
from inkblur.rng import Rng, Rows
from inkblur.types import Ids

Shares = NDArray[np.int64]  # (texts, words): what is expected next, in whole parts of SCALE

SCALE = 1 << 16  # of the model's probabilities: finer ones differ more often between machines
DELTA = 0.1  # the share of q that follows frequency alone, so that no word is out of reach
_TOGETHER = 32  # texts that advance together

MODEL_IS_PUBLIC = (
    "the language model is public and was not trained on the protected text; it reads only words "
    "that were released already"
)


class ModelReading(Protocol):
    """A language model part of the way through some texts."""

    def shares(self) -> Shares:
        """What it expects next, (texts, words): whole numbers, at least one above 0 in a row."""
        ...

    def marks(self) -> list[str]:
        """The punctuation it would write before the next word of each text; mostly none."""
        ...

    def add(self, words: Ids) -> None:
        """Read the next released word of each text."""
        ...

    def keep(self, texts: int) -> None:
        """Go on with the first of the texts only: the others have ended."""
        ...


class NextWords(Protocol):
    """A public language model over the words of one table."""

    name: str
    fingerprint: str  # of its weights, and of how it scores words

    def begin(self, texts: int) -> ModelReading:
        """Start so many texts."""
        ...


class FluentStaircase(WordMechanism):
    """Staircase draws one after the other, each from a base that knows what was already said.

    A text is drawn as a whole (:meth:`replace_texts`), so a single word has no distribution of its
    own here. `delta` is the share of the base that follows the public frequencies alone.
    """

    name = "staircase"
    batch = 5_000

    def __init__(
        self,
        embedding: Embedding,
        *,
        epsilon: float,
        model: NextWords,
        tau: float | None = None,
        delta: float = DELTA,
        cache: Path | str | None = "",
    ) -> None:
        super().__init__(embedding)
        # The same steps, order and guarantee as with a base that never changes.
        self.fixed = Staircase(
            embedding, epsilon=epsilon, tau=tau, frequency_power=1.0, cache=cache
        )
        self.steps = self.fixed.steps
        if not 0 < delta < 1:
            raise ParameterError(f"delta must lie between 0 and 1, both excluded, got {delta}")
        self.model, self.delta = model, delta
        followed = max(len(embedding), round(self.steps.units * delta))
        counts = embedding.counts
        self._frequencies = word_units(counts, len(embedding), 1.0, followed)
        self._expected = self.steps.units - followed  # units that follow the model
        if self._expected < SCALE + len(embedding) or not safe_for_null(self.steps, 1):
            raise ParameterError(
                f"tau {self.fixed.tau:g} leaves too few units for a language model at epsilon "
                f"{epsilon:g}"
            )
        self.guarantee = self.fixed.guarantee.assuming(MODEL_IS_PUBLIC)

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon a word, the mass of near words, and what the base is made of."""
        return {
            "epsilon": self.fixed.epsilon,
            "tau": self.fixed.tau,
            "base": "lm",
            "language_model": self.model.name,
        }

    @property
    def spec(self) -> str:
        """Names the model too; each position's bits are bound to its base besides."""
        model = f"lm={self.model.fingerprint} delta={self.delta!r} scale={SCALE}"
        return f"{self.fixed.spec} {model}"

    def base(self, shares: NDArray[np.int64]) -> Base:
        """Units of all words at one position from what the model expects, (words,); M in all."""
        total = int(shares.sum())
        if total <= 0 or (shares < 0).any() or total > self._expected:
            raise ValueError("a language model's shares must be whole numbers with a sum above 0")
        units = self._frequencies + shares * (self._expected // total)
        units[0] += self.steps.units - int(units.sum())  # what the division leaves over
        return units

    def replace_texts(self, texts: Sequence[Ids], streams: Sequence[Rng]) -> list[DrawnText]:
        """Draw these texts, each from a stream of its own, some of them together."""
        out: list[DrawnText] = [DrawnText(np.empty(0, dtype=np.int64), "", "")] * len(texts)
        # Lengths are released with the texts; the longest first, so that those that go on are
        # always the first ones.
        order = sorted(range(len(texts)), key=lambda text: -len(texts[text]))
        for start in range(0, len(order), _TOGETHER):
            some = order[start : start + _TOGETHER]
            drawn = self._together([texts[i] for i in some], [streams[i] for i in some])
            for place, text in zip(some, drawn, strict=True):
                out[place] = text
        return out

    def _together(self, texts: Sequence[Ids], streams: Sequence[Rng]) -> list[DrawnText]:
        words: list[list[int]] = [[] for _ in texts]
        written: list[str] = [""] * len(texts)
        bases = [hashlib.blake2b(digest_size=16) for _ in texts]
        reading = self.model.begin(len(texts))
        for position in range(len(texts[0]) if texts else 0):
            going = sum(len(text) > position for text in texts)
            reading.keep(going)
            entering = np.array([text[position] for text in texts[:going]])
            keys = self.fixed.grid.keys(entering)  # the null word's row is not used
            marks = reading.marks()
            for row, shares in enumerate(reading.shares()):
                base = self.base(shares)
                digest = hashlib.blake2b(base.astype("<i8").tobytes(), digest_size=32).digest()
                bases[row].update(digest)
                bits = streams[row].child("position", str(position), digest).bits(1, 1)
                word = draw(self.steps, base, int(entering[row]), keys[row], int(bits[0, 0]))
                words[row].append(word)
                written[row] = _continued(written[row], marks[row], self.vocabulary[word])
            reading.add(np.array([words[row][-1] for row in range(going)]))
        return [
            DrawnText(np.array(ids, dtype=np.int64), f"{text}." if text else "", base.hexdigest())
            for ids, text, base in zip(words, written, bases, strict=True)
        ]

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """The words of one text; its stream must be its own."""
        if not isinstance(rng, Rng):
            raise ParameterError("with a language model, texts are drawn one by one")
        return self.replace_texts([ids], [rng])[0].ids

    def survival(self, ids: Ids, rng: Rng) -> float:
        """About the probability that these words stay: that of the base without the model."""
        return self.fixed.survival(ids)

    def distribution(self, word: str, rng: Rng, *, draws: int = 10_000) -> NoReturn:
        """None: where a word goes depends on what was released before it."""
        raise ParameterError("with a language model, where a word goes depends on the text so far")


def _continued(text: str, mark: str, word: str) -> str:
    """The text so far, with the model's own punctuation and capitals: it read released words."""
    begins = not text or mark in (".", "?", "!")
    shown = word[:1].upper() + word[1:] if begins else word
    if not text:
        return shown
    return f"{text}{mark} {shown}"
