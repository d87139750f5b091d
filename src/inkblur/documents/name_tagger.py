"""Names found by a part-of-speech tagger, which reads the neighboring words (extra `evaluation`).

TextBlob's PatternTagger needs no download: its lexicon is part of the wheel. It finds names that no
list has, and costs part of the guarantee: see `CONTEXTUAL`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from inkblur.documents.tokens import Token, TokenClass
from inkblur.errors import needs

CONTEXTUAL = (
    "a tagger decides from the neighboring words which words are names, so changing one word of a "
    "text may change several inputs of the mechanism; the distance between two texts is the "
    "distance between what the tagger makes of them"
)
_PROPER_NOUNS = ("NNP", "NNPS")


def tagged_names(tokens: Sequence[Token]) -> frozenset[int]:
    """Where words that the tagger takes for proper nouns begin.

    >>> from inkblur.documents.tokens import tokenize
    >>> sorted(tagged_names(list(tokenize("We met Xanthippos in Ypsilanti."))))
    [7, 21]
    """
    written = " ".join(token.text for token in tokens)
    tags = _tagger().tag(written, tokenize=False) if tokens else []
    return frozenset(
        token.start
        for token, (_, tag) in zip(tokens, tags, strict=True)
        if token.kind is TokenClass.WORD and tag.startswith(_PROPER_NOUNS)
    )


@cache
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its lexicon open after reading it
        with needs("the tagger of names needs TextBlob", "evaluation"):
            from textblob.taggers import PatternTagger
        tagger = PatternTagger()
        tagger.tag("loaded now")  # the lexicon is read on first use
    return tagger
