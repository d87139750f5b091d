"""What a draw of the exponential mechanism loses: three bounds (SynTF, section 3.4).

With kappa = epsilon / (2 Delta), pi(v, w) = exp(kappa rho(v, w)) / Z_v and L words that can come
out, the standard bound is epsilon and the improved one (Theorem 3.4) a formula of epsilon and L.
The tight one (eq. 1) is the loss of the real probabilities:

    loss = max over w of (max_v ln pi(v, w) - min_v ln pi(v, w)),   v: all words and the null word

It takes two passes over the table in blocks: the normalizers ln Z_v first, then the largest and
smallest kappa rho(v, w) - ln Z_v of each column. A symmetric rating needs only the blocks on and
above the diagonal: block (I, J) is also block (J, I) turned over. It depends on public data alone,
so it is computed once and kept in the user's cache directory.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

from inkblur.cache import cache_folder, keep_value, kept_value
from inkblur.errors import ParameterError
from inkblur.mechanisms.exact_choice import weights
from inkblur.mechanisms.rating import SENSITIVITY, Rating
from inkblur.types import NULL_ID, Array, positive

_BLOCK = 2048  # 32 MB a block of float64; a few are alive at a time
_SMALL = 2048  # words
_VERSION = 2  # of the numbers below: raise it when they change
_QUIET, _EVERY = 10.0, 60.0  # seconds before the first notice, and between two
_THREADS = 2  # one block's exponentials run beside another's matrix product

T = TypeVar("T")
_log = logging.getLogger("inkblur")


def standard_bound(epsilon: float) -> float:
    """The privacy loss a draw that the exponential mechanism is built for: epsilon itself."""
    return positive(epsilon, "epsilon")


def improved_bound(epsilon: float, size: int) -> float:
    """Theorem 3.4 with ratings in [0, 1] and all words adjacent: epsilon + ln eta(epsilon, L).

    eta = (e^(-epsilon/2) + L - 1) / (e^(epsilon/2) + L - 1); both parts are divided by
    e^(epsilon/2) or left as they are, so that nothing overflows.

    >>> round(improved_bound(47.5, 30_000), 3)
    34.059
    """
    half = positive(epsilon, "epsilon") / 2
    if size < 2:
        raise ParameterError(f"a choice needs at least 2 words, got {size}")
    others = size - 1
    log_eta = math.log(math.exp(-half) + others) - half - math.log1p(others * math.exp(-half))
    return epsilon + log_eta


def tight_loss(rating: Rating, epsilon: float) -> float:
    """Eq. 1 for this rating and epsilon, computed now: in (0, epsilon]."""
    kappa = epsilon / (2 * SENSITIVITY)
    notice = _notice(rating)
    log_z = _normalizers(rating, kappa, notice)
    highest, lowest = _extremes(rating, kappa, log_z, notice)
    return float((highest - lowest).max())


def _notice(rating: Rating) -> Callable[[], None]:
    """Says how far a long computation is: a large vocabulary takes the better part of an hour."""
    blocks, began = 2 * len(list(_pairs(rating))), time.monotonic()
    done, due = 0, began + _QUIET

    def another_block() -> None:
        nonlocal done, due
        done += 1
        now = time.monotonic()
        if now >= due:
            due = now + _EVERY
            _log.warning(
                "working out the privacy loss over all pairs of %s words: %d %% done, about %d min "
                "left; it is kept for the next time",
                f"{rating.size:,}",
                100 * done // blocks,
                -(-(now - began) * (blocks / done - 1) // 60),
            )

    return another_block


def _normalizers(rating: Rating, kappa: float, notice: Callable[[], None]) -> Array:
    """ln Z_v - kappa of every word; the null word's stands last, where NULL_ID finds it."""
    totals = np.zeros(rating.size + 1)

    def sums(block: tuple[slice, slice]) -> tuple[slice, slice, Array, Array]:
        rows, columns = block
        values = weights(rating.block(np.arange(rows.start, rows.stop), columns), kappa)
        return rows, columns, values.sum(axis=1), values.sum(axis=0)

    for rows, columns, across, down in _in_order(sums, _pairs(rating)):
        notice()
        totals[rows] += across
        if rating.symmetric and rows != columns:
            totals[columns] += down
    null = weights(rating.block(np.array([NULL_ID]), slice(0, rating.size)), kappa)
    totals[NULL_ID] = null.sum()
    return np.log(totals)


def _extremes(
    rating: Rating, kappa: float, log_z: Array, notice: Callable[[], None]
) -> tuple[Array, Array]:
    """The largest and smallest ln pi(v, w) of every column w, up to one constant."""
    null = kappa * rating.block(np.array([NULL_ID]), slice(0, rating.size))[0]
    highest = null - log_z[NULL_ID]
    lowest = highest.copy()

    def ends(block: tuple[slice, slice]) -> list[tuple[slice, Array, Array]]:
        rows, columns = block
        values = rating.block(np.arange(rows.start, rows.stop), columns)
        if rating.symmetric and rows == columns and not np.array_equal(values, values.T):
            raise ParameterError(
                f"the rating {rating.spec!r} says that it is symmetric and is not, which would "
                "make the bound too small; set its `symmetric` to False"
            )
        values *= kappa
        found = []
        if rating.symmetric and rows != columns:
            turned = values - log_z[columns]
            found.append((rows, turned.max(axis=1), turned.min(axis=1)))
        values -= log_z[rows, None]
        found.append((columns, values.max(axis=0), values.min(axis=0)))
        return found

    for found in _in_order(ends, _pairs(rating)):
        notice()
        for columns, high, low in found:
            np.maximum(highest[columns], high, out=highest[columns])
            np.minimum(lowest[columns], low, out=lowest[columns])
    return highest, lowest


def _pairs(rating: Rating) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover the table, one half of it where the other is its mirror image."""
    starts = range(0, rating.size, _BLOCK)
    for top in starts:
        for left in starts:
            if left >= top or not rating.symmetric:
                yield (
                    slice(top, min(top + _BLOCK, rating.size)),
                    slice(left, min(left + _BLOCK, rating.size)),
                )


def _in_order(
    work: Callable[[tuple[slice, slice]], T], blocks: Iterator[tuple[slice, slice]]
) -> Iterator[T]:
    """Results in the order of the blocks, so that sums do not depend on timing; few at a time."""
    with ThreadPoolExecutor(_THREADS) as pool:
        yield from pool.map(work, blocks)


def remembered_loss(
    rating: Rating, epsilon: float, embedding: str, folder: Path | None = None
) -> float:
    """:func:`tight_loss`, kept on disk by embedding (its sha256), rating and epsilon.

    Small vocabularies are computed each time: that is faster than a file.
    """
    if rating.size < _SMALL:
        return tight_loss(rating, epsilon)
    key = f"tight {_VERSION} {epsilon!r} {rating.spec} {embedding}"
    folder = cache_folder() if folder is None else folder
    known = kept_value(folder, key)
    if isinstance(known, float) and 0 <= known <= improved_bound(epsilon, rating.size) + 1e-6:
        return known
    loss = tight_loss(rating, epsilon)
    keep_value(folder, key, loss)
    return loss
