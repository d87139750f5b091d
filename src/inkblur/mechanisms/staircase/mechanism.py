"""The staircase mechanism: every output has one of two weights, whatever the word.

    Q(y | x) = q(y) w / Z,    w = e^epsilon for y near x, 1 for the others,

where the words near x are the nearest ones until their mass under q is tau, the last counted in
part. The mass near x is the same for every x, so Z = tau e^epsilon + 1 - tau is too, and between
*any* two words the loss is epsilon. The null word, for which nothing is near, draws from q itself.
`docs/staircase.md` has the proof, the picture and the relatives; the name is Geng and Viswanath's.
"""

from __future__ import annotations

import hashlib
import math
import threading
from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.blas import processors
from inkblur.cache import cache_folder
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import PUBLIC_EMBEDDING, SECRET_KEY, Guarantee
from inkblur.mechanisms.base import DiscreteMechanism, with_adaptations
from inkblur.mechanisms.staircase.nearness import Grid, Nearness, choose_tau
from inkblur.mechanisms.staircase.sets import NearSets, UnsoundSets, read_sets, write_sets
from inkblur.mechanisms.staircase.units import (
    MOST_EPSILON,
    Draw,
    Steps,
    WordUnits,
    checked_power,
    safe_for_null,
    word_units,
)
from inkblur.rng import Bits, Rng, Rows
from inkblur.types import NULL_ID, Array, Ids, Metric, inner_fraction, positive

_TOKENS = 1 << 21  # draws in flight
_PIECE = 1 << 15  # draws that one thread takes at a time
_SMALL = 4096  # words: all sets at once, and no file
_CHUNK = 1024  # words whose sets are made at a time
_STORE_BYTES = 384 << 20  # for sets; what finds no room is made again each time
_WHOLE = 8  # once more than one word in 8 has occurred, the sets of all words are made and kept


class TwoSteps(DiscreteMechanism):
    """Two weights and one sum for every word; a subclass says which units each word marks."""

    name = "staircase"
    batch = 50_000
    width = 1  # random numbers of 64 bits a word
    units: WordUnits  # c(y): units that each word owns, (words,)

    epsilon: float

    def _begin(self, steps: Steps, units: WordUnits, setting: str, instead: str) -> None:
        """Take the steps and what each word owns, and state what a draw loses at most."""
        fewest = int(units.min())
        if not safe_for_null(steps, fewest):
            raise ParameterError(
                f"{setting} leaves too few units per word at epsilon {self.epsilon:g}; choose a "
                f"larger epsilon, or {instead}"
            )
        self.steps, self.units = steps, units
        most = min(self.epsilon, MOST_EPSILON)  # a / b is at most e^most, and nearly that
        if steps.near < fewest:  # no word lies in a set with all of its units: less is attained
            ratio = 1 + steps.step / steps.low * (steps.near / fewest)
            most = min(most, math.log(ratio) + 2.0**-40)
        stated = Guarantee(
            epsilon=most,
            metric=Metric.DISCRETE,
            assumptions=(PUBLIC_EMBEDDING, SECRET_KEY),
        )
        self.guarantee = with_adaptations(self.embedding, stated)

    @abstractmethod
    def _draws(self, ids: Ids) -> Iterator[tuple[Ids, Draw]]:
        """Positions in `ids`, with what draws for them; each position once."""

    def weights(self, word: int) -> NDArray[np.uint64]:
        """How many of the 2^64 equally likely numbers draw each word for this id, (words,)."""
        (draw,) = (draw for here, draw in self._draws(np.array([word])) if len(here))
        return draw.weights(word)

    def probabilities(self, ids: Ids) -> Array:
        """Where these words go, (ids, words); NULL_ID is q itself."""
        rows = np.empty((len(ids), len(self.embedding)))
        for positions, draw in self._draws(ids):
            for position in positions.tolist():
                rows[position] = draw.weights(int(ids[position]))
        rows *= 2.0**-64
        return rows

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """A draw for each id; token i uses row i of `rng`, one number of 64 bits."""
        out = np.empty(len(ids), dtype=np.int64)
        for start in range(0, len(ids), _TOKENS):
            part = slice(start, start + _TOKENS)
            out[part] = self.draw(ids[part], rng.bits(len(ids[part]), self.width)[:, 0])
        return out

    def draw(self, ids: Ids, bits: Bits) -> Ids:
        """The words that these numbers of 64 random bits draw for these ids."""
        out = np.empty(len(ids), dtype=np.int64)
        for positions, draw in self._draws(ids):
            pieces = [positions[s : s + _PIECE] for s in range(0, len(positions), _PIECE)]

            def some(piece: Ids, draw: Draw = draw) -> None:
                out[piece] = draw.words(ids[piece], bits[piece])

            if len(pieces) > 1:
                with ThreadPoolExecutor(processors()) as pool:
                    list(pool.map(some, pieces))
            elif pieces:
                some(pieces[0])
        return out


