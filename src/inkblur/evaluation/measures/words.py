"""The words of a text, as classifiers count them."""

from __future__ import annotations

from inkblur.documents.analysis import folded
from inkblur.documents.tokens import TokenClass, tokenize


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, folded: what a classifier sees.

    >>> words_of("Don't pay $5, KIM!")
    ["don't", 'pay', '5', 'kim']
    """
    wanted = (TokenClass.WORD, TokenClass.NUMBER)
    return [folded(token.text) for token in tokenize(text) if token.kind in wanted]
