"""Who was named, author by author: falls are judged over authors, not over runs alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inkblur.evaluation import percentile_interval
from reproduction.arrays import Array
from reproduction.estimate import Estimate

LOWEST = "10"  # the paper's lowest epsilon, as a key of the runs
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Success:
    """The share of each author's runs in which the answer was right, without noise and with."""

    size: int  # authors of a run
    shares: Mapping[str, Array]  # of a measure: a row an author; without noise, at epsilon 10

    @classmethod
    def of(cls, runs: Sequence[Mapping[str, Any]], size: str) -> Success:
        """From the runs of one collection and noise; an author may be in some of them only."""
        tables = [run["by author"][size] for run in runs]
        shares = {}
        for measure in ("DRauth", "DRtopic"):
            held: dict[str, list[tuple[int, int]]] = defaultdict(list)
            for table in tables:
                if table[measure]:
                    answers = zip(table[measure]["none"], table[measure][LOWEST], strict=True)
                    for author, pair in zip(table["authors"], answers, strict=True):
                        held[author].append(pair)
            if held:
                shares[measure] = np.array([np.mean(held[author], axis=0) for author in held])
        return cls(len(tables[0]["authors"]), shares)

    def before(self, measure: str) -> Estimate:
        """The share of right answers without noise."""
        return Estimate.of_units(self.shares[measure][:, 0])

    def after(self, measure: str) -> Estimate:
        """The same at epsilon 10."""
        return Estimate.of_units(self.shares[measure][:, 1])

    def fall(self, measure: str) -> Estimate:
        """By how much the share falls; below zero where it rises."""
        return Estimate.of_units(self.shares[measure][:, 0] - self.shares[measure][:, 1])

    def kept(self, measure: str) -> Estimate:
        """The share of the right answers that is kept; above one where they are more."""
        return self._estimate(_kept(self._resampled(measure)))

    def relative_gap(self) -> Estimate:
        """The share of its right answers that naming authors loses, less the one of topics."""
        author, topic = (_kept(self._resampled(m)) for m in ("DRauth", "DRtopic"))
        return self._estimate(topic - author)

    def too_low(self) -> str:
        """Why a fall of author naming means nothing; empty where untouched texts are named clearly
        more often than by chance.
        """
        found, chance = self.before("DRauth"), 1.0 / self.size
        if found.low > chance:
            return ""
        return (
            f"without noise {found.value:.3f} of the authors are named ({found.low:.3f} to "
            f"{found.high:.3f}), by chance {chance:.3f}: there is hardly anything that could fall."
        )

    def _resampled(self, measure: str) -> Array:
        """Sums over authors, a row a resample; the first row is the sample itself.

        The draws are fixed: measures are resampled alike, and a record can be made again.
        """
        table = self.shares[measure]
        count = len(table)
        drawn = np.random.default_rng(20_260_003).multinomial(
            count, np.full(count, 1.0 / count), size=RESAMPLES
        )
        sums: Array = np.vstack([table.sum(axis=0), drawn @ table])
        return sums

    def _estimate(self, values: Array) -> Estimate:
        authors = len(next(iter(self.shares.values())))
        return Estimate(float(values[0]), *percentile_interval(values[1:], units=authors))


def _kept(sums: Array) -> Array:
    """After through before; one where there was nothing to keep (too_low says so)."""
    before, after = sums.T
    kept: Array = np.divide(after, before, out=np.ones_like(after), where=before > 0)
    return kept
