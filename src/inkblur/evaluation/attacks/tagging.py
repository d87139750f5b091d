"""Part-of-speech tags, offline: the one file that uses TextBlob.

TextBlob (MIT) carries in its wheel the lexicon of the CLiPS Pattern library (BSD), some 94,000
words with their commonest Penn Treebank tag, and Brill's contextual rules; it is pure Python and
needs no download. It is less exact than a trained model: good enough for the habits of an author,
which is all an attack asks of it.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

from inkblur.errors import MissingExtra

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+|\n\s*\n")
# Penn tokens: clitics apart (do n't, it 's), numbers whole, every other sign alone.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n't\b)|n't\b|'(?:s|m|d|ll|re|ve)\b|[^\W\d_]+|[^\w\s]|\w",
    re.IGNORECASE,
)


def sentence_tags(text: str) -> list[list[str]]:
    """Penn Treebank tags of a text, sentence by sentence: DT NN VBD . for "The cat sat."."""
    parser, context = _tagger()
    sentences = (_TOKEN.findall(s.replace("’", "'")) for s in _SENTENCE_END.split(text))
    return [
        [str(tag) for _, tag in context.apply(parser.find_tags(tokens))]
        for tokens in sentences
        if tokens
    ]


@cache
def _tagger() -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its word lists open while it reads them
        try:
            from textblob.en import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
                lexicon,
                parser,
            )
        except ImportError:
            raise MissingExtra(
                "part-of-speech tags need TextBlob: pip install 'inkblur[evaluation]'"
            ) from None
        lexicon.context.apply(parser.find_tags(["loaded", "now"]))  # both read on first use
    return parser, lexicon.context
