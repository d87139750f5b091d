"""Words on either side of a release, by id, as an attacker reads them who knows its settings; and
how common words are.

What is dropped enters as the null word, and so do names, numbers and unknown words: whoever
counts them as words expects other outputs than those that come. What comes out are words of the
table as it spells them, which no tokenizer need read: "u.s.", "co2", "Paris" beside "paris".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import Analysis, Analyst, known_id
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors, pick
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.channel import Channel, ClearChannel, CopyingChannel, channel_of
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids

Flags = NDArray[np.bool_]
Entering = Callable[[str], Ids]  # the ids of a true text's words
WORD_CLASSES = {"stop_words", "unknown", "numbers", "addresses", "names"}
_SIGNS = ("punctuation keep", "sentence_ends keep")  # what is copied and is no word
_GRID = 4096  # places of a composition: rare terms of a long text count too
UNKNOWN_SHARE = 0.05  # of a text's words, numbers and addresses: they enter as the null word
TABLE_SHARE = 0.2  # of the prior, where public texts give the rest: they lack most words
_ENTERING = (TokenClass.WORD, TokenClass.NUMBER, TokenClass.ADDRESS)


def entering_ids(text: str, embedding: Embedding) -> Ids:
    """The ids of a text's words, numbers and addresses, as the closed policies let them enter."""
    ids = [
        known_id(embedding, token.text) if token.kind is TokenClass.WORD else NULL_ID
        for token in tokenize(text)
        if token.kind in _ENTERING
    ]
    return np.array(ids, np.int64)


def unigram(embedding: Embedding, texts: Sequence[Ids] = ()) -> Array:
    """How common each word is, (vocabulary + 1,), the null word last; sums to 1.

    From the table's public counts where it has them, else by Zipf's law over its ranks (a table is
    in order of frequency). Public texts, as ids, are counted on top of that.

    >>> table = Embedding(["the", "of", "cat"], [[0.0], [1.0], [2.0]], name="toy")
    >>> unigram(table).round(2).tolist()
    [0.41, 0.3, 0.24, 0.05]
    """
    shares: Array
    if embedding.counts is not None:
        shares = np.asarray(embedding.counts, np.float64) + 0.5  # a word of no count may occur
    else:
        shares = np.float64(1.0) / (np.arange(len(embedding)) + 2.7)  # Mandelbrot's form of it
    prior = np.append(shares / shares.sum() * (1.0 - UNKNOWN_SHARE), UNKNOWN_SHARE)
    if not texts:
        return prior
    seen = np.bincount(np.concatenate(texts) % len(prior), minlength=len(prior))
    mixed: Array = (1.0 - TABLE_SHARE) * seen / seen.sum() + TABLE_SHARE * prior
    return mixed


def entering(blur: Privatizer | SyntheticVectors) -> Entering:
    """Which words of a true text enter this release, what fills it to the next size among them.

    Of a text that is cut to a length all words count: it is its author's all the same. Where words
    are copied they count too, because they come out.
    """
    table = blur.mechanism.embedding
    if isinstance(blur, SyntheticVectors):
        # Not only as many as the vector has: a long text is its author's all the same.
        vectorizer, even = blur.vectorizer, (np.arange(_GRID) + 0.5) / _GRID
        return lambda text: pick(*vectorizer.composition(text), even)
    read = blur.released if blur.on_grid else Analyst(table, blur.policies).read
    if not WORD_CLASSES & {*blur.policies.kept}:
        return lambda text: np.array(read(text).ids, np.int64)

    def entered(text: str) -> Ids:
        ids, _ = numbered(places(read(text)), table, {})
        return ids[ids < len(table)]  # of what is copied, words of the table

    return entered


def places(analysis: Analysis, *, signs: bool = False) -> list[int | str]:
    """What stands at each place of a release, its filling last: the id of a word that is drawn, or
    what is copied, words alone unless `signs` are asked for.
    """
    ids = iter(analysis.ids)
    standing = [
        next(ids) if slot.copied is None else slot.copied
        for slot in analysis.slots
        if signs or slot.counted not in _SIGNS
    ]
    return [*standing, *ids]


def numbered(
    standing: Sequence[int | str], table: Embedding, others: dict[str, int]
) -> tuple[Ids, Flags]:
    """Places by number, and which of them are copied. What is copied and no word of the table has a
    number beyond its words, which `others` keeps.
    """
    ids = [place if isinstance(place, int) else table.id(place) for place in standing]
    for row, place in enumerate(standing):
        if isinstance(place, str) and ids[row] == NULL_ID:
            ids[row] = others.setdefault(place, len(table) + len(others))
    copied = [isinstance(place, str) for place in standing]
    return np.array(ids, np.int64), np.array(copied, np.bool_)


def channel_around(blur: Privatizer | SyntheticVectors, rng: Rng) -> Channel:
    """The channel of a release's mechanism, and of the words that are copied around it."""
    channel, table = channel_of(blur.mechanism, rng), blur.mechanism.embedding
    if isinstance(blur, SyntheticVectors) or not blur.policies.kept:
        return channel
    copied = np.zeros(len(table), np.bool_)
    if WORD_CLASSES & {*blur.policies.kept}:
        analyst = Analyst(table, blur.policies)
        copied[:] = [places(analyst.read(word)) == [word] for word in table.words]
    return CopyingChannel(channel, copied)


def came_out(channel: Channel, text: str, embedding: Embedding) -> Ids:
    """The words that came out of a channel; texts that are not released are read as true ones."""
    clear = isinstance(channel, ClearChannel)
    return entering_ids(text, embedding) if clear else released_ids(text, embedding)


def released_ids(text: str, embedding: Embedding) -> Ids:
    """The words of a released text; the null word for what is none of the table's.

    >>> table = Embedding(["u.s.", "paris", "Paris"], [[1.0], [2.0], [3.0]], name="toy")
    >>> released_ids("Paris u.s. paris. u.s..", table).tolist()
    [2, 0, 1, 0]
    """
    ids: list[int] = []
    for piece in text.split():
        written = (piece, piece.removesuffix("."))  # a sentence may end here
        found = next((i for i in map(embedding.id, written) if i != NULL_ID), NULL_ID)
        ids += [found] if found != NULL_ID else entering_ids(piece, embedding).tolist()
    return np.array(ids, np.int64)
