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
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.staircase.conditional import DELTA, FIT, Bases, owner_of
from inkblur.mechanisms.staircase.device_draw import DeviceDraw
from inkblur.mechanisms.staircase.draw import drawn_units
from inkblur.mechanisms.staircase.expectation import SCALE, Expected, ModelReading, NextWords, Small
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.protocols import DrawnText
from inkblur.rng import Bits, JoinedRows, Rng, Rows
from inkblur.types import Ids

MODEL_IS_PUBLIC = (
    "the language model is public and was not trained on the protected text; it reads only words "
    "that were released already"
)
MODEL_ROUNDS = (
    "rounding in the language model does not matter: which texts it reads together changes the "
    "last digits of what it expects"
)


class FluentStaircase(WordMechanism):
    """Staircase draws one after the other, each from a base that knows what was already said.

    A text is drawn as a whole (:meth:`replace_texts`), so a single word has no distribution of its
    own here. `delta` is the share of the base that follows the public frequencies alone.
    """

    name = "staircase"

    def __init__(
        self,
        embedding: Embedding,
        *,
        epsilon: float,
        model: NextWords,
        tau: float | None = None,
        delta: float = DELTA,
        fit: float = FIT,
        cache: Path | str | None = "",
    ) -> None:
        super().__init__(embedding)
        # The same steps, order and guarantee as with a base that never changes.
        self.fixed = Staircase(
            embedding, epsilon=epsilon, tau=tau, frequency_power=1.0, cache=cache
        )
        self.steps = self.fixed.steps
        self.model = model
        # The state of a model that reads a group of texts takes much memory, and a group uses all
        # processors: so one group is read at a time, however many threads release texts.
        self._turn = threading.Lock()
        self.bases = Bases(self.steps, embedding.counts, len(embedding), delta=delta, fit=fit)
        self.guarantee = self.fixed.guarantee.assuming(MODEL_IS_PUBLIC, MODEL_ROUNDS)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_turn"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=threading.Lock())

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon a word, the mass of near words, and what the base is made of."""
        return {
            "epsilon": self.fixed.epsilon,
            "tau": self.fixed.tau,
            "base": "lm",
            "language_model": self.model.name,
            "delta": self.bases.delta,
            "fit": self.bases.fit,
            **self.model.circumstances,
        }

    @property
    def spec(self) -> str:
        """Names the model too; each position's bits are bound to its base besides."""
        bases = f"delta={self.bases.delta!r} fit={self.bases.fit!r} scale={SCALE}"
        return f"{self.fixed.spec} lm={self.model.fingerprint} {bases}"

    @property
    def batch_texts(self) -> int:
        """Twice as many as advance together, so that those of about one length may."""
        return 2 * self.model.together

    def replace_texts(self, texts: Sequence[Ids], streams: Sequence[Rng]) -> list[DrawnText]:
        """Draw these texts, each from a stream of its own, some of them together."""
        words: list[list[int]] = [[] for _ in texts]
        written: list[list[str]] = [[] for _ in texts]
        bases = [hashlib.blake2b(digest_size=16) for _ in texts]
        with self._turn:
            for reading, rows, places, expected in self._places(texts):
                own: list[Rng] = []
                for (text, place), digest in zip(places, expected.digests(), strict=True):
                    bases[text].update(digest)
                    own.append(streams[text].child("position", str(place), digest))
                bits = JoinedRows(own, [1] * len(own)).bits(len(own), 1)[:, 0]
                entering = np.array([texts[text][place] for text, place in places])
                drawn = self.draw(expected, entering, bits)
                shown = reading.add(rows, drawn)
                for (text, _), word, piece in zip(places, drawn.tolist(), shown, strict=True):
                    words[text].append(word)
                    written[text].append(piece)
        return [
            DrawnText(
                np.array(ids, dtype=np.int64),
                "".join([*pieces, "."]) if pieces else "",
                base.hexdigest(),
            )
            for ids, pieces, base in zip(words, written, bases, strict=True)
        ]

    def expectations(self, texts: Sequence[Ids]) -> list[list[tuple[Small, Small]]]:
        """What the model expected at each place of released texts: public, so anybody's to know."""
        found: list[list[tuple[Small, Small]]] = [[] for _ in texts]
        for reading, rows, places, expected in self._places(texts):
            for (text, _), row in zip(places, expected, strict=True):
                found[text].append(row)
            reading.add(rows, np.array([texts[text][place] for text, place in places]))
        return found

    def _places(
        self, texts: Sequence[Ids]
    ) -> Iterator[tuple[ModelReading, Ids, list[tuple[int, int]], Expected]]:
        """All places of the texts, those of several texts at a time: a reading, the rows that wait
        in it, the text and place of each row, and what is expected there. The caller must add the
        released words to the reading before it goes on.
        """
        # Texts of about one length advance together. Lengths are released with the texts.
        order = sorted(range(len(texts)), key=lambda text: -len(texts[text]))
        for start in range(0, len(order), self.model.together):
            some = order[start : start + self.model.together]
            lengths = np.array([len(texts[text]) for text in some])
            done = np.zeros(len(some), dtype=np.int64)
            reading = self.model.begin(len(some))
            reading.end(np.flatnonzero(lengths == 0))
            while len(rows := reading.waiting()):
                places = [(some[row], int(done[row])) for row in rows.tolist()]
                yield reading, rows, places, reading.expected(rows)
                done[rows] += 1
                reading.end(rows[done[rows] == lengths[rows]])

    def draw(self, expected: Expected, entering: Ids, bits: Bits) -> Ids:
        """The words that these numbers of 64 random bits draw for entering ones, where these are
        expected.
        """
        if self.model.device != "cpu":
            return self.many_draws.words(expected, entering, bits)
        near, units = drawn_units(self.steps, entering, bits)
        keys = self.fixed.grid.keys(entering)  # the null word's row is not used
        out = np.empty(len(entering), dtype=np.int64)
        for row, (words, parts) in enumerate(expected):
            x = int(entering[row])
            order = self.bases.order(keys[row], x, words, parts)
            marked = self.steps.near if near[row] else None
            out[row] = owner_of(marked, int(units[row]), self.bases.units(words, parts), x, order)
        return out

    @cached_property
    def many_draws(self) -> DeviceDraw:
        """The same draws, many at a time, where the model runs."""
        return DeviceDraw(self.bases, self.fixed.grid, self.model.device)

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
