"""From a text to the words that enter the mechanism, and back into a text."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import NamedTuple, cast

from inkblur.documents.policies import TokenPolicies, Treatment, is_name
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import Token, TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.types import NULL_ID, normalized_form

_APOSTROPHES = str.maketrans("’ʼ", "''")
# What `keep punctuation` copies. Every other sign (emoji, private-use, zero-width and tag
# characters, letters unknown to Python's tables) could spell out what the words no longer say.
PUNCTUATION = frozenset(string.punctuation + "‘’‚“”„‹›«»–—…¡¿•·。、，！？：；（）「」『』")
# Unicode's Default_Ignorable_Code_Point: characters that are not shown, letters and marks included.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_REMEMBERED = 1 << 16  # words, and pieces of text, that are kept: 30 to 60 MB when full
_REMEMBERED_LETTERS = 40  # in each, at most


class Slot(NamedTuple):
    """A place in the released text: a replaced word (`copied` is None) or something copied."""

    gap: str  # what stands before it
    copied: str | None = None
    counted: str = ""  # as what, where it is copied, a name or dropped


_PLAIN = Slot(" ")  # nearly every word of a text: one for all of them
_FIRST = Slot("")
_FULL_STOP = Slot("", ".", "sentence_ends keep")


@dataclass(slots=True)
class Analysis:
    """What of a document enters the mechanism, where it goes, and what was done with the rest."""

    ids: list[int] = field(default_factory=list)  # NULL_ID for the null word
    slots: list[Slot] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # "numbers blur", "unknown keep", ...


class _TokenVerdict(NamedTuple):
    """What the policies make of a word, a number or an address."""

    treatment: Treatment
    counted: str  # as what
    id: int  # NULL_ID unless it is a known word


class _AnalyzedPiece(NamedTuple):
    """What an analysis gains by a piece of text that stands between two spaces."""

    ids: tuple[int, ...]
    slots: tuple[Slot, ...]
    counted: tuple[str, ...]

    @property
    def is_a_word(self) -> bool:
        """Whether it is one word that is replaced, and nothing else."""
        replaced = self.counted in (("words blur",), ("stop_words blur",))
        return replaced and self.slots == (_PLAIN,)


_PARTS = tuple(itemgetter(place) for place in range(len(_AnalyzedPiece._fields)))


class Analyst:
    """Reads documents under one vocabulary and one set of policies."""

    def __init__(self, embedding: Embedding, policies: TokenPolicies) -> None:
        self._embedding = embedding
        self._policies = policies
        self._copies_layout = policies.punctuation is Treatment.KEEP
        self.forget()

    def forget(self) -> None:
        """Remember no word that was read: whoever asks next must not learn by the time it takes."""
        # The same few words make up most of any text.
        self._judged: dict[str, _TokenVerdict] = {}
        self._pieces: dict[str, _AnalyzedPiece] = {}
        self._words: dict[str, int] = {}  # ids of those pieces that are one word and nothing else
        self._stop_words: set[str] = set()  # those of them that are stop words

    def __getstate__(self) -> dict[str, object]:
        """Without what was read: words, numbers and addresses of true texts stay in memory."""
        forgotten: dict[str, object] = {"_judged": {}, "_pieces": {}, "_words": {}}
        return {**self.__dict__, **forgotten, "_stop_words": set()}

    def read(self, text: str) -> Analysis:
        """The document's words as ids, and the layout of what will be released."""
        written = text.split()  # no token crosses white space
        return self._read_words(written) or self._read_all(text, written)

    def _read_all(self, text: str, written: list[str]) -> Analysis:
        ids: list[int] = []
        slots: list[Slot] = []
        counted: list[str] = []
        if self._copies_layout:
            self._read_on(text, ids, slots, counted)
        else:
            found = list(map(self._pieces.get, written))
            if all(found):  # in loops that Python does not see
                known = cast("list[_AnalyzedPiece]", found)
                ids, slots, counted = (
                    list(chain.from_iterable(map(part, known))) for part in _PARTS
                )
            else:
                for word, piece in zip(written, found, strict=True):
                    if piece is None:
                        self._read_piece(word, ids, slots, counted)
                    else:
                        ids += piece.ids
                        slots += piece.slots
                        counted += piece.counted
            if slots:
                slots[0] = slots[0]._replace(gap="")  # remembered from inside a text
        counts = Counter(counted)
        counts["read"] = len(counted)  # tokens of the text, whatever becomes of them
        return Analysis(ids, slots, counts)

    def _read_words(self, written: list[str]) -> Analysis | None:
        """The same for words that were all met before, in loops that Python does not see; None for
        any other text.
        """
        if not written or written[-1] not in self._words:  # most often it ends in a full stop
            return None
        try:
            ids = list(map(self._words.__getitem__, written))
        except KeyError:
            return None
        stop_words = sum(map(self._stop_words.__contains__, written))
        counts = Counter({"read": len(ids)})
        if stop_words:
            counts["stop_words blur"] = stop_words
        if stop_words < len(ids):
            counts["words blur"] = len(ids) - stop_words
        return Analysis(ids, [_FIRST, *[_PLAIN] * (len(ids) - 1)], counts)

    def _read_piece(
        self, written: str, ids: list[int], slots: list[Slot], counted: list[str]
    ) -> None:
        """Read a piece of text, and remember it if it reads like this after any slot.

        It does if it makes a slot of its own before its sentence ends: only a full stop depends on
        the slot before it, and in a piece it comes last (see the pattern in `tokens`).
        """
        known, laid, seen = len(ids), len(slots), len(counted)
        self._read_on(written, ids, slots, counted)
        alike = 0 < laid < len(slots) and slots[laid] is not _FULL_STOP
        if alike and len(self._pieces) < _REMEMBERED and len(written) <= _REMEMBERED_LETTERS:
            piece = _AnalyzedPiece(tuple(ids[known:]), tuple(slots[laid:]), tuple(counted[seen:]))
            self._pieces[written] = piece
            if piece.is_a_word:
                if piece.counted == ("stop_words blur",):
                    self._stop_words.add(written)
                self._words[written] = piece.ids[0]  # last: other threads may be reading

    def _read_on(self, text: str, ids: list[int], slots: list[Slot], counted: list[str]) -> None:
        """Token by token: append what this part of a document becomes to what came before."""
        copies_layout, judged, word = self._copies_layout, self._judged, TokenClass.WORD
        end = 0
        touched = False  # a sign was removed since the last slot: words must not grow together
        for token in tokenize(text):
            kind, written, start, stop = token
            gap = text[end:start]
            end = stop
            # Only words: in "n't1" the n is part of a number.
            judgment = judged.get(written) if kind is word else None
            if judgment is None:
                if kind is TokenClass.SIGN or kind is TokenClass.SENTENCE_END:
                    touched |= not self._sign(token, gap, slots, counted)
                    continue
                judgment = self._judge(token)
            treatment, count, known = judgment
            counted.append(count)
            joined = copies_layout and not gap and not touched
            separator = "" if joined or not slots else " "
            touched = False
            if treatment is Treatment.KEEP:
                shown = _visible(written)
                slots.append(Slot(separator, shown.lower() if kind is word else shown, count))
                continue
            ids.append(known)
            if treatment is not Treatment.BLUR:
                slots.append(Slot(separator, None, count))
            else:
                slots.append(_PLAIN if separator else _FIRST)

    def fates(self, text: str) -> list[tuple[Token, Treatment | None]]:
        """Each token and what becomes of it; None of signs, which are no words."""
        signs = (TokenClass.SIGN, TokenClass.SENTENCE_END)
        return [
            (token, None if token.kind in signs else self._judge(token).treatment)
            for token in tokenize(text)
        ]

    def _judge(self, token: Token) -> _TokenVerdict:
        """Judge a token that was not met before, and remember it if it is a word."""
        judgment = self._judgment(*self._classify(token))
        if (
            token.kind is TokenClass.WORD
            and len(self._judged) < _REMEMBERED
            and len(token.text) <= _REMEMBERED_LETTERS
        ):
            self._judged[token.text] = judgment
        return judgment

    def _judgment(self, name: str, known: int) -> _TokenVerdict:
        treatment = Treatment.BLUR if name == "words" else getattr(self._policies, name)
        entering = NULL_ID if treatment is Treatment.DROP else known
        return _TokenVerdict(treatment, f"{name} {treatment.value}", entering)

    def _classify(self, token: Token) -> tuple[str, int]:
        """The token's class as named in the policies, and its id (NULL_ID unless it is known)."""
        if token.kind is TokenClass.NUMBER:
            return "numbers", NULL_ID
        if token.kind is TokenClass.ADDRESS:
            return "addresses", NULL_ID
        word = known_id(self._embedding, token.text)
        low = folded(token.text)
        if low in STOP_WORDS:
            return "stop_words", word
        if self._policies.names is not Treatment.BLUR:
            # What enters decides too: in "Anna'll" that is the word without its clitic.
            # Of an unknown word, what stands before any apostrophe: "O'Brien'd've" is a name too.
            entering = (
                [low[:place] for place, sign in enumerate(low) if sign == "'"]
                if word == NULL_ID
                else [folded(self._embedding.words[word])]
            )
            if any(map(is_name, [low, *entering])):
                return "names", NULL_ID
        return ("words", word) if word != NULL_ID else ("unknown", NULL_ID)

    def _sign(self, token: Token, gap: str, slots: list[Slot], counted: list[str]) -> bool:
        """Handle punctuation and signs; whether a slot was made for it as it is."""
        if self._policies.punctuation is Treatment.KEEP:
            if not PUNCTUATION.issuperset(token.text):
                counted.append("punctuation drop")
                return False
            counted.append("punctuation keep")
            slots.append(Slot(" " if gap else "", token.text, "punctuation keep"))
            return True
        ends = token.kind is TokenClass.SENTENCE_END and slots and slots[-1].copied != "."
        if ends and self._policies.sentence_ends is Treatment.KEEP:
            slots.append(_FULL_STOP)
            counted.append(_FULL_STOP.counted)
        else:
            counted.append("punctuation drop")
        return False


