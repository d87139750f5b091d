"""Misspellings, offline: the one file that uses pyspellchecker.

pyspellchecker (MIT) carries a list of some 160,000 English words. A word counts as misspelled when
it has at least four letters, is written in lower case, is not in the list, and one slip turns it
into a word that is: a letter too many, too few or wrong, or two neighbors swapped. Names and
foreign words are mostly far from every word of the list, so they do not count. The list is
American: colour and whilst count, which serves an attack well, since they are an author's habit.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from inkblur.errors import needs

_LEAST_LETTERS = 4


def misspellings(words: Iterable[str]) -> Counter[str]:
    """How often each misspelled word occurs among words as they were written."""
    return Counter(word for word in words if is_misspelled(word))


@lru_cache(maxsize=1 << 18)
def is_misspelled(word: str) -> bool:
    """Whether this word, as written, is one slip away from a word of the list."""
    if len(word) < _LEAST_LETTERS or not (word.isascii() and word.isalpha() and word.islower()):
        return False
    known = _known_words()
    return word not in known and any(other in known for other in _one_slip(word))


def _one_slip(word: str) -> Iterable[str]:
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in string.ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in string.ascii_lowercase)


@cache
def _known_words() -> Any:
    with needs("misspellings need pyspellchecker", "evaluation"):
        from spellchecker import SpellChecker
    return SpellChecker().word_frequency.dictionary
