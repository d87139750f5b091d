"""What repetition gives away: words that come out again and again are likely true.

Noise is drawn afresh for every word, so a false word seldom comes out twice, and a true one often
does. Three kinds of repetition: within a text, over an author's texts, and over several releases of
one text (which :class:`inkblur.evaluation.attacks.reading.Reader` reads together).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.documents.stop_words import STOP_WORDS
from inkblur.evaluation.measures.words import words_of
from inkblur.types import Ids


@dataclass(frozen=True, slots=True)
class Repeated:
    """Content words that came out at least twice in a text (or an author's texts), text by text."""

    found: Ids  # (texts,): how many such words
    true: Ids  # (texts,): of those, how many the true text has
    by_chance: Ids  # (texts,): how many a true text by another author, the next one, has

    @property
    def share(self) -> float:
        """How often a repeated word is true; 0 where none was repeated."""
        return float(self.true.sum() / max(1, self.found.sum()))

    @property
    def chance(self) -> float | None:
        """The same against a text by chance; None where there is no other text."""
        if len(self.found) < 2:
            return None
        return float(self.by_chance.sum() / max(1, self.found.sum()))


def repeated_words(
    true: Sequence[str],
    released: Sequence[str],
    *,
    times: int = 2,
    authors: Sequence[int] | None = None,  # of the texts; None: each by another
) -> Repeated:
    """How often a content word that comes out at least `times` times in a text stands in it.

    >>> found = repeated_words(["the fish swam", "a road"], ["fish boat fish", "tree tree"])
    >>> found.found.tolist(), found.true.tolist()
    ([1, 1], [1, 0])
    """
    vocabularies = [set(words_of(text)) for text in true]
    others = _by_another(range(len(true)) if authors is None else authors)
    rows = []
    for place, text in enumerate(released):
        counts = Counter(word for word in words_of(text) if word not in STOP_WORDS)
        again = {word for word, count in counts.items() if count >= times}
        other = vocabularies[others[place]]
        rows.append((len(again), len(again & vocabularies[place]), len(again & other)))
    table = np.array(rows, np.int64).reshape(-1, 3)
    return Repeated(table[:, 0], table[:, 1], table[:, 2])


def _by_another(authors: Sequence[int]) -> list[int]:
    """For each text the next one by another author, the first coming after the last; where all are
    by one, the next.
    """
    count = len(authors)
    found = [(place + 1) % count for place in range(count)]
    if len(set(authors)) > 1:
        for place in reversed(range(2 * count)):  # twice around: the end knows the beginning
            here, after = place % count, (place + 1) % count
            found[here] = after if authors[after] != authors[here] else found[after]
    return found
