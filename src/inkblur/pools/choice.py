"""How much of a label's mass lies near a private text: chosen on the pool alone.

Pool texts play private ones, each left out of the pool and labeled by a classifier that was fitted
without it. With a share s of its label's mass near a text, at this epsilon,

    label(s)   is the probability that the label comes out right,
    meaning(s) the expected cosine of a text and what replaces it, above that of a random text.

The smaller the share, the nearer the texts that come out, but the more often a far one does. What
is maximized is (1 - k) label(s) / max label + k meaning(s) / max meaning, k being `keep_meaning`.
Unless it is said otherwise k is 0: labels are what a pool with labels is built for. Without labels
the share is the largest that keeps (1 + k) / 2 of the most meaning that any share keeps, k being
0.5: a larger share tells an attacker less about who wrote the text, for the same epsilon.

Only operations that IEEE 754 rounds in one way are used, in a fixed order: a choice is part of the
spec that a release's draws are bound to, so it has to be the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inkblur.blas import one_thread
from inkblur.mechanisms.staircase.units import heights
from inkblur.pools.encoder import Whole
from inkblur.pools.order import LARGE, Nearest, Order, text_units
from inkblur.pools.pool import Pool
from inkblur.types import Array, Ids, Vectors

_UNLABELED = 0.5  # k where there are no labels
_SHARES = tuple(
    float(f"{digits}e{exponent}") for exponent in range(-6, 0) for digits in (1, 1.5, 2, 3, 5, 7)
)
_SAMPLE = 256  # texts that play private ones, at even steps through the pool
_FEWEST = 4  # texts near a private one, at least
_HELD = 1 << 25  # products that are held at once: there are fewer such texts in a large pool


@dataclass(frozen=True, slots=True)
class PoolExpectation:
    """What to expect of a release with this share of a label's mass near each text."""

    share: float  # of a label; above 1 where that of others is near too
    label: float  # probability that the label comes out right; 1 where there are no labels
    meaning: float  # mean cosine of a text and what replaces it
    random: float  # mean cosine of a text and one drawn from q
    first: Nearest = Nearest.LABEL  # what comes first in the order; the share is of the pool else

    def sentence(self, labels: int) -> str:
        """For the person who is about to release."""
        near = f"share {self.share:g} of the pool is near a text"
        if labels > 1 and self.first is Nearest.LABEL:
            near = f"share {self.share:g} of each label is near a text"
            if self.share > 1:
                near = f"its label and share {self.share / labels:g} of the pool are near a text"
        right = f"; expected label accuracy {self.label:.3f}" if labels > 1 else ""
        return (
            f"{near}{right}; expected cosine to the original {self.meaning:z.3f} "
            f"(of random pairs {self.random:z.3f}), measured on the pool"
        )


def expectations(
    pool: Pool, epsilon: float, extra: tuple[float, ...] = ()
) -> list[PoolExpectation]:
    """What each share would do at this epsilon; `extra` are shares to add.

    By label first and, in a pool that is small enough, by meaning alone: with many labels the
    texts of one are a small part of the pool, and at a small epsilon seldom come out.
    """
    found = _by_label(pool, epsilon, tuple(share for share in extra if share <= 1))
    found += _in_order(pool, epsilon, Nearest.LABEL, [share for share in extra if share > 1])
    if pool.labeled and len(pool) <= LARGE:
        usual = [share for share in _SHARES if _FEWEST / len(pool) <= share]
        shares = sorted({*usual, *(share for share in extra if share < 1)})
        found += _in_order(pool, epsilon, Nearest.MEANING, shares)
    return found


def _by_label(pool: Pool, epsilon: float, extra: tuple[float, ...]) -> list[PoolExpectation]:
    fewest = _FEWEST / int(np.diff(pool.label_starts).min())
    largest = 1.0 if pool.labeled else 0.7
    usual = [share for share in (*_SHARES, 1.0) if fewest <= share <= largest] or [largest]
    shares = np.array(sorted({*usual, *extra}))
    with one_thread():
        inside, anywhere = _cosines(pool, shares)
    labels = len(pool.label_names)
    high, low = heights(epsilon)
    lift = (high - low) / low / labels
    found = []
    for share, near in zip(shares.tolist(), inside.tolist(), strict=True):
        mass = lift * share  # of the near part, over that of the rest
        own = (1 / labels + mass) / (1 + mass)  # of the label that was given
        other = (1 - own) / max(labels - 1, 1)
        right = pool.accuracy * own + (1 - pool.accuracy) * other
        found.append(PoolExpectation(share, right, (anywhere + mass * near) / (1 + mass), anywhere))
    return found