def assemble(slots: Sequence[Slot], words: Sequence[str]) -> str:
    """The released text: `words` in the slots that were replaced, everything else as laid out."""
    if slots and slots[0] == _FIRST:  # the usual case: words and full stops alone
        replaced = 1 + slots.count(_PLAIN)
        if replaced == len(words) and len(slots) - replaced == slots.count(_FULL_STOP):
            return _sentences(slots, words)
    supply = iter(words)
    parts: list[str] = []
    for gap, copied, _ in slots:
        if copied is not None:
            parts.append(gap + copied)
        else:
            parts.append(gap + next(supply))
    for word in supply:  # padding, where a fixed length asks for more
        parts.append(f" {word}" if parts else word)
    return "".join(parts)


def with_filling(slots: Sequence[Slot], filling: Iterable[bool]) -> list[Slot]:
    """The layout with a place for each word of filling; `filling` says of every drawn word whether
    it is one. What follows the last slot is appended by :func:`assemble`.
    """
    kinds = iter(filling)
    out: list[Slot] = []
    for slot in slots:
        if slot.copied is None and next(kinds):
            out.append(_PLAIN)
            while next(kinds):
                out.append(_PLAIN)
            slot = slot._replace(gap=" ")
        out.append(slot)
    if out and out[0] is _PLAIN:
        out[0] = _FIRST
    return out


