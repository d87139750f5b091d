"""The texts of an evaluation: split in two parts, authors numbered, special cases handled.

Rules, each counted in the report:

- texts are split by a seed unless the data says which part each belongs to: of every author's texts
  (of every label's, where no author is known) `test_share` go to the test part, at least one and
  never all; an author's texts with the same words in the same order count as one and stay
  together, because an attacker who knows one copy needs no style to name the author of another;
- an author with one text: it goes to the training part, so they are a suspect of the attacks but
  none of their texts is attacked;
- an author of the test part without a training text (a stranger): no attack can name them, so
  their texts are left out of the attacks and counted;
- a text without an author takes part in utility alone, one without a label in attacks alone;
- empty texts stay: an attack answers "don't know", a classifier has to guess;
- attacks among all authors take the 1,000 with most training texts; a scenario takes fewer.

Refused: one author only, one label only, nothing but empty texts, no author with texts in both
parts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW, number_authors
from inkblur.evaluation.measures.words import words_of
from inkblur.rng import seeded_rng
from inkblur.types import Ids, counted

MOST_AUTHORS = 1_000  # suspects of one attack
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_SCENARIO = re.compile(r"top-([0-9]+)")
_PARTS = ("train", "test")


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """Texts with what is known about each."""

    texts: tuple[str, ...]
    authors: Ids  # (texts,); DONT_KNOW where there is none
    labels: tuple[str | None, ...]
    secrets: tuple[str | None, ...]  # labels that a release should hide

    def __len__(self) -> int:
        return len(self.texts)

    def of(self, rows: Ids) -> DatasetPart:
        """Some of the texts."""
        chosen = rows.tolist()
        columns = (tuple(c[r] for r in chosen) for c in (self.texts, self.labels, self.secrets))
        texts, labels, secrets = columns
        return DatasetPart(texts, self.authors[rows], labels, secrets)


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts for the report: no text, no name."""

    texts: int
    train: int
    test: int
    empty: int
    authors: int
    single: int  # authors with one text
    strangers: int  # authors of the test part without a training text
    without_author: int  # texts
    labels: int
    without_label: int  # texts


@dataclass(frozen=True, slots=True)
class Dataset:
    """Two parts, and the authors' names only to keep them out of examples."""

    train: DatasetPart
    test: DatasetPart
    facts: Facts
    names: Names = field(repr=False)

    @property
    def has_authors(self) -> bool:
        """Whether attacks can run."""
        return self.facts.authors > 0

    @property
    def has_labels(self) -> bool:
        """Whether labels can be scored."""
        return self.facts.labels > 0

    @property
    def has_secrets(self) -> bool:
        """Whether an attacker can try to tell labels that should be hidden."""
        return any(secret is not None for secret in self.train.secrets)


class Names:
    """Replaces authors' names in texts that are shown: whole names, and their words.

    >>> Names(["Kim Lee", "pat@x.org"]).masked("Will wrote to Kim, pat@x.org and lee.")
    'Will wrote to [name], [name] and lee.'
    """

    def __init__(self, names: Sequence[Hashable]) -> None:
        written = {str(name).strip() for name in names if name is not None}
        # By their first word, so that 100,000 names cost one look-up for each word of a text.
        self._whole: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted((n for n in written if len(n) > 2), key=lambda n: (-len(n), n)):
            self._whole[next(iter(re.findall(r"\w+", name.lower())), "")].append(name)
        # As written, capitals and all: "Will" is a name, "will" is not.
        self._words = {w for n in written for w in _LETTERS.findall(n)} - {"com", "org", "name"}

    def masked(self, text: str) -> str:
        """The text without names."""
        for word in sorted({"", *re.findall(r"\w+", text.lower())}):
            for name in self._whole.get(word, ()):
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "[name]", text, flags=re.I)
        return _LETTERS.sub(lambda word: "[name]" if word[0] in self._words else word[0], text)


