"""Which words are names of people: decided by the word alone, from a public list.

A decision that read the neighboring words would let one changed word change several inputs of the
mechanism, and a guarantee for one word would then not be one for its change. The list, its source
and the rule for names that are common words as well (Will, Rose, Brown): `data/PROVENANCE.md`.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources

from inkblur.types import normalized_form


def is_name(word: str) -> bool:
    """Whether a folded word is on the list of names, also with a possessive 's or an accent.

    >>> [is_name(word) for word in ("john", "garcia's", "o'brien", "josé", "hope", "will")]
    [True, True, True, True, False, False]
    """
    names = _names()
    if word in names:
        return True
    if word.isascii() and "'" not in word:
        return False
    stem = word.removesuffix("'").removesuffix("'s")
    if stem[1:2] == "'" and stem[0] in "dlo":
        stem = stem.replace("'", "", 1)  # the list has obrien, dangelo
    decomposed = normalized_form("NFKD", stem)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return plain in names


@cache
def _names() -> frozenset[str]:
    file = resources.files("inkblur.documents") / "data" / "names.txt"
    return frozenset(file.read_text(encoding="ascii").split())
