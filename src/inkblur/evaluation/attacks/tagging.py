"""Part-of-speech tags, offline: the one file that uses TextBlob (extra `evaluation`).

TextBlob (MIT) ships the lexicon of the CLiPS Pattern library (BSD) in its wheel: some 94,000 words
with their commonest Penn Treebank tag, and rules for the suffixes of other words. It needs no
download. A trained model is more exact; this is good enough for an author's habits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from inkblur.errors import needs


def penn_tags(tokens: Sequence[str]) -> list[str]:
    """The Penn Treebank tag of each token, which its neighbors decide too.

    >>> penn_tags(["The", "cat", "sat", "."])
    ['DT', 'NN', 'VBD', '.']
    """
    tagged = _tagger().tag(" ".join(tokens), tokenize=False) if tokens else []
    return [str(tag) for _, tag in tagged]


@cache
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its lexicon open after reading it
        with needs("part-of-speech tags need TextBlob", "evaluation"):
            from textblob.taggers import PatternTagger
        tagger = PatternTagger()
        tagger.tag("loaded now")  # the lexicon is read on first use
    return tagger
