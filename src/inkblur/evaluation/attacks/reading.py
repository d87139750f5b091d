"""The reading attack: which words stood in the text before it was blurred?

The reader knows the channel P(out | word) and has expectations about text: how common words are
(unigram), and, with a public file to learn from, which words follow which (trigrams). Bayes' rule
then says for every place of the released text how likely each true word is; no reader with these
expectations can do better (cf. Tong et al., "On the Vulnerability of Text Sanitization", 2025).
Everything the reader expects comes from public counts or from a public file that the user names,
never from the text that is protected.

With trigrams the words of a text are read together, by the forward-backward algorithm over the
candidates of each place: the state is a pair of neighboring words, and

    f_t(b, c) = P(o_t | c) sum over a of f_{t-1}(a, b) p(c | a b).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from inkblur.documents.analysis import folded
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import TokenClass
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.channel import Candidates, Channel, candidates
from inkblur.evaluation.attacks.entering import (
    WORD_CLASSES,
    Flags,
    entering_ids,
    numbered,
    places,
    unigram,
)
from inkblur.evaluation.measures.intervals import share_over_texts
from inkblur.evaluation.results import Interval, Measurement
from inkblur.evaluation.target import Target, drawn_again, with_copies
from inkblur.types import NULL_ID, Array, Ids

SURE = 0.9  # a reader who holds a word at least this likely is called sure of it
DISCOUNT = 0.75  # of every count of words that follow each other
RELEASES = (2, 5, 10)  # how often one text is released afresh
_RELEASED_AGAIN = 10  # texts
_RECOVERED = "words recovered"


@dataclass(frozen=True, slots=True)
class Guesses:
    """What a reader takes each word of a text for, and how likely they hold that to be."""

    words: Ids  # (places,); the null word is the number of the vocabulary's words
    belief: Array  # (places,)


class Reader:
    """Reads releases of one channel."""

    def __init__(self, channel: Channel, prior: Array) -> None:
        self.channel, self.prior = channel, prior

    def candidates(self, texts: Sequence[Ids]) -> list[Candidates]:
        """What each place may have been. A text is (places, releases): the ids that came out."""
        if not texts:
            return []
        every = candidates(self.channel, self.prior, np.concatenate(texts))
        ends = np.cumsum([len(text) for text in texts])
        return [
            every.rows(np.arange(end - len(text), end))
            for end, text in zip(ends.tolist(), texts, strict=True)
        ]

    def read(self, texts: Sequence[Ids]) -> list[Guesses]:
        """The likeliest word at each place of each text, (places, releases)."""
        return [guessed(each) for each in self.candidates(texts)]


def guessed(found: Candidates, trigrams: Trigrams | None = None) -> Guesses:
    """The likeliest candidates of one text: each by itself, or all together under trigrams.

    The mass of words that are no candidates stays with them: belief is not inflated by the cut.
    """
    belief = found.posterior
    if trigrams is not None and len(belief) > 2:
        belief = smoothed(found, trigrams) * (1.0 - found.rest)[:, None]
    best = belief.argmax(axis=1)[:, None]
    return Guesses(
        np.take_along_axis(found.words, best, axis=1)[:, 0],
        np.take_along_axis(belief, best, axis=1)[:, 0],
    )


def smoothed(found: Candidates, model: Trigrams) -> Array:
    """P(word | the released text), (places, kept), by forward-backward; rows sum to 1."""
    words, chance = found.words, found.likelihood
    first, second = words[0][:, None], words[1][None, :]
    forward = [
        _scaled(
            (model.prior[words[0]] * chance[0])[:, None]
            * model.after_one(first, second)
            * chance[1][None, :]
        )
    ]
    steps = model.after_two(
        words[:-2, :, None, None], words[1:-1, None, :, None], words[2:, None, None, :]
    )  # (places - 2, a, b, c)
    for step, likelihood in zip(steps, chance[2:], strict=True):
        forward.append(_scaled(np.einsum("ab,abc->bc", forward[-1], step) * likelihood))
    backward = np.ones_like(forward[0])
    belief = np.empty_like(chance)
    for place in range(len(steps), -1, -1):
        both = _scaled(forward[place] * backward)
        belief[place + 1] = both.sum(axis=0)
        if place == 0:
            belief[0] = both.sum(axis=1)
        else:
            ahead = backward * chance[place + 1]  # over (b, c)
            backward = _scaled(np.einsum("abc,bc->ab", steps[place - 1], ahead))
    return belief


def _scaled(table: Array) -> Array:
    total = table.sum()
    return table / total if total > 0 else np.full_like(table, 1.0 / table.size)


def check_lessons(texts: Sequence[Ids]) -> None:
    """Raise where nobody can learn from public texts which words follow which."""
    if not any(len(text) > 2 for text in texts):
        raise ParameterError("the public file has no text of three words to learn from")


class Trigrams:
    """P(word | the two before it), by interpolated absolute discounting.

        p(c | a b) = (n(abc) - d)+ / n(ab.) + d m(ab.) / n(ab.) p(c | b)

    with n counted in public texts, m the number of different words seen after a b, p(c | b)
    likewise, and p(c) the unigram; where a b was never seen, p(c | b) itself (Ney, Essen and Kneser
    1994). Words are numbers from 0 to `size`, which is the null word.
    """

    def __init__(self, texts: Sequence[Ids], prior: Array) -> None:
        check_lessons(texts)
        self.size, self.prior = len(prior) - 1, prior
        rows = [np.asarray(text) % len(prior) for text in texts]  # NULL_ID becomes `size`
        first = np.concatenate([row[:-1] for row in rows])
        second = np.concatenate([row[1:] for row in rows])
        self._two = _counted(first, second, len(prior), len(prior))
        # The number of each pair that was seen, from 1: three words as one number would pass 64
        # bits in a vocabulary of two million.
        self._pairs = self._two.copy()
        self._pairs.data = np.arange(1, self._two.nnz + 1)
        pairs = [_at(self._pairs, row[:-2], row[1:-1]) for row in rows]
        third = np.concatenate([row[2:] for row in rows])
        self._three = _counted(np.concatenate(pairs), third, self._two.nnz + 1, len(prior))

    def after_one(self, b: Ids, c: Ids) -> Array:
        """p(c | b), elementwise after broadcasting."""
        return _discounted(self._two, b, c, self.prior[c])

    def after_two(self, a: Ids, b: Ids, c: Ids) -> Array:
        """p(c | a b), elementwise after broadcasting."""
        return _discounted(self._three, _at(self._pairs, a, b), c, self.after_one(b, c))


def _counted(contexts: Ids, words: Ids, rows: int, columns: int) -> Any:
    """How often each word follows each context, a sparse table (contexts, words)."""
    from scipy.sparse import csr_array

    table = csr_array((np.ones(len(words), np.int64), (contexts, words)), (rows, columns))
    table.sum_duplicates()
    return table


def _at(table: Any, rows: Ids, columns: Ids) -> Ids:
    """What stands there, elementwise after broadcasting."""
    rows, columns = np.broadcast_arrays(rows, columns)
    return np.asarray(table[rows.ravel(), columns.ravel()], np.int64).reshape(rows.shape)


def _discounted(table: Any, context: Ids, c: Ids, lower: Array) -> Array:
    total = np.asarray(table.sum(axis=1))[context]
    known, total = total > 0, np.maximum(total, 1)
    share = np.maximum(_at(table, context, c) - DISCOUNT, 0) / total
    left = np.where(known, DISCOUNT * np.diff(table.indptr)[context] / total, 1.0)
    mixed: Array = share + left * lower
    return mixed


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


def unchanged(truth: Sequence[TrueWords], outs: Sequence[Ids]) -> float:
    """The share of words that came out as they stood."""
    same = sum((true.ids == out).sum() for true, out in zip(truth, outs, strict=True))
    return float(same / sum(len(true.ids) for true in truth))


def recovered(
    truth: Sequence[TrueWords],
    guesses: Sequence[Guesses],
    confidence: float,
    seed: int,
) -> dict[str, Interval | None]:
    """Shares of what entered that a reader names; None where there was nothing of a kind.

    The null word is never recovered: knowing that a number stood somewhere is not knowing it.
    """
    right = [
        (true.ids != NULL_ID) & (true.ids == said.words)
        for true, said in zip(truth, guesses, strict=True)
    ]
    sure = [said.belief >= SURE for said in guesses]

    def share(hits: Sequence[Flags], among: Sequence[Flags]) -> Interval | None:
        counts = np.array([(h & a).sum() for h, a in zip(hits, among, strict=True)])
        totals = np.array([a.sum() for a in among])
        return share_over_texts(counts, totals, confidence=confidence, seed=seed)

    def of_kind(*kinds: Kind) -> list[Flags]:
        return [np.isin(true.kinds, kinds) for true in truth]

    every = of_kind(*Kind)
    none = Interval(0.0, None, None, (0.0,), "texts")
    return {
        _RECOVERED: share(right, every) or none,
        "content words recovered": share(right, of_kind(Kind.WORD, Kind.NAME, Kind.UNKNOWN))
        or none,
        "names recovered": share(right, of_kind(Kind.NAME)),
        "numbers recovered": share(right, of_kind(Kind.NUMBER)),
        "words that the reader is at least 90 % sure of": share(sure, every) or none,
        "of those, right": share(right, sure),
    }


def measure_reading(target: Target) -> Iterator[Measurement]:
    """What readers recover from one release, and from several of the same texts."""
    others: dict[str, int] = {}
    truth = _readable(target, others)
    if isinstance(truth, str):
        yield Measurement("reading", "", _RECOVERED, reason=truth)
        several = "words recovered from several releases"
        yield Measurement("repetition", "", several, reason=truth)
        return
    blur, channel = target.words_in_places
    standing = [(words.ids, words.copied) for words in truth]
    outs = drawn_again(blur, standing, 1, target.rng.child("read"))
    texts = [entering_ids(text, target.embedding) for text in target.public]
    prior = unigram(target.embedding, texts)
    unknown = np.full(len(others) + 1, prior[-1] / (len(others) + 1))
    reader = Reader(
        with_copies(channel, standing, len(others)), np.concatenate([prior[:-1], unknown])
    )
    likely = reader.candidates(outs)
    readers = {"unigram": [guessed(each) for each in likely]}
    if texts:
        trigrams = Trigrams(texts, reader.prior)
        readers["trigram"] = [guessed(each, trigrams) for each in likely]
    else:
        yield Measurement("reading", "trigram", _RECOVERED, reason="no public texts to learn from")
    spread = target.plan.confidence, target.plan.seed
    error = reader.channel.error
    how = f"; channel estimated, off by {error:.2f}" if error else ""
    how += "" if blur.exact else "; told which words are filling"
    how += "; copied words count" if WORD_CLASSES & {*blur.policies.kept} else ""
    stands = unchanged(truth, [out[:, 0] for out in outs])
    for name, said in readers.items():
        shares = recovered(truth, said, *spread)
        yield Measurement(
            "reading",
            name,
            _RECOVERED + how,
            value=shares.pop(_RECOVERED),
            chance=stands,
            by_chance="the text, taken at face value",
        )
        for what, value in shares.items():
            if value is not None:
                yield Measurement("reading", name, what, value=value, by_chance="")
    again = truth[:_RELEASED_AGAIN]
    many = drawn_again(blur, standing[: len(again)], max(RELEASES), target.rng.child("again"))
    for releases in RELEASES:
        said = reader.read([out[:, :releases] for out in many])
        yield Measurement(
            "repetition",
            "",
            f"words recovered from {releases} releases with fresh noise (a repeat under the same "
            "key is identical and shows nothing more)",
            value=recovered(again, said, *spread)[_RECOVERED],
            chance=unchanged(again, [out[:, 0] for out in many]),
            by_chance="the first release, taken at face value",
        )


def _readable(target: Target, others: dict[str, int]) -> list[TrueWords] | str:
    """Texts to read, or why none is."""
    if not target.in_places:
        return "no released word stands in the place of a true one"
    if isinstance(target.known, str):
        return target.known
    if not target.plan.read_texts:
        return "no text was to be read"
    blur, _ = target.words_in_places
    texts = [target.data.test.texts[row] for row in target.order[: target.plan.read_texts]]
    truth = [true_words(text, blur, others) for text in texts]
    return [words for words in truth if len(words.ids)] or "no word enters the mechanism"
