"""Proper nouns taken out of a text: by the tagger that scrubadub 1 used for names.

scrubadub 1, which SynTF ran, took a word for a name where TextBlob's tagger gave it the tag NNP or
NNPS. The thesis redacted the proper nouns of its fan fiction and does not say how.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

from inkblur.errors import MissingExtra

_TAGS = ("NNP", "NNPS")
# Penn tokens: clitics apart (do n't, Ann 's).
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|ll|re|ve)\b|[^\W\d_]+"
    r"|[^\w\s]|\w",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[^\S\n]{2,}")


def without_proper_nouns(text: str) -> str:
    """The text without the words that are tagged as proper nouns; everything else stays.

    >>> without_proper_nouns("We met Xanthippos, who lives in Ypsilanti.")
    'We met , who lives in .'
    """
    tokens = list(_TOKEN.finditer(text))
    written = " ".join(token[0].replace("’", "'") for token in tokens)
    tags = _tagger().tag(written, tokenize=False) if tokens else []
    parts, end = [], 0
    for token, (_, tag) in zip(tokens, tags, strict=True):
        if tag.startswith(_TAGS) and token[0][0].isalpha():
            parts.append(text[end : token.start()])
            end = token.end()
    return _SPACES.sub(" ", "".join([*parts, text[end:]]))


@cache
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its lexicon open after reading it
        try:
            from textblob.taggers import PatternTagger
        except ImportError:
            raise MissingExtra(
                "tags need TextBlob: pip install '.[evaluation]' in a clone of Inkblur"
            ) from None
        tagger = PatternTagger()
        tagger.tag("loaded now")  # the lexicon is read on first use
    return tagger
