"""What a run did, for the data owner: on the terminal, and in the report that stays inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar

from inkblur.documents.base import AnyPrivatizer
from inkblur.documents.policies import CLASSES, Treatment
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.risks import ThreeRisks, three_risks, unmeasured
from inkblur.documents.word_shares import Coverage, Survival, copied_words
from inkblur.embeddings.table import Embedding
from inkblur.files.formats import listed
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.strengths import TypicalLoss, typical_loss
from inkblur.rng import Rng
from inkblur.types import EXACT, counted

if TYPE_CHECKING:
    from inkblur.release import Stream

_ONE = {
    "numbers": "number",
    "addresses": "address",
    "names": "name",
    "stop-words": "stop-word",
    "sentence-ends": "sentence-end",
}
LEFT_OUT = (
    "which records were left out because the public corpus has their content words: their absence "
    "shows that it does"
)
MISSING = "which texts are missing (null)"  # shown where the length is not hidden
NOTE = "The counts come from the original texts and are not protected: do not publish this report."
_LISTED = 20  # columns that are not copied


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the file's columns and records."""

    columns: tuple[str, ...]  # released
    copied: tuple[str, ...] = ()
    not_copied: tuple[str, ...] = ()  # for the owner alone: names of what does not come out
    telling: Mapping[str, str] = field(default_factory=dict)  # copied columns, and what they tell
    repeated: int = 0  # texts that had occurred before in the file, blank ones aside
    left_out: int | None = None  # records of a public corpus; None: not asked for
    shuffled: bool = False  # the rows come out in random order

    def lines(self) -> list[str]:
        """For the person who ran it."""
        lines = []
        if self.copied:
            lines.append(f"columns copied unchanged: {', '.join(self.copied)}")
        lines += [f"warning: {line}" for line in warning_lines(self.telling)]
        if self.not_copied:
            lines.append(f"not copied: {not_copied_line(self.not_copied)}")
        if self.repeated:
            lines.append(
                f"{counted(self.repeated, 'text repeats', 'texts repeat')} an earlier one: each "
                "was drawn again, and the losses of several releases of one text add up"
            )
        if self.left_out is not None:
            public = "of the public corpus"
            records = counted(self.left_out, f"record {public} was", f"records {public} were")
            lines.append(f"{records} left out")
        return lines

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "released": list(self.columns),
            "copied": list(self.copied),
            "not_copied": list(self.not_copied),
        }


def warning_lines(telling: Mapping[str, str]) -> list[str]:
    """What copied columns tell, a sentence for each."""
    return [f"the column {name!r} is copied: {why}" for name, why in telling.items()]


