"""What repetition gives away: words that come out again and again are likely true.

Noise is drawn afresh for every word, so a false word seldom comes out twice, and a true one often
does: within a text, over an author's texts, and over several releases of one text (which
:class:`inkblur.evaluation.attacks.reading.Reader` reads together).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from inkblur.documents.stop_words import STOP_WORDS
from inkblur.evaluation.attacks.base import joined_by_author
from inkblur.evaluation.measures.words import words_of
from inkblur.evaluation.results import Measurement
from inkblur.evaluation.target import Target
from inkblur.types import Ids


def repeated_words(
    true: Sequence[str],
    released: Sequence[str],
    *,
    times: int = 2,
    authors: Sequence[int] | None = None,  # of the texts; None: each by another
) -> Ids:
    """How many content words come out at least `times` times in each text, how many of those the
    true text has, and how many a true text by another author, (texts, 3).

    >>> repeated_words(["the fish swam", "a road"], ["fish boat fish", "tree tree"]).tolist()
    [[1, 1, 0], [1, 0, 0]]
    """
    vocabularies = [set(words_of(text)) for text in true]
    others = _by_another(range(len(true)) if authors is None else authors)
    rows = []
    for place, text in enumerate(released):
        counts = Counter(word for word in words_of(text) if word not in STOP_WORDS)
        again = {word for word, count in counts.items() if count >= times}
        other = vocabularies[others[place]]
        rows.append((len(again), len(again & vocabularies[place]), len(again & other)))
    return np.array(rows, np.int64).reshape(-1, 3)


def _by_another(authors: Sequence[int]) -> list[int]:
    """For each text the next one by another author, the first coming after the last; where all are
    by one, the next.
    """
    count = len(authors)
    after = [(place + 1) % count for place in range(count)]
    if len(set(authors)) > 1:
        for place in reversed(range(2 * count)):  # twice around: the end knows the beginning
            here, follows = place % count, (place + 1) % count
            after[here] = follows if authors[follows] != authors[here] else after[follows]
    return after


def measure_repetition(target: Target) -> Iterator[Measurement]:
    """How often a repeated word is true: in a text, and in an author's texts."""
    data, released = target.data, target.released_test.texts
    authors = data.test.authors
    yield _measured(
        target,
        "content words released twice in a text: share that the original text contains",
        repeated_words(target.data.test.texts, released, authors=authors.tolist()),
    )
    what = "content words released 3 times in an author's texts: share that the author wrote"
    if not data.has_authors:
        yield Measurement("repetition", "", what, reason="no text has an author")
        return
    together = (joined_by_author(texts, authors) for texts in (target.data.test.texts, released))
    yield _measured(target, what, repeated_words(*together, times=3))


def _measured(target: Target, what: str, counts: Ids) -> Measurement:
    repeated, true, by_chance = counts.T
    share = target.share(true, repeated)
    if share is None:
        return Measurement("repetition", "", what, reason="no word comes out that often")
    chance = float(by_chance.sum() / repeated.sum()) if len(counts) > 1 else None
    return Measurement(
        "repetition", "", what, value=share, chance=chance, by_chance="in another's text"
    )
