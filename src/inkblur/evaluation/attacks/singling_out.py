"""Singling out: which of n originals is this released text from?

Two things give an original away: its number of words, which a sequence release shows as it is, and
the words themselves. An attacker who knows nothing of the mechanism takes the originals that are
released with as many words (all of them where none is), and among those the one whose words are
nearest by the cosine of tf-idf weights.

One who knows the channel adds up log P(out | word) place by place: the original of the largest sum
is the likeliest, and no attacker who finds all originals equally likely does better. A little of
every word shows, so this finds a text among others where no single word can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import ParameterError, needs
from inkblur.evaluation.attacks.channel import Channel
from inkblur.evaluation.measures.words import words_of
from inkblur.types import NULL_ID, Array, Ids


@dataclass(frozen=True, slots=True)
class SingledOut:
    """Which released texts were traced to their originals, (texts,) of true and false."""

    by_words: NDArray[np.bool_]  # the nearest words, whatever the length
    by_both: NDArray[np.bool_] | None  # the nearest of those of equal length; None: not known


def single_out(
    originals: Sequence[str], released: Sequence[str], shown: Sequence[int] | None = None
) -> SingledOut:
    """Trace released text i to one of the originals; it is right where it is original i.

    `shown` says how many words each original is released with, where an attacker can tell.

    >>> found = single_out(["a boat at sea", "rain and wind"], ["the boat at sea", "wind or rain"])
    >>> found.by_words.tolist()
    [True, True]
    """
    if len(originals) != len(released) or len(originals) < 2:
        raise ParameterError(
            f"as many originals as released texts are needed, at least 2: got {len(originals)} "
            f"and {len(released)}"
        )
    near = _cosines(originals, released)
    own: Ids = np.arange(len(originals))
    by_words = near.argmax(axis=1) == own
    if shown is None:
        return SingledOut(by_words, None)
    fits = np.array([len(text.split()) for text in released])[:, None] == np.asarray(shown)
    fits[~fits.any(axis=1)] = True
    return SingledOut(by_words, np.where(fits, near, -np.inf).argmax(axis=1) == own)


def single_out_by_channel(
    channel: Channel, originals: Sequence[Ids], released: Sequence[Ids]
) -> NDArray[np.bool_]:
    """Whether original i is the likeliest origin of released text i, (texts,); ties count as wrong.

    The word at each place of a released text stands for the word at the same place of its original.
    An original that is too short is taken to go on with null words, and of a longer one the rest is
    not looked at, so length has no say.

    >>> from inkblur import Embedding, Exponential
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> channel = ExactChannel(Exponential(table, epsilon=4.0), 3)
    >>> texts = [np.array([0, 2]), np.array([2, 2])]
    >>> single_out_by_channel(channel, texts, [np.array([1, 2]), np.array([2, 2])]).tolist()
    [True, True]
    """
    words = np.unique(np.concatenate([*originals, [NULL_ID]]))
    outs = np.unique(np.concatenate(released))
    logs = np.log(np.maximum(channel.likelihood(words, outs), 1e-300)).astype(np.float32)
    longest = max(len(text) for text in released)
    rows = np.full((len(originals), longest), np.searchsorted(words, NULL_ID))
    for row, text in zip(rows, originals, strict=True):
        row[: len(text)] = np.searchsorted(words, text[:longest])
    found = np.zeros(len(released), np.bool_)
    for own, text in enumerate(released):
        columns = np.searchsorted(outs, text)
        sums = logs[rows[:, : len(text)], columns].sum(axis=1, dtype=np.float64)
        found[own] = (sums >= sums[own]).sum() == 1
    return found


def _cosines(originals: Sequence[str], released: Sequence[str]) -> Array:
    """(released, originals)."""
    with needs("this attack needs scikit-learn", "evaluation"):
        from sklearn.feature_extraction.text import TfidfVectorizer
    weights = TfidfVectorizer(analyzer=words_of, sublinear_tf=True)
    try:
        known = weights.fit_transform(originals)
    except ValueError:  # an empty vocabulary
        raise ParameterError("no original has a single word") from None
    return np.asarray((weights.transform(released) @ known.T).toarray(), np.float64)
