"""Public texts in four parts, so that a metric can be learned, chosen and then judged honestly.

    teach        teaches the metric what words say about labels; it cannot be released afterwards
    study        what attackers study, as it is and released
    validation   attacked and scored to choose among settings
    held-out     attacked and scored once, for the setting that was chosen

Authors and labels may come from one file or from two. Of every author's texts (of every label's,
where no author is known) `test_share` go to the held-out part, as many to validation, and the rest
is for learning: texts without an author teach, those without a label are studied, and those with
both go to the one and the other in turn. Fewer than three texts are all for learning.

A text stays in the first part that has it and leaves the later ones; texts count as the same when
their content words do (:mod:`inkblur.documents.fingerprints`), as they do when a release refuses
what a metric was learned from. So no text is both learned from and judged, in either file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np

from inkblur.documents.fingerprints import among, fingerprints
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, make_dataset
from inkblur.rng import seeded_rng

_LEAST = 3  # texts of an author or a label from which one can be spared for each tested part


class TextShare(Enum):
    """What a text is for; a text that is in several parts stays in the first of them."""

    TEACH = "teach"
    STUDY = "study"
    VALIDATION = "validation"
    HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True)
class PublicTexts:
    """Texts with an author, a label or both."""

    texts: Sequence[str]
    authors: Sequence[Hashable | None] | None = None
    labels: Sequence[str | None] | None = None

    def rows(self) -> list[_LabeledText]:
        """Every text that has an author or a label."""
        none = [None] * len(self.texts)
        columns = (self.texts, self.authors or none, self.labels or none)
        rows = [_LabeledText(*row) for row in zip(*columns, strict=True)]
        return [row for row in rows if row.author is not None or row.label is not None]


@dataclass(frozen=True, slots=True)
class _LabeledText:
    text: str
    author: Hashable | None
    label: str | None


@dataclass(frozen=True, slots=True)
class FourWaySplit:
    """The four parts: what teaches, and two data sets with the same texts to learn from."""

    taught: tuple[str, ...]
    taught_labels: tuple[str | None, ...]
    validation: Dataset
    held_out: Dataset
    left_out: int  # texts that an earlier part, or the embedding's own corpus, has as well

    def to_json(self) -> dict[str, Any]:
        """Counts: no text, no name."""
        return {
            "taught": len(self.taught),
            "left_out": self.left_out,
            "validation": asdict(self.validation.facts),
            "held_out": asdict(self.held_out.facts),
        }


def make_parts(
    files: Sequence[PublicTexts],
    *,
    test_share: float = 0.3,
    seed: int,
    learned: Fingerprints | None = None,
) -> FourWaySplit:
    """Split the texts of one file or of several; `learned` are texts that no release may have.

    >>> posts = "ants bats cats dogs eels fish gulls hens ibis jays kites larks".split()
    >>> one = PublicTexts(posts, ["kim", "lee"] * 6, ["pets", "pets", "food", "food"] * 3)
    >>> parts = make_parts([one], seed=1)
    >>> len(parts.taught), len(parts.validation.test), len(parts.held_out.test)
    (2, 4, 4)
    """
    if not 0 < test_share < 0.5:
        raise ParameterError(
            "the share of texts that choose must lie between 0 and 0.5, because as many are held "
            f"out; got {test_share}"
        )
    rows = [row for file in files for row in file.rows()]
    split = _drawn(rows, test_share, seed)
    kept, left_out = _apart(split, learned if learned is not None else fingerprints([]))
    for part in (TextShare.VALIDATION, TextShare.HELD_OUT):
        for column, one in (("author", "an author"), ("label", "a label")):
            if not any(getattr(row, column) is not None for row in kept[part]):
                raise ParameterError(
                    f"no text with {one} is left for the {part.value} part: give more texts "
                    f"of each {column}, at least {_LEAST}, which are not the same"
                )
    return FourWaySplit(
        tuple(row.text for row in kept[TextShare.TEACH]),
        tuple(row.label for row in kept[TextShare.TEACH]),
        _dataset(kept, TextShare.VALIDATION, seed),
        _dataset(kept, TextShare.HELD_OUT, seed),
        left_out,
    )


def _drawn(
    rows: Sequence[_LabeledText], share: float, seed: int
) -> dict[TextShare, list[_LabeledText]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        key = ("author", row.author) if row.author is not None else ("label", row.label)
        groups[key].append(place)
    order = seeded_rng(seed).child("parts").rows(len(rows), 1)[:, 0] if rows else np.zeros(0)
    split: dict[TextShare, list[_LabeledText]] = {part: [] for part in TextShare}
    for places in groups.values():
        places.sort(key=lambda place: order[place])
        count = min(max(1, round(share * len(places))), (len(places) - 1) // 2)
        split[TextShare.HELD_OUT] += [rows[place] for place in places[:count]]
        split[TextShare.VALIDATION] += [rows[place] for place in places[count : 2 * count]]
        for turn, row in enumerate(rows[place] for place in places[2 * count :]):
            if row.author is None or (row.label is not None and turn % 2 == 1):
                # What teaches cannot be released, so no attacker studies it.
                split[TextShare.TEACH].append(_LabeledText(row.text, None, row.label))
            else:
                split[TextShare.STUDY].append(row)
    return split


def _apart(
    split: dict[TextShare, list[_LabeledText]], learned: Fingerprints
) -> tuple[dict[TextShare, list[_LabeledText]], int]:
    """The parts without what an earlier one has, and how many texts that leaves out."""
    kept, left_out, seen = {}, 0, learned
    for part in TextShare:
        texts = [row.text for row in split[part]]
        again = among(texts, seen)
        kept[part] = [row for row, out in zip(split[part], again, strict=True) if not out]
        left_out += int(again.sum())
        seen = np.union1d(seen, fingerprints(texts))
    return kept, left_out


def _dataset(kept: dict[TextShare, list[_LabeledText]], tested: TextShare, seed: int) -> Dataset:
    learning = [*kept[TextShare.TEACH], *kept[TextShare.STUDY]]
    rows = [*learning, *kept[tested]]
    return make_dataset(
        [row.text for row in rows],
        authors=[row.author for row in rows],
        labels=[row.label for row in rows],
        parts=["train"] * len(learning) + ["test"] * len(kept[tested]),
        seed=seed,
    )