def not_copied_line(names: Sequence[str]) -> str:
    """Columns that do not come out, and what to type for one that should."""
    shown = ", ".join(names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{shown}{more} (`keep_columns=` {quote(names[0])} copies it)"


def stated(
    made: AnyPrivatizer, fate: Fate, rng: Rng, also: Sequence[str] | None = None
) -> Guarantee:
    """The guarantee of what `made` draws from `rng`, with what the release of a whole file adds to
    it. What a kind of file shows besides is `also`: as a rule, which texts are missing.
    """
    shown = ["the number of texts" if fate.shuffled else "the number of texts and their order"]
    if fate.copied:
        noun = "column" if len(fate.copied) == 1 else "columns"
        shown.append(f"the {noun} {listed(fate.copied)}, copied as is")
    if rng.kept:
        shown.append("under one key, whether a text recurs or was changed between runs")
    if fate.left_out is not None:
        shown.append(LEFT_OUT)
    if also is None:
        also = () if made.hides_length else (MISSING,)
    guarantee = made.guaranteed(rng).passing([*shown, *also])
    if len(fate.columns) > 1:
        guarantee = guarantee.revealing(
            f"this bound holds for each of the columns {listed(fate.columns)} by itself: for a "
            "whole record, the losses of its columns add up"
        )
    return guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(ABC):
    """What a run did, for the data owner: the counts come from the true texts, so keep them
    inside.
    """

    unit: ClassVar = "words"  # what is drawn
    survivors: ClassVar = "words"  # what may come out as it was written

    privatizer: AnyPrivatizer
    guarantee: Guarantee
    documents: int
    counts: Counter[str]
    seconds: float
    fate: Fate
    lengths: Counter[int] = field(default_factory=Counter)  # texts by the number of their draws

    def __repr__(self) -> str:
        """A few lines, as a run prints them."""
        return "\n".join((*self.lines(), self.guarantee.sentence()))

    @property
    def draws_per_second(self) -> float:
        """Words, terms or texts drawn in a second, everything included."""
        return self.counts["drawn"] / max(self.seconds, 1e-9)

    @property
    def survival(self) -> Survival:
        """How many true words come out."""
        return Survival(
            self.counts["known"],
            self.counts["unchanged"],
            self.counts["content"],
            self.counts["content unchanged"],
            self.survivors,
            *copied_words(self.counts),
        )

    @property
    def coverage(self) -> Coverage:
        """How many true words the table knows."""
        return Coverage.of(self.counts)

    @property
    def risks(self) -> ThreeRisks:
        """What was measured of texts like these, at this setting."""
        if not self.guarantee.private:
            return unmeasured("only releases with a guarantee were attacked")
        return three_risks(self.privatizer, self.counts, draws_a_text(self.lengths)["median"])

    @abstractmethod
    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""

    @abstractmethod
    def worth(self) -> list[str]:
        """What the bound is worth, in plain words."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """What the report holds for this kind of release alone."""

    def blank(self) -> dict[str, int]:
        """How many texts gave the mechanism nothing to work on, for the report."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """The report file."""
        mechanism = self.privatizer.mechanism
        return {
            "mechanism": {"name": mechanism.name, **mechanism.parameters},
            "guarantee": self.guarantee.to_json(),
            "embedding": described(mechanism.embedding),
            **self.details(),
            "risks": self.risks.to_json(),
            "columns": self.fate.to_json(),
            "documents": {
                "total": self.documents,
                **self.blank(),
                "repeated": self.fate.repeated,
                "left_out_as_public": self.fate.left_out or 0,
                "draws": draws_a_text(self.lengths),
            },
            "seconds": round(self.seconds, 3),
            f"{self.unit}_per_second": round(self.draws_per_second, 1),
            "note": NOTE,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Summary(RunSummary):
    """A release word by word."""

    privatizer: Privatizer
    typical: TypicalLoss

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        lines = [
            f"{counted(self.documents, 'text')} ({self.counts['empty']:,} empty), "
            f"{counted(self.counts['drawn'], 'word')} drawn; {self.seconds:.1f} s, "
            f"{self.draws_per_second:,.0f} words/s",
            *self.survival.lines(),
            *self.coverage.lines(self.privatizer.mechanism.embedding),
        ]
        names = self.counts["names null"]
        others = self.counts["null"] - names
        if names:
            people = counted(names, "name of a person was", "names of people were")
            lines.append(f"{people} replaced by words drawn at random")
        if others:
            unknown = counted(
                others,
                "unknown word, number or address was",
                "unknown words, numbers and addresses were",
            )
            lines.append(f"{unknown} replaced by words drawn at random")
        kept = self._treated(Treatment.KEEP, CLASSES).items()
        lines += [
            f"copied, not protected: {counted(count, _ONE.get(name, name), name)}"
            for name, count in kept
            if count
        ]
        return lines + self.fate.lines()

    def worth(self) -> list[str]:
        """The bound for one word."""
        return list(self.typical.sentences())

    def _treated(self, treatment: Treatment, classes: Iterable[str]) -> dict[str, int]:
        """How many tokens of these classes were treated so."""
        return {
            name.replace("_", "-"): self.counts[f"{name} {treatment.value}"] for name in classes
        }

    def tokens(self) -> dict[str, Any]:
        """What became of the tokens of the true texts.

        `total` is the sum of `known_words`, `null_words`, `cut` and all that was copied or dropped;
        `drawn` that of `known_words`, `null_words` and `padding`; and
        `known_words` that of `unchanged` and `replaced`.
        """
        counts = self.counts
        return {
            "total": counts["read"],
            "known_words": counts["known"],
            "null_words": counts["null"],
            "copied": self._treated(Treatment.KEEP, CLASSES),
            "dropped": self._treated(Treatment.DROP, CLASSES),
            "cut": counts["cut"],
            "padding": counts["padding"],
            "drawn": counts["drawn"],
            "names_as_null_words": counts["names null"],
            **self.survival.to_json(),
        }

    def details(self) -> dict[str, Any]:
        """The bound at typical distances, and what became of the words."""
        return {
            "release": {"kind": self.privatizer.kind.value, "length": self._length()},
            "bound_at_typical_distances": {
                "nearest_neighbor": {
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
            "vocabulary": self.coverage.to_json(self.privatizer.mechanism.embedding),
            "tokens": self.tokens(),
        }

    def _length(self) -> int | str:
        return EXACT if self.privatizer.exact else self.privatizer.length or "next size"

    def blank(self) -> dict[str, int]:
        """Texts without a letter."""
        return {"empty": self.counts["empty"]}


def summarize(
    stream: Stream,
    copied: Sequence[str],
    not_copied: Sequence[str],
    also: Sequence[str],
    seconds: float,
) -> RunSummary:
    """What was released in `seconds`; `also` is what this kind of file shows besides."""
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.files.pool_summary import PoolSummary
    from inkblur.files.vectors import VectorSummary

    release, made = stream.release, stream.release.privatizer
    skipped = release.spec is not None and release.spec.skip_public
    fate = Fate(
        columns=stream.columns.texts,
        copied=tuple(copied),
        not_copied=tuple(not_copied),
        telling=stream.telling,
        repeated=stream.repeated,
        left_out=stream.left_out if skipped else None,
        shuffled=release.spec is not None and release.spec.shuffles,
    )
    guarantee = release.guarantee(fate, also)
    if not isinstance(made, SyntheticVectors):
        median = draws_a_text(stream.lengths)["median"] or None
        guarantee = replace(guarantee, typical_words=median)
    done: dict[str, Any] = {
        "privatizer": made,
        "guarantee": guarantee,
        "documents": stream.documents,
        "counts": stream.counts,
        "seconds": seconds,
        "fate": fate,
        "lengths": stream.lengths,
    }
    if isinstance(made, Privatizer):
        return Summary(typical=typical_loss(made.mechanism), **done)
    return (VectorSummary if isinstance(made, SyntheticVectors) else PoolSummary)(**done)


def draws_a_text(lengths: Mapping[int, int]) -> dict[str, int]:
    """The median and the largest number of draws of a text, which is what it spends; texts without
    a draw are left out. `lengths` says how many texts have each number.

    >>> draws_a_text({0: 9, 3: 2, 7: 1})
    {'median': 3, 'longest': 7}
    """
    counted = sorted((length, texts) for length, texts in lengths.items() if length)
    before, half = 0, sum(texts for _, texts in counted) / 2
    for length, texts in counted:
        before += texts
        if before >= half:
            return {"median": length, "longest": counted[-1][0]}
    return {"median": 0, "longest": 0}


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
