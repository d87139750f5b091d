"""What a run did, for the data owner: on the terminal, and in the report that stays inside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from inkblur.documents.policies import TokenField
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.mechanisms.typical import TypicalLoss
from inkblur.types import Metric

NOTE = "The counts come from the true texts and are not protected: do not publish this report."


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the file's columns and records."""

    columns: tuple[str, ...]  # released
    copied: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    repeated: int = 0  # texts that had occurred before in the file, blank ones aside
    left_out: int | None = None  # records of a public corpus; None: not asked for

    def lines(self) -> list[str]:
        """For the person who ran it."""
        lines = []
        if self.copied:
            lines.append(f"columns copied as they are: {', '.join(self.copied)}")
        if self.repeated:
            lines.append(
                f"{self.repeated:,} texts repeat an earlier one: each was drawn again, and what "
                "several releases of one text give away adds up"
            )
        if self.left_out is not None:
            lines.append(f"{self.left_out:,} records of the public corpus were left out")
        return lines

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "released": list(self.columns),
            "copied": list(self.copied),
            "dropped": list(self.dropped),
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did, for the data owner: the counts come from the true text, so keep them
    inside.
    """

    privatizer: Privatizer
    guarantee: Guarantee
    typical: TypicalLoss
    documents: int
    empty: int
    counts: Counter[str]
    seconds: float
    fate: Fate

    @property
    def words_per_second(self) -> float:
        """Words drawn in a second, everything included."""
        return self.counts["drawn"] / self.seconds if self.seconds > 0 else 0.0

    def passed(self) -> dict[str, int]:
        """How many tokens of each class were copied as they are."""
        return {field.value: self._count(field, "keep") for field in TokenField}

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        drawn, unchanged = self.counts["drawn"], self.counts["unchanged"]
        share = f" ({unchanged / drawn:.0%})" if drawn else ""
        lines = [
            f"{self.documents:,} texts ({self.empty:,} empty), {drawn:,} words drawn, "
            f"{unchanged:,} unchanged{share}; {self.seconds:.1f} s, "
            f"{self.words_per_second:,.0f} words/s"
        ]
        if self.counts["null"]:
            lines.append(
                f"{self.counts['null']:,} unknown words, numbers and addresses "
                "entered as the null word"
            )
        passed = self.passed().items()
        lines += [
            f"passed through unprotected: {count:,} {name}" for name, count in passed if count
        ]
        return lines + self.fate.lines()

    def worth(self) -> list[str]:
        """What the bound is worth, in plain words: for one word, and for a text."""
        return [*self.typical.sentences(), *self._text_worth()]

    def _text_worth(self) -> list[str]:
        texts = self.documents - (self.empty if self.privatizer.length is None else 0)
        guarantee = self.privatizer.guarantee
        if not texts or not guarantee.private or guarantee.metric is not Metric.DISCRETE:
            return []
        words = self.counts["drawn"] / texts
        return [
            f"A text has {words:,.0f} words on average: between two such texts without a word in "
            f"common the factor is exp({rounded_up(words * guarantee.epsilon)})."
        ]

    def _count(self, field: TokenField, treatment: str) -> int:
        return self.counts[f"{field.name.lower()} {treatment}"]

    def to_json(self) -> dict[str, Any]:
        """The report file (DESIGN section 8)."""
        mechanism = self.privatizer.mechanism
        drawn, unchanged = self.counts["drawn"], self.counts["unchanged"]
        return {
            "mechanism": {"name": mechanism.name, **mechanism.parameters},
            "release": {"kind": self.privatizer.kind.value, "length": self.privatizer.length},
            "guarantee": self.guarantee.to_json(),
            "bound_at_typical_distances": {
                "nearest_neighbour": {
                    "distance": _finite(self.typical.nearest_distance),
                    "loss": _finite(self.typical.nearest_loss),
                },
                "median_pair": {
                    "distance": _finite(self.typical.pair_distance),
                    "loss": _finite(self.typical.pair_loss),
                },
                "words_measured": self.typical.sample,
                "sentences": self.typical.sentences(),
            },
            "embedding": described(mechanism.embedding),
            "tokens": {
                "total": drawn - self.counts["padding"] + sum(self.passed().values()),
                "replaced": drawn - unchanged,
                "unchanged": unchanged,
                "entered_as_null_word": self.counts["null"],
                "padding": self.counts["padding"],
                "passed_through": self.passed(),
                "dropped": {field.value: self._count(field, "drop") for field in TokenField},
            },
            "columns": self.fate.to_json(),
            "documents": {
                "total": self.documents,
                "empty": self.empty,
                "repeated": self.fate.repeated,
                "left_out_as_public": self.fate.left_out or 0,
            },
            "seconds": round(self.seconds, 3),
            "words_per_second": round(self.words_per_second, 1),
            "note": NOTE,
        }


def described(table: Embedding) -> dict[str, Any]:
    """An embedding as the report names it."""
    return {
        "name": table.name,
        "words": len(table),
        "dimension": table.dimension,
        "sha256": table.sha256,
        "adapted": [adaptation.to_json() for adaptation in table.adaptations],
    }


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None
