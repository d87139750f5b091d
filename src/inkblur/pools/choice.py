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

from dataclasses import dataclass

import numpy as np

from inkblur.blas import one_thread
from inkblur.mechanisms.staircase.units import heights
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
_BLOCK = 1 << 16
_CELL = 1 << 26  # above twice the largest product


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
    fewest, largest = int(np.diff(pool.label_starts).min()), 1.0 if pool.labeled else 0.7
    usual = [share for share in (*_SHARES, 1.0) if _FEWEST / fewest <= share <= largest]
    wanted = {Nearest.LABEL: sorted({*(usual or [largest]), *extra})}
    if pool.labeled and len(pool) <= LARGE:
        usual = [share for share in _SHARES if _FEWEST / len(pool) <= share]
        wanted[Nearest.MEANING] = sorted({*usual, *(share for share in extra if share < 1)})
    count = min(_SAMPLE, len(pool), max(_FEWEST, _HELD // len(pool)))
    rows = np.unique(np.linspace(0, len(pool) - 1, count).astype(np.int64))
    points = pool.points[rows].astype(np.float32)
    seen = np.empty((len(rows), len(pool)), dtype=np.float32)  # exact products with all texts
    with one_thread():
        for start in range(0, len(pool), _BLOCK):
            part = slice(start, start + _BLOCK)
            seen[:, part] = points @ pool.points[part].astype(np.float32).T
        return [
            each
            for first, shares in wanted.items()
            for each in _measured(pool, epsilon, first, np.array(shares), rows, seen)
        ]


def _measured(
    pool: Pool, epsilon: float, first: Nearest, shares: Array, rows: Ids, seen: Vectors
) -> list[PoolExpectation]:
    """The expectation of each share, in this order of the texts that each of `rows` sees."""
    labels, sizes = len(pool.label_names), np.diff(pool.label_starts).astype(np.float64)
    near = shares / (labels if first is Nearest.LABEL else 1)  # of the pool
    chance = 1 / (labels * sizes)[pool.labels]  # q
    order = Order(pool, text_units(pool, labels << 40), first)
    cells = order.cells(pool.given[rows], pool.points[rows].astype(np.float32))
    squared = float(np.square(pool.points[rows].astype(np.int64)).sum() / len(rows))
    weight = 1 / np.bincount(pool.labels[rows], minlength=labels)[pool.labels[rows]]
    weight /= np.cumsum(weight)[-1]  # labels weigh alike
    high, low = heights(epsilon)
    mass = (high - low) / low * near  # of the near part, over that of the rest
    label, meaning, random = np.zeros(len(shares)), np.zeros(len(shares)), 0.0
    for place, row in enumerate(rows.tolist()):
        far = np.repeat(np.argsort(cells[place]) * _CELL, np.diff(order.starts))
        nearest = np.argsort(far - seen[place].astype(np.int64), kind="stable")
        nearest = nearest[nearest != row]
        q = chance[nearest]
        reached = np.cumsum(q)
        last = np.minimum(np.searchsorted(reached, near * reached[-1]), len(q) - 1)
        right = np.cumsum(q * (pool.labels[nearest] == pool.labels[row]))
        close = np.cumsum(q * seen[place, nearest].astype(np.float64)) / squared
        for total, sums in ((label, right), (meaning, close)):
            inside, anywhere = sums[last] / reached[last], sums[-1] / reached[-1]
            total += weight[place] * (anywhere + mass * inside) / (1 + mass)
        random += float(weight[place] * close[-1] / reached[-1])
    if first is Nearest.LABEL:  # how often it is right is known from all texts
        own = (1 / labels + mass) / (1 + mass)  # of the label that was given
        other = (1 - own) / max(labels - 1, 1)
        right = pool.accuracy * own + (1 - pool.accuracy) * other
        label = np.where(shares <= 1, right, label)
    return [
        PoolExpectation(share, right, close, random, first)
        for share, right, close in zip(
            shares.tolist(), label.tolist(), meaning.tolist(), strict=True
        )
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
