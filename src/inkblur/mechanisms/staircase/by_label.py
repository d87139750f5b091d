"""The staircase by label: near a word are all words that speak for the same label.

Words of an adapted table fall into K classes that own equally many units of q. A word marks the
units of its class, so all words of a class have one law: what comes out says which class a word
has, as randomized response over K classes would, and nothing else about it.

An adapted table's vectors end in label profiles: for each column of labels the centered log-odds of
its L labels given the word, times a constant, in Helmert's L - 1 coordinates. The largest of a
word's log-odds, over all columns, names the label that it speaks for most. Words that say little
are one class of their own, the neutral one: those without a profile, which the corpus never had,
and of the others the half whose profiles are shorter.

Classes are part of what random bits are bound to, so every machine must find the same ones: only
operations that IEEE 754 rounds in one way are used, in a fixed order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding, PublicCounts
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.mechanism import TwoSteps
from inkblur.mechanisms.staircase.units import (
    MOST_EPSILON,
    Draw,
    Steps,
    WordUnits,
    checked_power,
    word_units,
)
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, positive

_ROWS = 1 << 14  # words whose log-odds are held at a time


def word_classes(embedding: Embedding) -> Ids:
    """The class of each word, from 0 without gaps, (words,): neutral words, then label by label.

    Labels that no word speaks for have no class.
    """
    columns = [column for each in embedding.adaptations for column in each.columns]
    if not columns:
        raise ParameterError(
            f"{embedding.name} knows no label, so no words are near by label: adapt it to public "
            "texts with labels (`inkblur embeddings adapt`), or leave out `near=`"
        )
    for column in columns:
        if column.dimensions != len(column.counts) - 1:
            raise ParameterError(
                f"{embedding.name} keeps {column.dimensions} axes of the {len(column.counts):,} "
                f"labels {column.name!r}, and they do not say which label a word speaks for: adapt "
                f"it to at most {column.dimensions + 1} labels, or leave out `near=`"
            )
    sizes = [column.dimensions for column in columns]
    profiles = embedding.vectors[:, embedding.dimension - sum(sizes) :]
    squares, spoken = np.empty(len(embedding)), np.empty(len(embedding), dtype=np.int64)
    for start in range(0, len(embedding), _ROWS):
        rows = slice(start, start + _ROWS)
        block = profiles[rows].astype(np.float64)
        odds = [log_odds(part) for part in np.split(block, np.cumsum(sizes)[:-1], axis=1)]
        spoken[rows] = 1 + np.hstack(odds).argmax(axis=1)  # the first of equal ones
        squares[rows] = np.cumsum(block * block, axis=1)[:, -1]
    heard = np.sort(squares[squares > 0])
    if len(heard):
        spoken[squares < heard[len(heard) // 2]] = 0
    present, classes = np.unique(spoken, return_inverse=True)
    if not len(heard) or len(present) < 2:
        raise ParameterError(
            f"the words of {embedding.name} all say the same about its labels, so `near=label` "
            "would tell nothing apart: use a larger vocabulary or corpus, or leave out `near=`"
        )
    return classes.astype(np.int64)


def log_odds(profiles: Array) -> Array:
    """Centered numbers, one a label, from Helmert's coordinates, (words, labels - 1).

    >>> log_odds(np.array([[math.sqrt(2.0)]])).round(6).tolist()
    [[1.0, -1.0]]
    """
    words, axes = profiles.shape
    odds = np.zeros((words, axes + 1))
    for place in range(1, axes + 1):  # axis: `place` ones, then -place, over its length
        step = profiles[:, place - 1] / math.sqrt(place * (place + 1))
        odds[:, :place] += step[:, None]
        odds[:, place] -= place * step
    return odds


def class_units(counts: PublicCounts | None, classes: Ids, power: float, units: int) -> WordUnits:
    """`units` divided alike among classes, and within each by count^power, at least one a word."""
    each, rest = divmod(units, int(classes.max()) + 1)
    if rest:
        raise ValueError(f"{units} units are not so many equal parts")
    owned = np.empty(len(classes), dtype=np.int64)
    for number in range(int(classes.max()) + 1):
        inside = np.flatnonzero(classes == number)
        own = None if counts is None else counts[inside]
        owned[inside] = word_units(own, len(inside), power, each)
    return owned


class ClassSets:
    """The T units that each class marks: what `Draw` draws from.

    All units stand in a circle, class by class. A class marks T of them from where its own begin:
    its own, but for the few by which T, which has to be a multiple of b, differs from M / K.
    """

    def __init__(self, classes: Ids, units: WordUnits, near: int) -> None:
        self.classes, self.units = classes, units
        self._near = near
        self._order = np.argsort(classes, kind="stable")
        self._ends = np.cumsum(units[self._order])
        self._starts = np.arange(int(classes.max()) + 1) * (self._total // (classes.max() + 1))

    @property
    def _total(self) -> int:
        return int(self._ends[-1])

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """The word that owns unit `places[i]` (below T) of those that `ids[i]` marks."""
        around = (self._starts[self.classes[ids]] + places) % self._total
        found: Ids = self._order[np.searchsorted(self._ends, around, side="right")]
        return found

    def shares(self, word: int) -> WordUnits:
        """How many units of each word this one marks, (words,). They sum to T."""
        owned = self.units[self._order]
        before = self._ends - owned
        start = int(self._starts[self.classes[word]])
        stop = start + self._near

        # Of each word's units, those below `stop` and not below `start`; and past the circle's end.
        inside = np.clip(stop - before, 0, owned) - np.clip(start - before, 0, owned)
        shares = np.empty_like(owned)
        shares[self._order] = inside + np.clip(stop - self._total - before, 0, owned)
        return shares


class ClassStaircase(TwoSteps):
    """Weights e^epsilon for all words of the same class, 1 for others: epsilon between any two.

    Over an adapted table alone. `frequency_power` says how strongly common words of a class are
    preferred; it changes nothing about what a release tells.
    """

    most_epsilon = MOST_EPSILON

    def __init__(
        self, embedding: Embedding, *, epsilon: float, frequency_power: float | None = None
    ) -> None:
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        power = 0.0 if frequency_power is None else frequency_power
        self.frequency_power = checked_power(power) / 16
        classes = word_classes(embedding)
        count = int(classes.max()) + 1
        steps = Steps.fit(epsilon=self.epsilon, tau=1 / count, words=len(embedding), parts=count)
        units = class_units(embedding.counts, classes, self.frequency_power, steps.units)
        self._begin(steps, units, f"frequency_power {power:g}", "a smaller frequency_power")
        self._draw = Draw(steps, ClassSets(classes, units, steps.near))
        self.classes = classes  # of each word, (words,)

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon a word, and the power of frequency that q follows within a class."""
        power = self.frequency_power
        return {"epsilon": self.epsilon, "frequency_power": power, "near": "label"}

    @cached_property
    def spec(self) -> str:
        """Names classes, units and steps too: bits must never choose in two ways."""
        digest = hashlib.sha256(self.classes.astype("<i8").data)
        digest.update(self.units.astype("<i8").data)
        steps = self.steps
        setting = f"a={steps.high} b={steps.low} T={steps.near} classes={digest.hexdigest()}"
        return f"{super().spec} {setting} draw=1"

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again from its parameters."""
        power = self.frequency_power
        return partial(ClassStaircase, epsilon=self.epsilon, frequency_power=power), (
            self.embedding,
        )

    def _draws(self, ids: Ids) -> Iterator[tuple[Ids, Draw]]:
        yield np.arange(len(ids)), self._draw

    def survival(self, ids: Ids, rng: Rng | None = None) -> float:
        """Mean probability that these words come out unchanged: exact, so `rng` is not used."""
        stays = 0.0
        for number in range(int(self.classes.max()) + 1):
            inside = ids[(ids != NULL_ID) & (self.classes[ids] == number)]
            if len(inside):  # all words of a class have one law
                stays += float(self._draw.weights(int(inside[0]))[inside].sum(dtype=np.float64))
        return stays * 2.0**-64 / len(ids)
