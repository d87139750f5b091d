"""Tokens: where the words, numbers, addresses and signs of a text are. Offsets are code points."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, lru_cache, wraps
from itertools import groupby
from typing import NamedTuple

_REMEMBERED = 1 << 17  # pieces of text whose words are kept: at most some 40 MB
_REMEMBERED_LETTERS = 40  # in each, at most


class TokenClass(Enum):
    """What a token looks like; whether a word is known is for the vocabulary to say."""

    WORD = "word"
    NUMBER = "number"  # anything with a digit in it: 12, 3.50, 4th, b2b
    ADDRESS = "address"  # URL, e-mail address, @handle
    SENTENCE_END = "sentence end"
    SIGN = "sign"  # every other visible character: punctuation, symbols, emoji


class Token(NamedTuple):
    """One token: `text[start:end]` of the document. A tuple, because every word makes one."""

    kind: TokenClass
    text: str
    start: int
    end: int


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a text in order; what lies between them is white space.

    Nothing visible is skipped: a character that fits no other class is a sign by itself.

    >>> [(t.kind.value, t.text) for t in tokenize("Don't mail 😀 a@b.org, 3.50!")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('word', "Don't"), ('word', 'mail'), ('sign', '😀'), ('address', 'a@b.org'),
     ('sign', ','), ('number', '3.50'), ('sentence end', '!')]
    """
    kinds = _KINDS
    # Looking for an address at every word costs more than all the rest, and most texts have none.
    for match in _pattern(may_have_address(text)).finditer(text):
        start, end = match.span()
        yield Token(kinds[match.lastgroup], match[0], start, end)


def may_have_address(text: str) -> bool:
    """Whether a text holds what every address has; without it, no token is one."""
    return "@" in text or "://" in text or "ww." in text or "WW." in text


def by_pieces(read: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """`read` for whole texts, by looking up what stands between two spaces where it was met before.

    No token crosses white space, and texts repeat themselves.
    """

    @wraps(read)
    def read_text(text: str) -> list[str]:
        return [
            word
            for piece in text.split()
            for word in (_met(read, piece) if len(piece) <= _REMEMBERED_LETTERS else read(piece))
        ]

    return read_text


@lru_cache(_REMEMBERED)
def _met(read: Callable[[str], list[str]], piece: str) -> tuple[str, ...]:
    return tuple(read(piece))


def forget_pieces() -> None:
    """Remember no piece of text that was met."""
    _met.cache_clear()


@by_pieces
def written_words(text: str) -> list[str]:
    """The words of a text as they are written, without numbers, addresses and signs.

    >>> written_words("Don't mail a@b.org, 3.50!")
    ["Don't", 'mail']
    """
    return [token.text for token in tokenize(text) if token.kind is TokenClass.WORD]


_KINDS: dict[str | None, TokenClass] = {  # never None: every alternative of the pattern is a group
    "address": TokenClass.ADDRESS,
    "number": TokenClass.NUMBER,
    "word": TokenClass.WORD,
    "stop": TokenClass.SENTENCE_END,
    "sign": TokenClass.SIGN,
}


@cache
def _pattern(addresses: bool) -> re.Pattern[str]:
    """Every repetition that can fail is bounded, possessive, or tried at the start of its run only:
    otherwise a megabyte of dots would take hours.
    """
    marks = _marks()
    letters = rf"[^\W\d_]++(?:[{marks}]++[^\W\d_]*+)*+"
    characters = rf"[^\W_]++(?:[{marks}]++[^\W_]*+)*+"  # letters and digits
    address = (
        # An address ends before the punctuation that closes its sentence.
        r"(?:[a-zA-Z][a-zA-Z0-9+.\-]{0,30}://|(?:www|Www|WWW)\.)[^\s<>\"]*[^\s<>\"'.,;:!?)\]}]"
        r"|[\w.+\-]{1,64}@[\w\-]+(?:\.[\w\-]+)*"
        r"|@\w+"
    )
    return re.compile(
        rf"(?P<address>{address if addresses else '(?!)'})"
        # Possessive, so that abc12 is one number and never the word ab.
        rf"|(?P<word>{letters}(?:['’ʼ]{letters}){{0,8}}+(?!\d))"
        rf"|(?P<number>{characters}(?:[.,:/](?=\d){characters})*+)"
        # A full stop ends a sentence only where white space, a closing sign or the end follows it.
        r"|(?P<stop>(?<![.!?…。！？])[.!?…。！？]++(?=[\"'”’)\]]*(?:\s|$)))"
        r"|(?P<sign>\S)"
    )


@cache
def _marks() -> str:
    """Combining marks and joiners as a character class: they belong to the letter before them."""
    codes = (
        *range(0x300, 0x3100),
        *range(0xA66F, 0xFE30),
        *range(0x1D165, 0x1D245),
        *range(0x11000, 0x11A00),
    )
    joining = [
        code
        for code in codes
        if code in (0x200C, 0x200D) or unicodedata.category(chr(code))[0] == "M"
        # U+FE0F only says "show the sign before me in color"; it is not part of a word.
        if not 0xFE00 <= code <= 0xFE0F
    ]
    ranges = groupby(enumerate(joining), key=lambda pair: pair[1] - pair[0])  # without a gap
    runs = [[code for _, code in run] for _, run in ranges]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
