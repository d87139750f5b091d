"""The thesis's stop words (Appendix A): scikit-learn's list without a misspelled word."""

from __future__ import annotations

from functools import cache

from inkblur.evaluation import words_of


@cache
def stop_words() -> frozenset[str]:
    """The 317 words as printed; scikit-learn's list has "amoungst" besides."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS) - {"amoungst"}


def content_words(text: str) -> list[str]:
    """The words of a text without stop words and numbers, folded, as in the thesis's Table 5.2.

    >>> content_words("Bring forth the ring, Frodo, before 3 o'clock.")
    ['bring', 'forth', 'ring', 'frodo', "o'clock"]
    """
    stop = stop_words()
    return [word for word in words_of(text) if word not in stop and not word[0].isdigit()]
