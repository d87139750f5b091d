"""What an adapted embedding says of itself: base, public corpus, and what its metric shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inkblur.types import counted

_SHOWN = 12  # digits of a fingerprint in a sentence
_LABELS = 20  # named to a person


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One column of labels that profiles were learned from."""

    name: str
    counts: Mapping[str, int]  # texts of each label
    dimensions: int  # coordinates that the profile takes
    reduction: str  # how the profile came to have so many


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How vectors were adapted to labels: `[alpha x vector ; beta x profile]`."""

    base: str
    base_sha256: str
    corpus_sha256: str  # of the texts that taught something and their labels, in order
    documents: int  # texts that taught something
    skipped: int  # texts without a label or without a known word: they taught nothing
    words: int  # of the vocabulary that the corpus has; the others have profile zero
    columns: tuple[LabelColumn, ...]
    alpha: float
    beta: float
    smoothing: float

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        return {**asdict(self), "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Adaptation:
        """What :meth:`to_json` wrote."""
        columns = tuple(LabelColumn(**column) for column in body["columns"])
        return cls(**{**body, "columns": columns})

    @property
    def reveals(self) -> str:
        """The adapted metric and what it blurs less on purpose, as a line of the guarantee."""
        profiles = " and ".join(
            f"profile of {len(column.counts):,} labels {column.name!r}" for column in self.columns
        )
        about = " and ".join(repr(column.name) for column in self.columns)
        return (
            f"words have adapted vectors, [{self.alpha:.3g} x word vector of {self.base} ; "
            f"{self.beta:g} x {profiles}], with profiles learned from {self._corpus}: on purpose, "
            f"what a word says about {about} is blurred less than the rest, and so is whatever "
            "goes with it"
        )

    def lines(self) -> list[str]:
        """All of it, for a person."""
        lines = [
            f"base: {self.base}, sha256 {self.base_sha256}",
            f"corpus: {counted(self.documents, 'text')} ({self.skipped:,} more without a label or "
            f"a known word), sha256 {self.corpus_sha256}",
            f"metric: alpha {self.alpha:.3g}, beta {self.beta:g}, smoothing {self.smoothing:g}; "
            f"{counted(self.words, 'word has', 'words have')} a profile, the others zero",
        ]
        for column in self.columns:
            most = sorted(column.counts.items(), key=lambda item: (-item[1], item[0]))
            shown = ", ".join(f"{label} {count:,}" for label, count in most[:_LABELS])
            more = f" and {len(most) - _LABELS:,} more" if len(most) > _LABELS else ""
            lines.append(f"column: {column.name}, {len(most):,} labels ({shown}{more})")
            lines.append(f"reduction: {column.reduction}")
        return lines

    @property
    def assumption(self) -> str:
        """What the promise rests on besides."""
        return f"{self._corpus} is public, as its owner declared, and holds no protected text"

    @property
    def _corpus(self) -> str:
        return (
            f"the public corpus {self.corpus_sha256[:_SHOWN]} of {counted(self.documents, 'text')}"
        )
