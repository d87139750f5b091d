"""What a release through a pool did, for the data owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from inkblur.documents.word_shares import MANY
from inkblur.files.summary import RunSummary
from inkblur.guarantees import rounded_up
from inkblur.pools.mechanism import PoolPrivatizer
from inkblur.types import counted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PoolSummary(RunSummary):
    """A release of whole texts."""

    unit: ClassVar = "draws"

    privatizer: PoolPrivatizer

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        pool, known = self.privatizer.mechanism.pool, "without a known word"
        nulls = counted(self.counts["null"], f"text {known} was", f"texts {known} were")
        return [
            f"{counted(self.documents, 'text')}, {counted(self.counts['drawn'], 'text')} drawn "
            f"from the {len(pool):,} of {pool.name} (license: {pool.license}); "
            f"{self.seconds:.1f} s, {self.draws_per_second:,.0f} texts/s",
            f"{nulls} drawn at random",
            *self._unchanged(),
            *self.fate.lines(),
        ]

    def _unchanged(self) -> list[str]:
        """How many true texts come out: only those that are in the pool can."""
        same, drawn = self.counts["unchanged"], self.counts["drawn"]
        if not same:
            return [
                "no text was released unchanged: each was replaced by another author's text from "
                "the pool"
            ]
        share = f"{counted(same, 'text')} ({same / drawn:.0%})"
        released = (
            "was released unchanged: it is" if same == 1 else "were released unchanged: they are"
        )
        lines = [f"{share} {released} in the pool"]
        if same > MANY * drawn:
            lines.append(
                "more than half of the texts are unchanged: this does not hide them. Was the pool "
                "made from these texts?"
            )
        return lines

    def worth(self) -> list[str]:
        """The bound between any two texts."""
        return [
            "The log of the likelihood ratio between any two texts is at most "
            f"{rounded_up(self.guarantee.loss(1.0))}."
        ]

    def details(self) -> dict[str, Any]:
        """The pool, what to expect of it, and what was drawn."""
        privatizer = self.privatizer
        pool, expected = privatizer.mechanism.pool, privatizer.mechanism.expected
        return {
            "release": {"kind": "pool", "unit": "text", "length": None},
            "pool": {
                "name": pool.name,
                "license": pool.license,
                "texts": len(pool),
                "labels": list(pool.label_names) if pool.labeled else [],
                "sha256": pool.sha256,
                "provenance": dict(pool.provenance),
            },
            "expected": {
                "order": expected.first.value,
                "share": expected.share,
                "label_accuracy": expected.label if pool.labeled else None,
                "cosine": expected.meaning,
                "cosine_of_random_pairs": expected.random,
            },
            "draws": {
                "total": self.counts["drawn"],
                "without_known_words": self.counts["null"],
                "unchanged": self.counts["unchanged"],
            },
        }
