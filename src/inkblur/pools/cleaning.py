"""What may stand in a pool: each text once, without what points at somebody.

A released text was written by a stranger. Addresses, long numbers and names of people in it are
masked; this is a net for what has a form, not a proof that nobody can be recognized.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

from inkblur.documents.analysis import folded
from inkblur.documents.names import is_name
from inkblur.documents.tokens import TokenClass, may_have_address, tokenize

LEAST_WORDS = 3
MASKED = re.compile(r"\[(address|number|name)\]")
_LONG_NUMBER = re.compile(r"\+?\d(?:[ ().-]{0,2}\d){4,}")  # years and prices stay


class Identifiers(Enum):
    """What happens to a text that points at somebody."""

    MASK = "mask"
    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Texts that may stand in a pool, where they stood, and how many others were left out."""

    texts: tuple[str, ...]
    rows: tuple[int, ...]
    left_out: Counter[str]  # by reason
    masked: int  # texts in which something was masked


def clean(texts: Iterable[str], identifiers: Identifiers = Identifiers.MASK) -> Cleaned:
    """White space made even, identifiers masked, duplicates and short texts left out.

    >>> cleaned = clean(["Ask  Maria at m@x.org today", "ask Ann at a@x.org TODAY", "Hi"])
    >>> cleaned.texts, dict(cleaned.left_out)
    (('Ask [name] at [address] today',), {'duplicate': 1, 'too short': 1})
    """
    kept: list[str] = []
    rows: list[int] = []
    seen: set[bytes] = set()  # fingerprints: a million texts are to be built in 2 GB
    left_out: Counter[str] = Counter()
    masked = 0
    for row, text in enumerate(texts):
        plain = " ".join(text.encode(errors="replace").decode().split())  # no lone surrogates
        shown = plain if identifiers is Identifiers.KEEP else mask(plain)
        words = (t.kind is TokenClass.WORD for t in tokenize(MASKED.sub(" ", shown)))
        if sum(words) < LEAST_WORDS:
            left_out["too short"] += 1
        elif shown != plain and identifiers is Identifiers.DROP:
            left_out["identifier"] += 1
        elif (same := sha256(shown.lower().encode()).digest()[:16]) in seen:
            left_out["duplicate"] += 1
        else:
            seen.add(same)
            kept.append(shown)
            rows.append(row)
            masked += shown != plain
    return Cleaned(tuple(kept), tuple(rows), left_out, masked)


def mask(text: str) -> str:
    """The text with [address], [number] and [name] in place of what they stand for.

    >>> mask("Call Maria Garcia, 0800 123-456, in 2024: WWW.EXAMPLE.ORG")
    'Call [name] [name], [number], in 2024: [address]'
    """
    if may_have_address(text):
        text = _replaced(text, TokenClass.ADDRESS)
    text = _LONG_NUMBER.sub("[number]", text)
    return _replaced(text, TokenClass.WORD)


def _replaced(text: str, kind: TokenClass) -> str:
    address = kind is TokenClass.ADDRESS
    out, end = [], 0
    for token in tokenize(text):
        if token.kind is kind and (address or is_name(folded(token.text))):
            out += [text[end : token.start], "[address]" if address else "[name]"]
            end = token.end
    return "".join([*out, text[end:]])