def _sentences(slots: Sequence[Slot], words: Sequence[str]) -> str:
    """Replaced words, some with a full stop behind them."""
    out = list(words)
    place = -1
    for stops in range(len(slots) - len(words)):
        place = slots.index(_FULL_STOP, place + 1)
        out[place - stops - 1] += "."
    return " ".join(out)


def _visible(written: str) -> str:
    """A token to copy, without the characters that nobody sees: they could carry a message."""
    if not written.isprintable():
        written = "".join(filter(str.isprintable, written))
    return written if written.isascii() else _IGNORABLE.sub("", written)


def folded(word: str) -> str:
    """Lower case, composed characters, straight apostrophes: how words are looked up."""
    if word.isascii():
        return word.lower()  # nothing to compose or straighten
    return normalized_form("NFC", word).lower().translate(_APOSTROPHES)


def known_id(embedding: Embedding, word: str) -> int:
    """The id of a written word: folded, else as written, else without its clitic ('s, n't, 'll)."""
    low = folded(word)
    found = embedding.id(low)
    if found == NULL_ID and low != word:
        found = embedding.id(word)
    if found == NULL_ID and "'" in low:
        head = low[: low.rindex("'")]
        stem = head[:-1] if low.endswith("n't") else head
        found = embedding.id(stem)
    return found
