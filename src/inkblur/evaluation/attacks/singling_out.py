"""Singling out: which of n originals is this released text from?

Two things give an original away: its number of words, which a sequence release may show, and the
words themselves. An attacker who knows nothing of the mechanism takes the originals that are
released with as many words (all of them where none is), and among those the one whose words are
nearest by the cosine of tf-idf weights.

One who knows the channel adds up log P(out | word) place by place: the original of the largest sum
is the likeliest, and no attacker who finds all originals equally likely does better. A little of
every word shows, so this finds a text among others where no single word can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from inkblur.errors import ParameterError, needs
from inkblur.evaluation.attacks.channel import Channel
from inkblur.evaluation.attacks.entering import Flags, numbered, places
from inkblur.evaluation.attacks.likelihood import likelihood_of
from inkblur.evaluation.measures.words import words_of
from inkblur.evaluation.releasers import TextReleaser
from inkblur.evaluation.results import Measurement
from inkblur.evaluation.target import Target, drawn_again, with_copies
from inkblur.types import NULL_ID, Ids

_COMPARED = 500  # texts
_TRACED = 100  # texts that are singled out by the channel, and words of each that it reads
_ONE_TEXT = "fewer than 2 test texts with a word"


def single_out(
    originals: Sequence[str], released: Sequence[str], shown: Sequence[int] | None = None
) -> tuple[Flags, Flags | None]:
    """Trace released text i to one of the originals; it is right where it is original i: by the
    nearest words, and by the nearest of those of equal length (None: lengths are not known).

    `shown` says how many words each original is released with, where an attacker can tell.

    >>> single_out(["a boat at sea", "rain and wind"], ["the boat at sea", "wind or rain"])[0]
    array([ True,  True])
    """
    if len(originals) < 2:
        raise ParameterError(_ONE_TEXT)
    with needs("this attack needs scikit-learn", "evaluation"):
        from sklearn.feature_extraction.text import TfidfVectorizer
    weights = TfidfVectorizer(analyzer=words_of, sublinear_tf=True)
    try:
        known = weights.fit_transform(originals)
    except ValueError:  # an empty vocabulary
        raise ParameterError("no original has a word") from None
    near = np.asarray((weights.transform(released) @ known.T).toarray(), np.float64)
    own: Ids = np.arange(len(originals))
    by_words: Flags = near.argmax(axis=1) == own
    if shown is None:
        return by_words, None
    fits = np.array([len(text.split()) for text in released])[:, None] == np.asarray(shown)
    fits[~fits.any(axis=1)] = True
    return by_words, np.where(fits, near, -np.inf).argmax(axis=1) == own


def single_out_by_channel(
    channel: Channel, originals: Sequence[Ids], released: Sequence[Ids]
) -> Flags:
    """Whether original i is the likeliest origin of released text i, (texts,); ties count as wrong.

    The word at each place of a released text stands for the word at the same place of its original.
    An original that is too short is taken to go on with null words, and of a longer one the rest is
    not looked at, so length has no say.
    """
    words = np.unique(np.concatenate([*originals, [NULL_ID]]))
    outs = np.unique(np.concatenate(released))
    logs = np.log(np.maximum(channel.likelihood(words, outs), 1e-300)).astype(np.float32)
    longest = max(len(text) for text in released)
    rows = np.full((len(originals), longest), np.searchsorted(words, NULL_ID))
    for row, text in zip(rows, originals, strict=True):
        row[: len(text)] = np.searchsorted(words, text[:longest])
    hits = np.zeros(len(released), np.bool_)
    for own, text in enumerate(released):
        columns = np.searchsorted(outs, text)
        sums = logs[rows[:, : len(text)], columns].sum(axis=1, dtype=np.float64)
        hits[own] = (sums >= sums[own]).sum() == 1
    return hits


def measure_singling_out(target: Target) -> Iterator[Measurement]:
    """Texts traced by the channel, by words, and by words and length."""
    how = f"their first {_TRACED} words" if target.in_places else "all their words"
    measure = f"released texts traced to their original among {{}}, by the channel and {how}"
    if isinstance(target.known, str):
        yield _missing(measure.format("others"), target.known)
    else:
        hits = _traced_in_places(target) if target.in_places else _traced_as_authors(target)
        if hits is None:
            yield _missing(measure.format("others"), _ONE_TEXT)
        else:
            yield _singled_out(target, measure.format(len(hits)), hits)
    rows = sorted(target.order[:_COMPARED])
    measure = f"released texts traced to their original among {len(rows)}, by words"
    lengths = "the same, by words and length"
    originals = [target.data.test.texts[row] for row in rows]
    blur = target.releaser.blur if isinstance(target.releaser, TextReleaser) else None
    shown = None if blur is None else [blur.shown_words(text) for text in originals]
    released = [target.released_test.texts[row] for row in rows]
    try:
        by_words, by_both = single_out(originals, released, shown)
    except ParameterError as error:
        yield _missing(measure, str(error))
        yield _missing(lengths, str(error))
        return
    yield _singled_out(target, measure, by_words)
    if by_both is not None:
        yield _singled_out(target, lengths, by_both)
    else:
        yield _missing(lengths, "the release does not show how many words an original has")


def _singled_out(target: Target, measure: str, hits: Flags) -> Measurement:
    share = target.share(hits, np.ones(len(hits), np.int64))
    return Measurement("singling out", "", measure, value=share, chance=1 / len(hits))


def _missing(measure: str, reason: str) -> Measurement:
    return Measurement("singling out", "", measure, reason=reason)


def _traced_in_places(target: Target) -> Flags | None:
    """By one who knows the channel, place by place."""
    blur, channel = target.words_in_places
    table, others = blur.mechanism.embedding, dict[str, int]()
    released = (
        places(blur.released(target.data.test.texts[row]), signs=True) for row in target.order
    )
    first = islice(filter(None, released), _TRACED)
    standing = [numbered(each[:_TRACED], table, others) for each in first]
    if len(standing) < 2:
        return None
    outs = [out[:, 0] for out in drawn_again(blur, standing, 1, target.rng.child("traced"))]
    around = with_copies(channel, standing, len(others))
    return single_out_by_channel(around, [ids for ids, _ in standing], outs)


def _traced_as_authors(target: Target) -> Flags | None:
    """Where no word has a place of its own: each original is an author of one text."""
    rows = list(target.order[:_TRACED])
    if len(rows) < 2:
        return None
    known = target.known
    assert not isinstance(known, str)
    attack = likelihood_of(target.releaser, known, cut=True)
    scores = attack.fit([target.data.test.texts[row] for row in rows], np.arange(len(rows))).scores(
        [target.released_test.texts[row] for row in rows]
    )
    hits: Flags = (scores >= np.diagonal(scores)[:, None]).sum(axis=1) == 1
    return hits
