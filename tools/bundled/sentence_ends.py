"""What the ends of sentences give away: attacks on words with and without them, on one release.

    INKBLUR_DATA=... python tools/bundled/sentence_ends.py pan18 --epsilon 2 --draws 10

prints, for each half of the authors of a collection (c50 with 20 known texts an author, novels,
pan18), the share named by attacks on words, by the lengths of sentences alone and by both, every
author counting alike, and by how much both name more than the better attack on words (95 % of a
bootstrap over authors). The lengths' weight was chosen on half 0; half 1 had no part in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import inkblur
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.sentence_lengths import SentenceLengths, with_sentences
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.evaluation.measures.bootstrap import percentile_interval, resample_counts
from inkblur.evaluation.risk import AuthorTexts, released_texts
from inkblur.rng import Rng
from inkblur.types import Array
from reproduction.corpora import Split, english_novels, pan18, reuters_c50

SEED = 99


def _c50() -> Split:
    whole = reuters_c50()
    return Split(whole.train.first_of_each_author(20), whole.test.first_of_each_author(10))


COLLECTIONS: dict[str, Callable[[], Split]] = {
    "c50": _c50,
    "novels": english_novels,
    "pan18": lambda: pan18(1),
}


def named(half: AuthorTexts, scores: Array) -> Array:
    """Share of each author's texts that is named right; `scores` (draws, texts, authors)."""
    right = half.suspects[scores.argmax(axis=-1)] == half.attacked_authors
    authors = np.unique(half.attacked_authors)
    return np.array([right[:, half.attacked_authors == author].mean() for author in authors])


def measured(half: AuthorTexts, epsilon: float, draws: int, rng: Rng) -> dict[str, Array]:
    """What each attack names of each author's texts."""
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec("staircase", epsilon, keep=("sentence-ends",)).privatizer(table)
    out = [
        text
        for draw in range(draws)
        for text in released_texts(half.attacked, blur, rng.child(f"d{draw}"))
    ]
    channel = channel_of(blur.mechanism, rng)
    tried: tuple[Likelihood | SentenceLengths, ...] = (
        Likelihood(channel, table, entering(blur)),
        TextLikelihood(channel, table, entering(blur)),
        SentenceLengths(table, entering(blur)),
    )
    scores = {
        attack.name: attack.fit(half.known, half.known_authors)
        .scores(out)
        .reshape(draws, len(half.attacked), -1)
        for attack in tried
    }
    both = with_sentences(scores["likelihood-texts"], scores["sentence-lengths"])
    scores["both"] = both
    return {name: named(half, each) for name, each in scores.items()}


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", choices=COLLECTIONS)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    split = COLLECTIONS[options.collection]()
    assert split.train.authors is not None
    assert split.test.authors is not None
    texts = AuthorTexts(
        split.train.texts, split.train.authors, split.test.texts, split.test.authors
    )
    for number, half in enumerate(texts.halves()):
        stream = inkblur.seeded_rng(SEED).child(
            options.collection, str(options.epsilon), str(number)
        )
        found = measured(half, options.epsilon, options.draws, stream)
        shares = ", ".join(f"{name} {each.mean():.3f}" for name, each in found.items())
        words = max(found["likelihood"], found["likelihood-texts"], key=lambda each: each.mean())
        more = found["both"] - words
        times = resample_counts(4_000, len(more), stream.child("bootstrap"))
        low, high = percentile_interval(times @ more / len(more), 0.95, units=len(more))
        print(
            f"{options.collection} half {number}, {len(half.suspects)} authors: {shares}; "
            f"more by {more.mean():+.3f} ({low:+.3f} to {high:+.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
