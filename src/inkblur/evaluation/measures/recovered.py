"""How much a reader recovered: counted word by word, with intervals over texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from inkblur.documents.analysis import folded
from inkblur.documents.policies import Treatment
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import TokenClass
from inkblur.evaluation.attacks.entering import Flags, numbered, places
from inkblur.evaluation.attacks.reading import SURE, Guesses
from inkblur.evaluation.measures.bootstrap import share_over_texts
from inkblur.evaluation.results import Interval
from inkblur.types import NULL_ID, Ids


class Kind(IntEnum):
    """What stood at a place of the true text."""

    STOP_WORD = 0
    WORD = 1
    NAME = 2  # begins with a capital inside a sentence
    NUMBER = 3
    UNKNOWN = 4  # an address, or a word that the vocabulary lacks


@dataclass(frozen=True, slots=True)
class TrueWords:
    """What a reader tries to find out."""

    ids: Ids  # (places,); NULL_ID where the null word entered
    kinds: Ids  # (places,): see Kind
    copied: Flags  # (places,): what comes out as it stands


def true_words(text: str, blur: Privatizer, others: dict[str, int] | None = None) -> TrueWords:
    """The words, numbers and addresses of a text that enter a release or are copied, as far as it
    reaches; what it is filled with is none. `others` numbers what is copied and is no word of the
    table.
    """
    table = blur.mechanism.embedding
    ids, copied = numbered(places(blur.released(text)), table, {} if others is None else others)
    kinds: list[Kind] = []
    opening = True  # capitals say nothing where a sentence begins
    for token, fate in blur.fates(text):
        if fate is None:
            opening |= token.kind is TokenClass.SENTENCE_END
            continue
        if fate is not Treatment.DROP:
            if len(kinds) == len(ids):
                break
            word, known = token.kind is TokenClass.WORD, 0 <= ids[len(kinds)] < len(table)
            if token.kind is TokenClass.NUMBER:
                kinds.append(Kind.NUMBER)
            elif word and folded(token.text) in STOP_WORDS:
                kinds.append(Kind.STOP_WORD)
            elif word and token.text[0].isupper() and not opening:
                kinds.append(Kind.NAME)
            else:
                kinds.append(Kind.WORD if known else Kind.UNKNOWN)
        opening = False
    count = len(kinds)
    return TrueWords(ids[:count], np.array(kinds, np.int64), copied[:count])


@dataclass(frozen=True, slots=True)
class Recovered:
    """A reader's success. Shares are of all words, names and numbers that entered."""

    reader: str  # unigram or trigram
    texts: int
    words: int
    as_it_stands: Interval  # share of the words that came out unchanged
    recovered: Interval  # share of the words that the reader names
    content: Interval  # the same among words that are neither stop words nor numbers
    names: Interval | None  # None where there were none
    numbers: Interval | None
    sure: Interval  # share of the words that the reader is at least 90 % sure of
    sure_and_right: Interval | None  # share of those that are right; None where never sure


def recovered(
    reader: str,
    truth: Sequence[TrueWords],
    outs: Sequence[Ids],
    guesses: Sequence[Guesses],
    *,
    confidence: float,
    seed: int,
) -> Recovered:
    """Compare guesses with the truth; `outs` are the released ids of the first release.

    The null word is never recovered: knowing that a number stood somewhere is not knowing it.
    """
    right = [
        (true.ids != NULL_ID) & (true.ids == said.words)
        for true, said in zip(truth, guesses, strict=True)
    ]
    same = [true.ids == out for true, out in zip(truth, outs, strict=True)]
    sure = [said.belief >= SURE for said in guesses]

    def share(hits: Sequence[Flags], among: Sequence[Flags]) -> Interval | None:
        counts = np.array([(h & a).sum() for h, a in zip(hits, among, strict=True)])
        totals = np.array([a.sum() for a in among])
        return share_over_texts(counts, totals, confidence=confidence, seed=seed)

    def of_kind(*kinds: Kind) -> list[Flags]:
        return [np.isin(true.kinds, kinds) for true in truth]

    every = of_kind(*Kind)
    none = Interval(0.0, None, None, (0.0,), "texts")
    return Recovered(
        reader,
        len(truth),
        sum(len(true.ids) for true in truth),
        share(same, every) or none,
        share(right, every) or none,
        share(right, of_kind(Kind.WORD, Kind.NAME, Kind.UNKNOWN)) or none,
        share(right, of_kind(Kind.NAME)),
        share(right, of_kind(Kind.NUMBER)),
        share(sure, every) or none,
        share(right, sure),
    )
