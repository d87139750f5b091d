"""Part-of-speech tags, offline: the one file that uses TextBlob.

TextBlob (MIT) carries in its wheel the lexicon of the CLiPS Pattern library (BSD), some 94,000
words with their commonest Penn Treebank tag, and Brill's contextual rules; it is pure Python and
needs no download. It is less exact than a trained model: good enough for the habits of an author,
which is all an attack asks of it.

TextBlob tries each of its 280 contextual rules on every word. A rule can only change the tag that
it names, so here each word meets the rules of its own tag: the same tags, several times sooner.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
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
    parser, rules = _tagger()
    sentences = (_TOKEN.findall(s.replace("’", "'")) for s in _SENTENCE_END.split(text))
    return [
        [str(tag) for _, tag in in_context(parser.find_tags(tokens), rules)]
        for tokens in sentences
        if tokens
    ]


Rule = tuple[Callable[..., bool], str, str, str]  # the condition, its x and y, the new tag
_EDGE = ("STAART", "STAART")  # TextBlob's spelling
_ANY = "*"
# Conditions by Brill's names; t holds (word, tag) pairs, i is the place of the word in question.
_CONDITIONS: dict[str, Callable[[Any, int, str, str], bool]] = {
    "prevtag": lambda t, i, x, y: x == t[i - 1][1],
    "nexttag": lambda t, i, x, y: x == t[i + 1][1],
    "prev2tag": lambda t, i, x, y: x == t[i - 2][1],
    "next2tag": lambda t, i, x, y: x == t[i + 2][1],
    "prev1or2tag": lambda t, i, x, y: x in (t[i - 1][1], t[i - 2][1]),
    "next1or2tag": lambda t, i, x, y: x in (t[i + 1][1], t[i + 2][1]),
    "prev1or2or3tag": lambda t, i, x, y: x in (t[i - 1][1], t[i - 2][1], t[i - 3][1]),
    "next1or2or3tag": lambda t, i, x, y: x in (t[i + 1][1], t[i + 2][1], t[i + 3][1]),
    "surroundtag": lambda t, i, x, y: x == t[i - 1][1] and y == t[i + 1][1],
    "curwd": lambda t, i, x, y: x == t[i][0],
    "prevwd": lambda t, i, x, y: x == t[i - 1][0],
    "nextwd": lambda t, i, x, y: x == t[i + 1][0],
    "prev1or2wd": lambda t, i, x, y: x in (t[i - 1][0], t[i - 2][0]),
    "next1or2wd": lambda t, i, x, y: x in (t[i + 1][0], t[i + 2][0]),
    "prevwdtag": lambda t, i, x, y: x == t[i - 1][0] and y == t[i - 1][1],
    "nextwdtag": lambda t, i, x, y: x == t[i + 1][0] and y == t[i + 1][1],
    "wdprevtag": lambda t, i, x, y: x == t[i - 1][1] and y == t[i][0],
    "wdnexttag": lambda t, i, x, y: x == t[i][0] and y == t[i + 1][1],
    "wdand2aft": lambda t, i, x, y: x == t[i][0] and y == t[i + 2][0],
    "wdand2tagbfr": lambda t, i, x, y: x == t[i - 2][1] and y == t[i][0],
    "wdand2tagaft": lambda t, i, x, y: x == t[i][0] and y == t[i + 2][1],
    "lbigram": lambda t, i, x, y: x == t[i - 1][0] and y == t[i][0],
    "rbigram": lambda t, i, x, y: x == t[i][0] and y == t[i + 1][0],
    "prevbigram": lambda t, i, x, y: x == t[i - 2][1] and y == t[i - 1][1],
    "nextbigram": lambda t, i, x, y: x == t[i + 1][1] and y == t[i + 2][1],
}


def rules_by_tag(rules: Sequence[Sequence[str]]) -> Mapping[str, list[Rule]]:
    """TextBlob's rules [old tag, new tag, condition, x, y?] by their old tag, in their order.

    Rules for the tag * are everybody's; they stand under * for tags that have no others.
    """
    known = [rule for rule in rules if rule[2].lower() in _CONDITIONS]  # it ignores others too
    return {
        tag: [
            (_CONDITIONS[name.lower()], x, y[0] if y else "", new)
            for old, new, name, x, *y in known
            if old in (tag, _ANY)
        ]
        for tag in {_ANY, *(rule[0] for rule in known)}
    }


def in_context(
    tagged: Sequence[Sequence[str]], rules: Mapping[str, list[Rule]]
) -> list[tuple[str, str]]:
    """(word, tag) pairs after the contextual rules, as TextBlob's `context.apply` gives them.

    A word's rules are those of the tag it came with, whatever an earlier rule made of it.
    """
    words: list[tuple[str, str]] = [_EDGE] * 3 + [(w, t) for w, t in tagged] + [_EDGE] * 3
    for i in range(3, len(words) - 3):
        for condition, x, y, new in rules.get(words[i][1], rules[_ANY]):
            if condition(words, i, x, y):
                words[i] = (words[i][0], new)
    return words[3:-3]


@cache
def _tagger() -> tuple[Any, Mapping[str, list[Rule]]]:
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
    return parser, rules_by_tag(lexicon.context)
