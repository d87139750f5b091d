"""Every seam on one page: what a part must offer to fit, and the values that cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from inkblur.guarantees import Guarantee
from inkblur.rng import Rows
from inkblur.types import Array, Ids, Points, Vectors


@dataclass(frozen=True, slots=True)
class Release:
    """Released words, and what is promised about them."""

    words: tuple[str, ...]
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class Distribution:
    """Where one word goes: probabilities over the vocabulary."""

    word: str
    probabilities: Array  # (vocabulary,), sums to 1
    draws: int | None  # None: exact; otherwise estimated from that many draws


class Noise(Protocol):
    """Random displacement of vectors, with the inequality it satisfies."""

    epsilon: float
    guarantee: Guarantee
    width: int  # uniforms it uses for one token; fixed, so that any token's noise is addressable

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, dimension); row i uses row i of the supply."""
        ...

    def distance(self, left: Points, right: Points) -> Array:
        """The guarantee's metric between rows, (tokens,)."""
        ...

    def pairwise(self, left: Points, right: Points) -> Array:
        """The guarantee's metric between all pairs, (left, right): the cost of moving words."""
        ...


class Backend(Protocol):
    """Exact nearest-word search; the fast ones are asserted equal to the plain one."""

    def put(self, vectors: Vectors) -> None:
        """Take the vocabulary's vectors, (words, dimension)."""
        ...

    def nearest(self, queries: Points) -> Ids:
        """For each query the id at least Euclidean distance; ties go to the lowest id."""
        ...
