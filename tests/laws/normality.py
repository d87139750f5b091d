"""Are these rows independent standard normals? Tests that see one wrong axis among hundreds.

A draw with a known law can be turned into normals (see `noise_checks` and `choice_checks`), which are independent
and standard exactly if the draw has its law. Then every statistic below has an exact law or an
exact bound on its tail, whatever the dimension and the number of draws, so that no p-value is
smaller than it should be: none is asymptotic. A check that looks at many places (each axis, each
pair of axes) multiplies its smallest p-value by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc
from scipy.stats import chi2, kstest, norm, poisson

from inkblur.types import Array, Points

LAGS = (1, 2, 3, 4, 8, 16, 64, 1024)  # rows this far apart are compared; noise comes in 1024s
_SAME = 1e-9  # rows that agree to this much in every coordinate repeat each other


@dataclass(frozen=True, slots=True)
class LawCheck:
    """One test of a claimed law."""

    name: str
    p_value: float  # probability of a deviation at least as large, were the claim true


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was tested, and what contradicts the claim beside the tests of its law."""

    laws: tuple[LawCheck, ...]
    confidence: float  # that a right mechanism passes all the tests of the law together
    findings: tuple[str, ...] = ()

    @property
    def threshold(self) -> float:
        """A p-value below this convicts: Bonferroni over the tests of the law."""
        return (1 - self.confidence) / len(self.laws)

    @property
    def failed(self) -> tuple[LawCheck, ...]:
        """The tests that convict."""
        return tuple(law for law in self.laws if law.p_value < self.threshold)

    @property
    def flagged(self) -> bool:
        """Whether anything contradicts the claim."""
        return bool(self.failed or self.findings)


def normality_checks(rows: Points) -> tuple[LawCheck, ...]:
    """Test that the entries of (draws, n) are independent standard normals.

    >>> rows = np.random.default_rng(1).normal(size=(2000, 5))
    >>> min(check.p_value for check in normality_checks(rows)) > 0.001
    True
    >>> rows[:, 3] *= 1.3
    >>> min(normality_checks(rows), key=lambda check: check.p_value).name
    'spread along axis 3'
    """
    gram = rows.T @ rows
    return (
        *_each_axis(rows, gram),
        *_between_axes(len(rows), gram),
        *_between_rows(rows),
        _repeated(rows),
    )


def uniformity(name: str, ranks: Array) -> LawCheck:
    """Kolmogorov-Smirnov, exact."""
    return LawCheck(name, float(kstest(ranks, "uniform", method="exact").pvalue))


def _each_axis(rows: Points, gram: Points) -> Iterator[LawCheck]:
    """Mean, second moment and whole law of every axis."""
    draws = len(rows)
    sums = np.abs(rows.sum(axis=0)) / math.sqrt(draws)  # of N(0, 1)
    yield _worst("mean along axis {}", 2 * norm.sf(sums))
    squares = np.diag(gram)  # chi-squared with as many degrees as draws
    tails = np.minimum(chi2.cdf(squares, draws), chi2.sf(squares, draws))
    yield _worst("spread along axis {}", 2 * tails)
    laws = np.array([kstest(axis, "norm", method="exact").pvalue for axis in rows.T])
    yield _worst("law along axis {}", laws)


def _between_axes(draws: int, gram: Points) -> Iterator[LawCheck]:
    """Correlations of pairs of axes, and the extreme eigenvalues of the second moments."""
    axes = len(gram)
    if axes > 1:
        left, right = np.triu_indices(axes, 1)
        # Given one axis, its product with another is a sum of normals of known variance.
        sizes = np.abs(gram[left, right]) / np.sqrt(np.maximum(gram[left, left], 1e-300))
        worst = int(np.argmax(sizes))
        name = f"correlation of axes {left[worst]} and {right[worst]}"
        yield LawCheck(name, min(1.0, 2 * float(norm.sf(sizes[worst])) * len(left)))
    # Davidson and Szarek (2001), Theorem II.13: singular values of normals leave the interval
    # sqrt(draws) -+ (sqrt(n) + t) on either side with probability at most exp(-t^2 / 2).
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[[0, -1]], 0.0))
    excess = singular[1] - math.sqrt(draws) - math.sqrt(axes)
    lack = math.sqrt(draws) - math.sqrt(axes) - singular[0]
    for name, beyond in (("largest", excess), ("smallest", lack)):
        yield LawCheck(f"{name} eigenvalue", math.exp(-(max(beyond, 0.0) ** 2) / 2))


def _between_rows(rows: Points) -> Iterator[LawCheck]:
    """Do rows share anything with rows near them: as a whole, on one axis, or in length?"""
    draws, axes = rows.shape
    squares = np.einsum("ij,ij->i", rows, rows)
    lengths = norm.ppf(np.clip(gammainc(axes / 2, squares / 2), 1e-16, 1 - 1e-16))
    together, single, shared = [], [], []
    for lag in LAGS:
        for phase in (0, 1):
            first = np.arange(draws - lag)
            first = first[first // lag % 2 == phase]  # no row is in two pairs
            if not len(first):
                continue
            left, right = rows[first], rows[first + lag]
            products = left * right
            # Given the left rows, these are independent standard normals.
            along = products.sum(axis=1) / np.sqrt(np.maximum(squares[first], 1e-300))
            together.append(2 * norm.sf(abs(along.sum()) / math.sqrt(len(along))))
            together.append(chi2.sf(along @ along, len(along)))
            single.append(2 * norm.sf(np.abs(along).max()) * len(along))
            scales = np.sqrt(np.maximum(np.einsum("ij,ij->j", left, left), 1e-300))
            shared.append((2 * norm.sf(np.abs(products.sum(axis=0)) / scales)).min() * axes)
            size = math.sqrt(max(float(lengths[first] @ lengths[first]), 1e-300))
            shared.append(2 * norm.sf(abs(lengths[first] @ lengths[first + lag]) / size))
    if together:
        yield LawCheck("neighboring rows", _bonferroni(together))
        yield LawCheck("a pair of neighboring rows", _bonferroni(single))
        yield LawCheck("an axis or the length of neighboring rows", _bonferroni(shared))


def _repeated(rows: Points) -> LawCheck:
    """Rows that occur twice, wherever they stand.

    Two normals agree to d with probability below 0.57 d, so among N rows fewer than
    N^2 / 2 (0.57 d)^n pairs are expected, which are as good as independent.
    """
    order = np.argsort(rows[:, 0], kind="stable")
    close = np.flatnonzero(np.diff(rows[order, 0]) < _SAME)
    gaps = np.abs(rows[order[close + 1]] - rows[order[close]])
    found = int((gaps < _SAME).all(axis=1).sum())
    expected = len(rows) ** 2 / 2 * (0.57 * _SAME) ** rows.shape[1]
    return LawCheck("repeated rows", float(poisson.sf(found - 1, expected)) if found else 1.0)


def _worst(name: str, p_values: Array) -> LawCheck:
    worst = int(np.argmin(p_values))
    return LawCheck(name.format(worst), min(1.0, float(p_values[worst]) * len(p_values)))


def _bonferroni(p_values: list[float]) -> float:
    return min(1.0, float(min(p_values)) * len(p_values))
