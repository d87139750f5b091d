"""Singling out: which of n originals is this released text from?

Two things give an original away: its number of words, which a sequence release shows as it is, and
the words themselves. The attacker takes the originals of the same length (all of them where none
has it), and among those the one whose words are nearest by the cosine of tf-idf weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.errors import ParameterError, needs
from inkblur.evaluation.measures.words import words_of
from inkblur.types import Array, Ids


@dataclass(frozen=True, slots=True)
class SingledOut:
    """Which released texts were traced to their originals, (texts,) of true and false."""

    by_words: np.ndarray[tuple[int], np.dtype[np.bool_]]  # the nearest words, whatever the length
    by_both: np.ndarray[tuple[int], np.dtype[np.bool_]]  # the nearest of those of equal length

    @property
    def chance(self) -> float:
        """What guessing evenly among the originals would reach."""
        return 1.0 / len(self.by_words)


def single_out(originals: Sequence[str], released: Sequence[str]) -> SingledOut:
    """Trace released text i to one of the originals; it is right where it is original i.

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
    lengths = [np.array([len(words_of(text)) for text in texts]) for texts in (originals, released)]
    fits = lengths[1][:, None] == lengths[0][None, :]
    fits[~fits.any(axis=1)] = True
    own: Ids = np.arange(len(originals))
    return SingledOut(
        near.argmax(axis=1) == own, np.where(fits, near, -np.inf).argmax(axis=1) == own
    )


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