def scenario_size(name: str) -> int | None:
    """How many suspects a scenario takes, those with most training texts: all, top-5 and the like.

    >>> scenario_size("top-10"), scenario_size("all")
    (10, None)
    """
    if name == "all":
        return None
    match = _SCENARIO.fullmatch(name)
    if match is None or int(match[1]) < 2:
        raise ParameterError(f"unknown scenario {name!r}; choose all, or top-N with N at least 2")
    return int(match[1])


def suspects(data: Dataset, scenario: str) -> Ids:
    """The authors with a training text that a scenario takes, ascending."""
    top = scenario_size(scenario)
    texts = Counter(_known(data.train.authors).tolist())
    known = set(texts)
    if top is not None:  # a suspect without a test text would never be attacked
        known &= set(data.test.authors.tolist())
    ranked = sorted(known, key=lambda author: (-texts[author], author))[: top or MOST_AUTHORS]
    if len(ranked) < (top or 2):
        raise ParameterError(
            f"scenario {scenario} needs {top or 2} authors with enough texts, found "
            f"{len(ranked)}; choose a smaller one"
        )
    return np.array(sorted(ranked), dtype=np.int64)


def make_dataset(
    texts: Sequence[str],
    *,
    authors: Sequence[Hashable | None] | None = None,
    labels: Sequence[str | None] | None = None,
    secrets: Sequence[str | None] | None = None,
    parts: Sequence[str] | None = None,
    test_share: float = 0.3,
    seed: int,
) -> Dataset:
    """Number the authors and split the texts, by `parts` ("train", "test") or by the seed.

    >>> data = make_dataset(["a", "b", "c", "d"], authors=["kim", "lee"] * 2, seed=1)
    >>> data.facts.train, data.facts.test, data.facts.authors
    (2, 2, 2)
    """
    if authors is None and labels is None and secrets is None:
        raise ParameterError("give authors, labels or secrets: otherwise nothing can be measured")
    given = {"authors": authors, "labels": labels, "secrets": secrets, "parts": parts}
    for name, column in given.items():
        if column is not None and len(column) != len(texts):
            needed = counted(len(texts), "text needs", "texts need")
            raise ParameterError(f"{needed} as many {name}, got {len(column)}")
    if not any(text.strip() for text in texts):
        raise ParameterError("there is no text that is not empty: nothing can be measured")
    none = [None] * len(texts)
    numbers = number_authors(none if authors is None else authors)
    topics = none if labels is None else [*labels]
    hidden = [None if s is None else str(s) for s in (none if secrets is None else secrets)]
    if authors is not None and (count := len(np.unique(_known(numbers)))) < 2:
        raise ParameterError(
            f"at least 2 authors are needed, found {count}: with one there is nothing to tell "
            "apart; leave the authors out to measure utility alone"
        )
    if labels is not None and (count := len({*topics} - {None})) < 2:
        raise ParameterError(
            f"at least 2 different labels are needed, found {count}; leave the labels out to "
            "measure attacks alone"
        )
    tested = (
        _given(parts) if parts is not None else _drawn(texts, numbers, topics, test_share, seed)
    )

    every = DatasetPart(tuple(texts), numbers, tuple(topics), tuple(hidden))
    train, test = (every.of(np.flatnonzero(tested == wanted)) for wanted in (False, True))
    if parts is None and not len(test):
        raise ParameterError(
            "every author (without authors: every label) has one text only, or copies of one, so "
            "there is none to try an attack or a classifier on: give at least one of them a second "
            "text"
        )
    if not len(train) or not len(test):
        raise ParameterError(
            f"the training part has {counted(len(train), 'text')} and the test part {len(test)}; "
            "both are needed"
        )
    if authors is not None and not np.isin(test.authors, _known(train.authors)).any():
        raise ParameterError(
            "no author has texts in both parts, so no attack can be tried: every author of the "
            "training part needs a second text"
        )
    if secrets is not None:
        checked_secrets(train.secrets, test.secrets)
    return Dataset(train, test, _facts(train, test), Names(authors or []))


