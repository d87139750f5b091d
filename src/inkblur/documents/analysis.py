"""From a text to the words that enter the mechanism, and back into a text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from inkblur.documents.policies import TokenPolicies, Treatment
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import Token, TokenClass, tokenise
from inkblur.embeddings.table import Embedding
from inkblur.types import NULL_ID

_APOSTROPHES = str.maketrans("’ʼ", "''")


@dataclass(slots=True)
class Slot:
    """A place in the released text: a replaced word (`copied` is None) or something copied."""

    gap: str  # what stands before it
    copied: str | None = None
    capitals: str = ""  # "", "first" or "all": given to the replacement


@dataclass(slots=True)
class Analysis:
    """What of a document enters the mechanism, where it goes, and what was done with the rest."""

    ids: list[int] = field(default_factory=list)  # NULL_ID for the null word
    slots: list[Slot] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # "numbers blurred", "unknown kept", ...


class Analyst:
    """Reads documents under one vocabulary and one set of policies."""

    def __init__(self, embedding: Embedding, policies: TokenPolicies) -> None:
        self._embedding = embedding
        self._policies = policies

    def read(self, text: str) -> Analysis:
        """The document's words as ids, and the layout of what will be released."""
        policies = self._policies
        analysis = Analysis()
        end = 0
        touched = False  # a sign was removed since the last slot: words must not grow together
        for token in tokenise(text):
            gap = text[end : token.start]
            end = token.end
            if token.kind in (TokenClass.SIGN, TokenClass.SENTENCE_END):
                touched |= not self._sign(token, gap, analysis)
                continue
            name, known = self._classify(token)
            treatment = Treatment.BLUR if name == "words" else getattr(policies, name)
            analysis.counts[f"{name} {treatment.value}"] += 1
            if treatment is Treatment.DROP:
                touched = True
                continue
            separator = self._separator(gap, touched, analysis)
            touched = False
            if treatment is Treatment.KEEP:
                # Kept words keep their letters; their capitals are a class of their own.
                folded = token.text if policies.capitals is Treatment.KEEP else token.text.lower()
                copied = folded if token.kind is TokenClass.WORD else token.text
                analysis.slots.append(Slot(separator, copied))
            else:
                analysis.ids.append(known)
                analysis.slots.append(Slot(separator, None, self._capitals(token)))
        return analysis

    def _classify(self, token: Token) -> tuple[str, int]:
        """The token's class as named in the policies, and its id (NULL_ID unless it is known)."""
        if token.kind is TokenClass.NUMBER:
            return "numbers", NULL_ID
        if token.kind is TokenClass.ADDRESS:
            return "addresses", NULL_ID
        word = known_id(self._embedding, token.text)
        if folded(token.text) in STOP_WORDS:
            return "stop_words", word
        return ("words", word) if word != NULL_ID else ("unknown", NULL_ID)

    def _sign(self, token: Token, gap: str, analysis: Analysis) -> bool:
        """Handle punctuation and signs; whether a slot was made for it."""
        treatment = self._policies.punctuation
        analysis.counts[f"punctuation {treatment.value}"] += 1
        if treatment is Treatment.KEEP:
            separator = gap if self._policies.spaces is Treatment.KEEP else " " if gap else ""
            analysis.slots.append(Slot(separator, token.text))
            return True
        ends = token.kind is TokenClass.SENTENCE_END and treatment is Treatment.BLUR
        if ends and analysis.slots and analysis.slots[-1].copied != ".":
            analysis.slots.append(Slot("", "."))
        return False

    def _separator(self, gap: str, touched: bool, analysis: Analysis) -> str:
        if not analysis.slots:
            return gap if self._policies.spaces is Treatment.KEEP else ""
        if self._policies.spaces is Treatment.KEEP and (gap or not touched):
            return gap
        if self._policies.punctuation is Treatment.KEEP and not touched and not gap:
            return ""
        return " "

    def _capitals(self, token: Token) -> str:
        if self._policies.capitals is not Treatment.KEEP or not token.text[0].isupper():
            return ""
        return "all" if len(token.text) > 1 and token.text.isupper() else "first"


def assemble(slots: Sequence[Slot], words: Sequence[str]) -> str:
    """The released text: `words` in the slots that were replaced, everything else as laid out."""
    supply = iter(words)
    parts: list[str] = []
    for slot in slots:
        parts.append(slot.gap)
        parts.append(
            slot.copied if slot.copied is not None else _shaped(next(supply), slot.capitals)
        )
    for word in supply:  # padding, where a fixed length asks for more
        parts.append(f" {word}" if parts else word)
    return "".join(parts)


def _shaped(word: str, capitals: str) -> str:
    if not capitals:
        return word
    return word.upper() if capitals == "all" else word[:1].upper() + word[1:]


def folded(word: str) -> str:
    """Lower case, composed characters, straight apostrophes: how words are looked up."""
    return unicodedata.normalize("NFC", word).lower().translate(_APOSTROPHES)


def known_id(embedding: Embedding, word: str) -> int:
    """The id of a written word: folded, else as written, else without its clitic ('s, n't, 'll)."""
    low = word.lower() if word.isascii() else folded(word)
    found = embedding.id(low)
    if found == NULL_ID and low != word:
        found = embedding.id(word)
    if found == NULL_ID and "'" in low:
        head = low[: low.rindex("'")]
        stem = head[:-1] if low.endswith("n't") else head
        found = embedding.id(stem)
    return found
