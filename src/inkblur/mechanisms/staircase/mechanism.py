"""The staircase mechanism: every output has one of two weights, whatever the word.

    Q(y | x) = q(y) w / Z,    w = e^epsilon for y near x, 1 for the others,

where the words near x are the nearest ones until their mass under q is tau, the last counted in
part. The mass near x is the same for every x, so Z = tau e^epsilon + 1 - tau is too, and between
*any* two words the loss is epsilon. The null word, for which nothing is near, draws from q itself.
`docs/staircase.md` has the proof and the picture.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inkblur.cache import cache_folder
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.choice import chosen
from inkblur.mechanisms.staircase.class_staircase import ClassStaircase
from inkblur.mechanisms.staircase.nearness import Grid, Nearness
from inkblur.mechanisms.staircase.packed import PackedPart, PackedSets, shorter
from inkblur.mechanisms.staircase.sets import NearSets, Part, Sets, UnsoundSets
from inkblur.mechanisms.staircase.stored import read_sets, write_sets
from inkblur.mechanisms.staircase.two_steps import TwoSteps
from inkblur.mechanisms.staircase.units import (
    Draw,
    Steps,
    WordUnits,
    checked_power,
    safe_for_null,
    word_units,
)
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Ids, inner_fraction

_SMALL = 4096  # words: all sets at once, and no file
_CHUNK = 1024  # words whose sets are made at a time
_STORE_BYTES = 384 << 20  # for sets; what finds no room is made again each time
_WHOLE = 8  # once more than one word in 8 has occurred, the sets of all words are made and kept


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
        super().__init__(embedding, epsilon=epsilon)
        if tau is not None:
            tau = inner_fraction(tau, "tau")
        if frequency_power is not None:
            frequency_power = checked_power(frequency_power) / 16
        self._folder = cache_folder() if cache == "" else Path(cache) if cache else None
        # The metric of an adapted table is Euclidean: how long its profiles are is what it learned.
        self.nearness = Nearness.EUCLIDEAN if embedding.adaptations else Nearness.COSINE
        self.tau, self.frequency_power = chosen(
            embedding,
            self.nearness,
            self.epsilon,
            tau=tau,
            power=frequency_power,
            folder=self._folder,
        )
        self.steps = Steps.fit(epsilon=self.epsilon, tau=self.tau, words=len(embedding))
        units = word_units(embedding.counts, len(embedding), self.frequency_power, self.steps.units)
        if not safe_for_null(self.steps, int(units.min())):
            raise ParameterError(
                f"tau {self.tau:g} leaves too few units per word at epsilon {epsilon:g}; choose a "
                "larger epsilon, or a tau farther from 0 and 1"
            )
        self._packed = shorter(float(self.steps.tau), len(embedding))
        self._sets = self._new_sets(Grid(embedding, self.nearness), units, _STORE_BYTES)
        self._draw = Draw(self.steps, self._sets)
        self._turn = threading.Lock()
        self._looked = False  # for stored sets
        self._full = False  # no room for more sets

    def _new_sets(self, grid: Grid, units: WordUnits, room: int) -> NearSets[Any, Any]:
        """An empty store of sets, with room for this many bytes."""
        kind = PackedSets if self._packed else Sets
        return kind(grid, units, self.steps.near, room)

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon a word, the mass of near words, and the power of frequency that q follows."""
        return {"epsilon": self.epsilon, "tau": self.tau, "frequency_power": self.frequency_power}

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again from its parameters: the sets built so far show which words were drawn."""
        return _made_again, (self.embedding, self.parameters, self._folder)

    @cached_property
    def spec(self) -> str:
        """Names the units, the steps and the order too: bits must never choose in two ways."""
        return f"{super().spec} {self._setting} draw=1"

    @cached_property
    def _setting(self) -> str:
        """What the near sets are made from, beside the vectors."""
        units = hashlib.sha256(self._sets.units.astype("<i8").data).hexdigest()
        steps = self.steps
        return f"{self.nearness.value} a={steps.high} b={steps.low} T={steps.near} units={units}"

    @property
    def grid(self) -> Grid:
        """Nearness between words."""
        return self._sets.grid

    @property
    def units(self) -> WordUnits:
        """c(y): units that each word owns, (words,)."""
        return self._sets.units

    @property
    def nbytes(self) -> int:
        """Bytes held beside the table."""
        sets = self._sets
        return sum(held.nbytes for held in (sets, sets.grid.points, sets.units, self._draw.ends))

    def prepare(self, ids: Ids | None = None) -> None:
        """Have the near sets of these words ready, or of all words, as far as there is room."""
        words = len(self.embedding)
        wanted = np.arange(words) if ids is None else ids[ids != NULL_ID]
        if not self._full and len(self._sets.missing(wanted)):
            with self._turn:  # two threads would do the same work
                self._prepare(wanted)

    def _prepare(self, wanted: Ids) -> None:
        words, sets = len(self.embedding), self._sets
        kept = self._folder is not None and words > _SMALL
        if kept and not self._looked:
            self._looked = True
            self._read()
        missing = sets.missing(wanted)
        many = sets.known + len(missing) > words // _WHOLE
        if len(missing) and (
            words <= _SMALL or (kept and many and sets.bytes_of_all() <= _STORE_BYTES)
        ):
            part = sets.build(np.arange(words))
            sets.add(np.arange(words), part)
            if kept and self._folder is not None:
                write_sets(self._folder, self._key, part.arrays())
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
            room = sum(array.nbytes for array in part.arrays())
            sets = self._new_sets(self._sets.grid, self._sets.units, room)
            sets.add(some, part)
            here = (which >= start) & (which < start + len(some))
            yield positions[here], Draw(self.steps, sets)

    @property
    def _key(self) -> str:
        return f"{self.embedding.sha256} {self._setting}" + " bits" * self._packed

    def _read(self) -> None:
        """Take the stored sets, if there are any and they are sound."""
        words = len(self.embedding)
        body = None if self._folder is None else read_sets(self._folder, self._key)
        if body is not None:
            part = (PackedPart if self._packed else Part).of_bytes(body, words)
            if part is not None:
                with suppress(UnsoundSets):  # then they are written anew
                    self._sets.add(np.arange(words), part)

    def survival(self, ids: Ids, rng: Rng | None = None) -> float:
        """Mean probability that these words come out unchanged: exact, so `rng` is not used."""
        units = self.units[ids[ids != NULL_ID]]
        near = np.minimum(units, self.steps.near)
        weights = units * float(self.steps.low) + near * float(self.steps.step)
        return float(weights.sum() * 2.0**-64 / len(ids))


def _made_again(embedding: Embedding, parameters: dict[str, Any], folder: Path | None) -> Staircase:
    return Staircase(embedding, cache=folder, **parameters)


def make_staircase(
    embedding: Embedding,
    *,
    epsilon: float,
    tau: float | None = None,
    frequency_power: float | None = None,
    near: str = "vector",
) -> Staircase | ClassStaircase:
    """A `Staircase`; with `near="label"` a `ClassStaircase`."""
    if near == "vector":
        return Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=frequency_power)
    if tau is not None:
        raise ParameterError(
            '`near="label"` has no tau: near are all words of a label, each with the same mass; '
            "leave out `tau=`"
        )
    return ClassStaircase(embedding, epsilon=epsilon, frequency_power=frequency_power)