def halves(data: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """The same training part with either half of the test part: one to choose by, one to judge.

    Each author's texts (by label) go to both in turn; those with the same words stay together.
    """
    test = data.test
    units = copies_together(range(len(test)), test.texts)
    sides: tuple[list[int], list[int]] = [], []
    turns: dict[Hashable, int] = {}
    for place in seeded_rng(seed).child("halves").permutation(len(units)).tolist():
        first = units[place][0]
        key = int(test.authors[first]), test.labels[first]
        turn = turns.setdefault(key, len(turns))
        sides[turn % 2].extend(units[place])
        turns[key] = turn + 1

    def half(rows: list[int]) -> Dataset:
        part = test.of(np.array(rows, np.int64))
        attacked = np.isin(part.authors, _known(data.train.authors)).any()
        if (data.has_authors and not attacked) or (data.has_labels and not any(part.labels)):
            raise ParameterError(
                f"the test part of {counted(len(test), 'text')} is too small to be halved, to "
                "choose by one half and judge by the other: give more texts of each author and "
                "label, or a larger test share"
            )
        return replace(data, test=part, facts=_facts(data.train, part))

    return half(sides[0]), half(sides[1])


def checked_secrets(known: Sequence[str | None], asked: Sequence[str | None]) -> list[str]:
    """The different labels that the known texts have, or an error where none can be inferred."""
    names = sorted({label for label in known if label is not None})
    if len(names) < 2:
        raise ParameterError(
            f"the secret column has {counted(len(names), 'different value')} in the training part, "
            "at least 2 are needed"
        )
    if not set(names) & set(asked):
        raise ParameterError("no test text has a secret that the training part has too")
    return names


def _facts(train: DatasetPart, test: DatasetPart) -> Facts:
    texts = [*train.texts, *test.texts]
    everyone = np.concatenate([train.authors, test.authors])
    counts = Counter(_known(everyone).tolist())
    labels = [*train.labels, *test.labels]
    return Facts(
        texts=len(texts),
        train=len(train),
        test=len(test),
        empty=sum(not text.strip() for text in texts),
        authors=len(counts),
        single=sum(count == 1 for count in counts.values()),
        strangers=len(set(_known(test.authors).tolist()) - set(train.authors.tolist())),
        without_author=int((everyone == DONT_KNOW).sum()),
        labels=len({label for label in labels if label is not None}),
        without_label=labels.count(None),
    )


def _known(authors: Ids) -> Ids:
    known: Ids = authors[authors != DONT_KNOW]
    return known


def _given(parts: Sequence[str]) -> NDArray[np.bool_]:
    for row, part in enumerate(parts):
        if part not in _PARTS:
            raise ParameterError(f"text {row} is in part {part!r}; a part is train or test")
    return np.array([part == "test" for part in parts])


def _drawn(
    texts: Sequence[str], numbers: Ids, topics: Sequence[str | None], test_share: float, seed: int
) -> NDArray[np.bool_]:
    """Which texts are tested: a share of each author's, or else of each label's."""
    if not 0 < test_share < 1:
        raise ParameterError(f"test_share must lie between 0 and 1, exclusive, got {test_share}")
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, (author, topic) in enumerate(zip(numbers.tolist(), topics, strict=True)):
        groups[author if author != DONT_KNOW else f"label {topic}"].append(row)
    uniforms = seeded_rng(seed).child("split").rows(len(numbers), 1)[:, 0]
    tested = np.zeros(len(numbers), dtype=bool)
    for group, rows in groups.items():
        by_author = not isinstance(group, str) and len(rows) > 1
        units = copies_together(rows, texts) if by_author else [[row] for row in rows]
        if len(units) > 1:
            count = min(max(1, round(test_share * len(units))), len(units) - 1)
            for unit in sorted(units, key=lambda unit: uniforms[unit[0]])[:count]:
                tested[unit] = True
    return tested


def copies_together(rows: Sequence[int], texts: Sequence[str]) -> list[list[int]]:
    """The rows, those of texts with the same words together, whatever their capitals and signs;
    the first decides the order.

    >>> copies_together([0, 1, 2, 3], ["The cat.", "?", "the CAT", "?"])
    [[0, 2], [1], [3]]
    """
    units: dict[Hashable, list[int]] = {}
    for row in rows:
        words = tuple(words_of(texts[row]))
        units.setdefault(words or row, []).append(row)
    return list(units.values())
