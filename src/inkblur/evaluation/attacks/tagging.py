"""Part-of-speech tags, offline: the one file that uses TextBlob.

TextBlob (MIT) ships the lexicon of the CLiPS Pattern library (BSD) in its wheel: some 94,000 words
with their commonest Penn Treebank tag, and rules for the suffixes of other words. It needs no
download. A trained model is more exact; this is good enough for an author's habits, which is all
that an attack needs.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

from inkblur.errors import needs

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+|\n\s*\n")
# Penn tokens: clitics apart (do n't, it 's), numbers in one piece, every other sign alone.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n't\b)|n't\b|'(?:s|m|d|ll|re|ve)\b|[^\W\d_]+|[^\w\s]|\w",
    re.IGNORECASE,
)


def sentence_tags(text: str) -> list[list[str]]:
    """Penn Treebank tags of a text, sentence by sentence: DT NN VBD . for "The cat sat."."""
    tagger = _tagger()
    sentences = (_TOKEN.findall(s.replace("’", "'")) for s in _SENTENCE_END.split(text))
    return [
        [str(tag) for _, tag in tagger.tag(" ".join(tokens), tokenize=False)]
        for tokens in sentences
        if tokens
    ]


@cache
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its word list open after reading it
        with needs("part-of-speech tags need TextBlob", "evaluation"):
            from textblob.taggers import PatternTagger
        tagger = PatternTagger()
        tagger.tag("loaded now")  # the lexicon is read on first use
    return tagger