def _in_order(
    pool: Pool, epsilon: float, first: Nearest, shares: list[float]
) -> list[PoolExpectation]:
    """The same text by text, in any order, for shares that go on beyond a label."""
    if not shares:
        return []
    labels = len(pool.label_names)
    near = np.array(shares) / (labels if first is Nearest.LABEL else 1)  # of the pool
    sizes = np.diff(pool.label_starts)
    chance = 1 / (labels * sizes.astype(np.float64))[pool.labels]  # q
    rows = _playing(pool)
    points = pool.points[rows].astype(np.float32)
    squared = float(np.square(pool.points[rows].astype(np.int64)).sum() / len(rows))
    weight = 1 / np.bincount(pool.labels[rows], minlength=labels)[pool.labels[rows]]
    weight /= np.cumsum(weight)[-1]  # labels weigh alike
    order = Order(pool, text_units(pool, labels << 40), first)
    high, low = heights(epsilon)
    mass = (high - low) / low * near
    total, random = np.zeros((2, len(shares))), 0.0
    for place, row in enumerate(rows.tolist()):
        nearest = order.whole(int(pool.given[row]), points[place])
        nearest = nearest[nearest != row]
        seen = pool.points[nearest].astype(np.float32) @ points[place]
        q = chance[nearest]
        reached = np.cumsum(q)
        last = np.minimum(np.searchsorted(reached, near * reached[-1]), len(q) - 1)
        right = np.cumsum(q * (pool.labels[nearest] == pool.labels[row]))
        close = np.cumsum(q * seen.astype(np.float64)) / squared
        for kept, sums in enumerate((right, close)):
            inside, anywhere = sums[last] / reached[last], sums[-1] / reached[-1]
            total[kept] += weight[place] * (anywhere + mass * inside) / (1 + mass)
        random += float(weight[place] * close[-1] / reached[-1])
    return [
        PoolExpectation(share, label, meaning, random, first)
        for share, label, meaning in zip(shares, *total.tolist(), strict=True)
    ]


def best(
    found: list[PoolExpectation], keep_meaning: float | None, *, labels: int
) -> PoolExpectation:
    """The share to choose in a pool of so many labels; the larger of equally good ones."""
    if keep_meaning is None:
        keep_meaning = _UNLABELED if labels == 1 else 0.0
    label = max(each.label for each in found)
    gain = max(each.meaning - each.random for each in found)
    if labels == 1 and gain > 0:
        enough = (1 + keep_meaning) / 2 * gain
        kept = [each for each in found if each.meaning - each.random >= enough]
        return max(kept, key=lambda each: each.share)

    def value(each: PoolExpectation) -> float:
        meaning = (each.meaning - each.random) / gain if gain > 0 else 0.0
        return (1 - keep_meaning) * each.label / label + keep_meaning * meaning

    return max(found, key=lambda each: (value(each), each.share))


def _cosines(pool: Pool, shares: Array) -> tuple[Array, float]:
    """Mean cosines within each share of the given label's texts, and anywhere under q."""
    labels = len(pool.label_names)
    mean = np.zeros(pool.points.shape[1])
    for start, stop in pairwise(pool.label_starts.tolist()):
        # Whole numbers below 2^53: exact, whatever the order of additions.
        mean += pool.points[start:stop].sum(axis=0, dtype=np.int64) / float(stop - start) / labels
    rows = _playing(pool)
    squared = float(np.square(pool.points[rows].astype(np.int64)).sum() / len(rows))
    order = Order(pool, text_units(pool, labels << 40))
    random = {row: float(np.cumsum(mean * pool.points[row])[-1]) / squared for row in rows.tolist()}
    inside, anywhere = np.zeros(len(shares)), 0.0
    for label in np.unique(pool.given[rows]).tolist():
        size = int(pool.label_starts[label + 1] - pool.label_starts[label])
        last = np.maximum(1, np.rint(shares * size).astype(np.int64))
        alike = rows[pool.given[rows] == label]
        for row, nearest in zip(alike.tolist(), _nearest_first(order, label, alike), strict=True):
            if not len(nearest):  # the only text of its label: left out, it leaves nothing near
                inside += random[row]
                continue
            sums = np.cumsum(nearest)
            upto = np.minimum(last, len(nearest))
            inside += sums[upto - 1] / upto / squared
    for seen in random.values():
        anywhere += seen
    return inside / len(rows), anywhere / len(rows)


def _playing(pool: Pool) -> Ids:
    """The texts that play private ones."""
    count = min(_SAMPLE, len(pool), max(_FEWEST, _HELD // len(pool)))
    return np.unique(np.linspace(0, len(pool) - 1, count).astype(np.int64))


def _nearest_first(order: Order, label: int, rows: Ids) -> Iterator[Whole]:
    """For each of these texts its products with the others of a label, in its order."""
    pool = order.pool
    points = pool.points[rows].astype(np.float32)
    own = np.flatnonzero(pool.cell_labels == label)
    found: list[dict[int, Vectors]] = [{} for _ in rows]
    for cell in own.tolist():
        first, stop = pool.cells[cell : cell + 2].tolist()
        for place, seen in enumerate(order.nearness(cell, points)):
            itself = int(rows[place]) - first
            others = np.delete(seen, itself) if 0 <= itself < stop - first else seen
            found[place][cell] = -np.sort(-others)
    cells = order.cells(np.full(len(rows), label), points)
    for place, seen in enumerate(found):
        mine = [seen[cell] for cell in cells[place, : len(own)].tolist()]
        yield np.concatenate(mine).astype(np.int64)