class Staircase(TwoSteps):
    """Weights e^epsilon for near words and 1 for all others: epsilon between any two words.

    `tau` is the mass of the near words under q, which is proportional to a power of the public
    frequencies, `frequency_power` in [0, 1] (uniform where the table has no counts). Both are
    chosen from public data where not given: see `choice`. `cache` is the folder that near sets are
    kept in, by default the user's own; None keeps nothing, and then only the sets of words that
    occur are computed.

    >>> table = Embedding(["cat", "dog", "sky"], [[1.0, 0.1], [1.0, 0.3], [-1.0, 0.2]], name="toy")
    >>> mechanism = Staircase(table, epsilon=2.0, tau=0.5)
    >>> mechanism.distribution("cat").probabilities.round(3).tolist()
    [0.587, 0.333, 0.079]
    """

    def __init__(
        self,
        embedding: Embedding,
        *,
        epsilon: float,
        tau: float | None = None,
        frequency_power: float | None = None,
        cache: Path | str | None = "",
    ) -> None:
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        if tau is not None:
            tau = inner_fraction(tau, "tau")
        if frequency_power is not None:
            frequency_power = checked_power(frequency_power) / 16
        self._folder = cache_folder() if cache == "" else Path(cache) if cache else None
        # The metric of an adapted table is Euclidean: how long its profiles are is what it learned.
        self.nearness = Nearness.EUCLIDEAN if embedding.adaptations else Nearness.COSINE
        self.tau, self.frequency_power = choose_tau(
            embedding, self.nearness, self.epsilon, tau, frequency_power, self._folder
        )
        steps = Steps.fit(epsilon=self.epsilon, tau=self.tau, words=len(embedding))
        units = word_units(embedding.counts, len(embedding), self.frequency_power, steps.units)
        self._begin(steps, units, f"tau {self.tau:g}", "a tau farther from 0 and 1")
        grid = Grid(embedding, self.nearness)
        self._sets = NearSets(grid, units, steps.near, _STORE_BYTES)
        self._draw = Draw(steps, self._sets)
        self._turn = threading.Lock()
        self._looked = False  # for stored sets
        self._full = False  # no room for more sets

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon a word, the mass of near words, and the power of frequency that q follows."""
        return {"epsilon": self.epsilon, "tau": self.tau, "frequency_power": self.frequency_power}

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again from its parameters: the sets built so far show which words were drawn."""
        arguments: dict[str, Any] = {**self.parameters, "cache": self._folder}
        return partial(Staircase, **arguments), (self.embedding,)

    @cached_property
    def spec(self) -> str:
        """Names the units, the steps and the order too: bits must never choose in two ways."""
        units = hashlib.sha256(self.units.astype("<i8").data).hexdigest()
        steps = f"a={self.steps.high} b={self.steps.low} T={self.steps.near}"
        return f"{super().spec} {self.nearness.value} {steps} units={units} draw=1"

    @property
    def nbytes(self) -> int:
        """Bytes held beside the table."""
        sets = self._sets
        return sum(held.nbytes for held in (sets, sets.grid.points, sets.units, self._draw.ends))

    def prepare(self, ids: Ids | None = None) -> None:
        """Have the near sets of these words ready, or of all words, as far as there is room."""
        wanted = np.arange(len(self.embedding)) if ids is None else ids[ids != NULL_ID]
        if not self._full and not self._sets.present[wanted].all():
            with self._turn:  # two threads would do the same work
                self._prepare(wanted)

    def _prepare(self, wanted: Ids) -> None:
        words, sets = len(self.embedding), self._sets
        folder = self._folder if words > _SMALL else None
        key = self.spec + " bits" * sets.as_bits
        everyone = np.arange(words)
        if folder is not None and not self._looked:
            self._looked = True
            body = read_sets(folder, key)
            part = None if body is None else sets.of_bytes(body)
            if part is not None:
                with suppress(UnsoundSets):  # then they are written anew
                    sets.add(everyone, part)
        present = sets.present
        missing = np.unique(wanted[~present[wanted]])
        many = int(present.sum()) + len(missing) > words // _WHOLE
        if len(missing) and (
            words <= _SMALL or (folder is not None and many and sets.bytes_of_all() <= _STORE_BYTES)
        ):
            part = sets.build(everyone)
            sets.add(everyone, part)
            if folder is not None:
                write_sets(folder, key, part.arrays())
            return
        for start in range(0, len(missing), _CHUNK):
            some = missing[start : start + _CHUNK]
            if not sets.add(some, sets.build(some)):
                self._full = True
                return

    def _draws(self, ids: Ids) -> Iterator[tuple[Ids, Draw]]:
        """Positions in `ids`, with what draws for them: kept sets, or new ones for lack of room."""
        self.prepare(ids)
        known = (ids == NULL_ID) | self._sets.present[ids]
        yield np.flatnonzero(known), self._draw
        words, which = np.unique(ids[~known], return_inverse=True)
        positions = np.flatnonzero(~known)
        for start in range(0, len(words), _CHUNK):
            some = words[start : start + _CHUNK]
            part = self._sets.build(some)
            sets = NearSets(self._sets.grid, self.units, self.steps.near, part.entries.nbytes)
            sets.add(some, part)
            here = (which >= start) & (which < start + len(some))
            yield positions[here], Draw(self.steps, sets)

    def survival(self, ids: Ids, rng: Rng | None = None) -> float:
        """Mean probability that these words come out unchanged: exact, so `rng` is not used."""
        units = self.units[ids[ids != NULL_ID]]
        near = np.minimum(units, self.steps.near)
        weights = units * float(self.steps.low) + near * float(self.steps.step)
        return float(weights.sum() * 2.0**-64 / len(ids))


def make_staircase(
    embedding: Embedding,
    *,
    epsilon: float,
    tau: float | None = None,
    frequency_power: float | None = None,
    near: str = "vector",
) -> TwoSteps:
    """A `Staircase`; with `near="label"` a `ClassStaircase`."""
    if near == "vector":
        return Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=frequency_power)
    from inkblur.mechanisms.staircase.by_label import ClassStaircase

    if tau is not None:
        raise ParameterError(
            '`near="label"` has no tau: near are all words of a label, each with the same mass; '
            "leave out `tau=`"
        )
    return ClassStaircase(embedding, epsilon=epsilon, frequency_power=frequency_power)
