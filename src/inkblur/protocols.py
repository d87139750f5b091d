"""Every seam on one page: what a part must offer to fit, and the values that cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from inkblur.guarantees import Guarantee
from inkblur.rng import RowAddresses, Rows
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

    @property
    def exact(self) -> bool:
        """Whether the probabilities are computed rather than estimated."""
        return self.draws is None


@dataclass(frozen=True, slots=True, eq=False)
class Elliptical:
    """Elliptical noise in numbers, for a device that draws it: see `noise.mahalanobis`."""

    epsilon: float
    root: Points  # R^(1/2), (n, n), symmetric
    radius: Array  # the series of `noise.radius`


class Noise(Protocol):
    """Random displacement of vectors, with the inequality it satisfies."""

    epsilon: float
    guarantee: Guarantee
    width: int  # uniforms it uses for one token; fixed, so that any token's noise is addressable

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, dimension); row i uses row i of the supply."""
        ...

    def log_density(self, points: Points, centers: Points) -> Array:
        """Log-density of landing on `points` from `centers`, row by row: tests check the claim."""
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


@runtime_checkable
class DrawingBackend(Backend, Protocol):
    """A backend that can also draw the noise, where the search runs."""

    def nearest_around(self, ids: Ids, null: Array, noise: Elliptical, rows: RowAddresses) -> Ids:
        """Nearest words of noisy copies of words' vectors; row i of `rows` serves word ids[i].

        The null word's vector is `null`, (n,). The noisy vectors are those of the noise itself to
        about 1e-15 of their noise, and the answer is exact for them.
        """
        ...
