"""What a release through a pool did, for the data owner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from inkblur.documents.survival import MANY
from inkblur.files.summary import NOTE, Fate, described, draws_a_text
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.pools.privatizer import PoolPrivatizer
from inkblur.types import Piece


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """What a run did; the counts come from the true texts, so keep them inside."""

    privatizer: PoolPrivatizer
    guarantee: Guarantee
    documents: int
    counts: Counter[str]
    seconds: float
    fate: Fate
    lengths: Counter[int] = field(default_factory=Counter)  # texts by the number of their draws

    @property
    def draws_per_second(self) -> float:
        """Texts or sentences drawn in a second, everything included."""
        return self.counts["drawn"] / max(self.seconds, 1e-9)

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        unit, pool = self.privatizer.piece.value, self.privatizer.mechanism.pool
        return [
            f"{self.documents:,} texts, {self.counts['drawn']:,} {unit}s drawn from the "
            f"{len(pool):,} of {pool.name} (license: {pool.license}); {self.seconds:.1f} s, "
            f"{self.draws_per_second:,.0f} {unit}s/s",
            f"{self.counts['null']:,} without a known word were drawn at random",
            *self._told_by_others(unit),
            *self.fate.lines(),
        ]

    def _told_by_others(self, unit: str) -> list[str]:
        """How many true texts come out: only those that are in the pool can."""
        same, drawn = self.counts["unchanged"], self.counts["drawn"]
        if not same:
            return [
                "none came out as it was written: what came out stands for the true texts, and is "
                "by other authors"
            ]
        share = f"{same:,} {unit}s ({same / drawn:.0%})"
        lines = [f"{share} came out as they were written: they are in the pool"]
        if same > MANY * drawn:
            lines.append(
                f"more than half of the {unit}s come out: this does not hide them. Was the pool "
                "made from these texts?"
            )
        return lines

    def worth(self) -> list[str]:
        """What the bound is worth, in plain words."""
        if self.privatizer.piece is Piece.SENTENCE and not self.privatizer.hides_length:
            return []
        return [
            "Between any two texts the log of the likelihood ratio is at most "
            f"{rounded_up(self.guarantee.loss(1.0))}."
        ]

    def to_json(self) -> dict[str, Any]:
        """The report file, as for words where it applies."""
        privatizer, mechanism = self.privatizer, self.privatizer.mechanism
        pool, expected = mechanism.pool, mechanism.expected
        return {
            "mechanism": {"name": mechanism.name, **mechanism.parameters},
            "release": {
                "kind": "pool",
                "unit": privatizer.piece.value,
                "length": privatizer.length,
            },
            "guarantee": self.guarantee.to_json(),
            "pool": {
                "name": pool.name,
                "license": pool.license,
                "texts": len(pool),
                "labels": list(pool.label_names) if len(pool.label_names) > 1 else [],
                "sha256": pool.sha256,
                "provenance": dict(pool.provenance),
            },
            "expected": {
                "order": expected.first.value,
                "share": expected.share,
                "label_accuracy": expected.label if len(pool.label_names) > 1 else None,
                "cosine": expected.meaning,
                "cosine_of_random_pairs": expected.random,
            },
            "embedding": described(mechanism.embedding),
            "draws": {
                "total": self.counts["drawn"],
                "without_known_words": self.counts["null"],
                "unchanged": self.counts["unchanged"],
            },
            "columns": self.fate.to_json(),
            "documents": {
                "total": self.documents,
                "repeated": self.fate.repeated,
                "draws": draws_a_text(self.lengths),
            },
            "seconds": round(self.seconds, 3),
            "draws_per_second": round(self.draws_per_second, 1),
            "note": NOTE,
        }
