"""Thesis, Figure 5.1: do Word Mover's distance and the Ruzicka metric of authorship go together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.corpora import Corpus
from inkblur.evaluation.forms import ContentWords
from inkblur.evaluation.utility import words_of
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.result import Claim, Drawing, Outcome, Reading
from inkblur.experiments.workshop import Workshop
from inkblur.metrics.earth_movers import earth_movers, euclidean_costs
from inkblur.metrics.ruzicka import text_distances
from inkblur.types import NULL_ID, Array

FIGURE = "Figure 5.1: pairs in tenths by Ruzicka distance"
TABLE = "Correlation of Word Mover's distance with Ruzicka (the thesis shows ten documents)"
FORMS = ("raw", "content words")
PAIRS = {"one author": True, "two authors": False}
LINEAR = 0.5  # least correlation that deserves the word: a quarter of the variance explained
_BLOCK = 50  # pairs a step
_TENTHS = 10

Pair = tuple[int, int]  # rows of the corpus
Spots = dict[str, Array]  # distances by name, one a pair


def run(work: Workshop) -> Outcome:
    """Disjoint pairs of C50 texts, half by one author and half by two."""
    spots = {form: {kind: _spots(work, form, kind) for kind in PAIRS} for form in FORMS}
    readings, claims = [], []
    for form in FORMS:
        both = {
            name: np.concatenate([spots[form][kind][name] for kind in PAIRS])
            for name in ("movers", "ruzicka", "relative")
        }
        for kind, held in {"all pairs": both, **spots[form]}.items():
            for variant, name in (("counts", "ruzicka"), ("shares", "relative")):
                where = {"form": form, "pairs": kind, "n-grams": variant}
                readings += _correlations(where, held["movers"], held[name])
        readings += _tenths(form, both)
        found = _pearson(both["movers"], both["ruzicka"])
        claims.append(
            Claim(
                f"linear-relation-{form.replace(' ', '-')}",
                f"Word Mover's distance and Ruzicka stand in a linear relation ({form}).",
                "thesis, section 5.4.4, Figure 5.1",
                f"Pearson's correlation over {len(both['movers']):,} disjoint pairs",
                found,
                LINEAR,
            )
        )
    drawing = Drawing(
        "Figure 5.1: Word Mover's distance over Ruzicka", FIGURE, "Word Mover's", "Ruzicka", "form"
    )
    return Outcome(tuple(readings), tuple(claims), (drawing,), notes=_notes(work))


def pairs(authors: Sequence[int], order: Sequence[int], count: int, *, same: bool) -> list[Pair]:
    """`count` pairs of rows by one author or by two, no row twice, in a given random order.

    Each row is matched with the next free one that fits.

    >>> pairs([0, 0, 1, 1], [0, 1, 2, 3], 2, same=True)
    [(0, 1), (2, 3)]
    """
    waiting: list[int] = []
    found: list[Pair] = []
    for row in order:
        fitting = (w for w in waiting if (authors[w] == authors[row]) == same)
        partner = next(fitting, None)
        if partner is None:
            waiting.append(row)
            continue
        waiting.remove(partner)
        found.append((partner, row))
        if len(found) == count:
            break
    return found


def word_movers(left: str, right: str, embedding: Embedding) -> float | None:
    """Word Mover's distance of two texts; words without a vector are left out, as in gensim."""
    sides = []
    for text in (left, right):
        ids = embedding.ids(words_of(text))
        rows, counts = np.unique(ids[ids != NULL_ID], return_counts=True)
        if not len(rows):
            return None
        sides.append((embedding.centres(rows), counts))
    (x, from_x), (y, from_y) = sides
    return earth_movers(euclidean_costs(x, y), left=from_x, right=from_y)


def _spots(work: Workshop, form: str, kind: str) -> Spots:
    count = work.size(500, 10)
    rows: list[list[float]] = []
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        name = f"{form}, {kind}, pairs {start} to {stop - 1}"
        rows += work.step(name, _distances, work, form, kind, start, stop)
    table = np.array(rows)
    return {"movers": table[:, 0], "ruzicka": table[:, 1], "relative": table[:, 2]}


def _distances(work: Workshop, form: str, kind: str, start: int, stop: int) -> list[list[float]]:
    corpus = _texts(work)
    assert corpus.authors is not None
    # Texts of odd places in a random order make the one kind of pairs, those of even the other.
    order = work.rng("order").rows(len(corpus), 1)[:, 0].argsort(kind="stable").tolist()
    half = order[int(PAIRS[kind]) :: 2]
    chosen = pairs(corpus.authors.tolist(), half, work.size(500, 10), same=PAIRS[kind])
    found = []
    for a, b in chosen[start:stop]:
        left, right = corpus.texts[a], corpus.texts[b]
        if form != "raw":
            left, right = ContentWords().transform([left, right])
        movers = word_movers(left, right, work.shelf.glove)
        if movers is not None:
            counts, shares = (
                float(text_distances([left], [right], relative=relative)[0, 0])
                for relative in (False, True)
            )
            found.append([movers, counts, shares])
    return found


def _texts(work: Workshop) -> Corpus:
    split = work.shelf.c50
    assert split.train.authors is not None
    assert split.test.authors is not None
    authors = np.concatenate([split.train.authors, split.test.authors])
    return Corpus("reuters-c50", (*split.train.texts, *split.test.texts), authors)


def _pearson(left: Array, right: Array) -> Estimate:
    return Estimate.of_correlation(float(np.corrcoef(left, right)[0, 1]), len(left))


def _correlations(where: dict[str, Any], left: Array, right: Array) -> list[Reading]:
    from scipy.stats import rankdata

    pearson = _pearson(left, right)
    ends = sorted((pearson.low**2, pearson.high**2))
    if pearson.low < 0 < pearson.high:
        ends[0] = 0.0
    return [
        Reading(TABLE, where, "Pearson", pearson),
        Reading(TABLE, where, "Spearman", _pearson(rankdata(left), rankdata(right))),
        Reading(TABLE, where, "variance explained", Estimate(pearson.value**2, *ends)),
    ]


def _tenths(form: str, held: Spots) -> list[Reading]:
    """The cloud of the figure as ten spots: mean of both distances in each tenth of the pairs."""
    order = held["ruzicka"].argsort(kind="stable")
    made = []
    for tenth, rows in enumerate(np.array_split(order, _TENTHS), start=1):
        for measure, name in (("Ruzicka", "ruzicka"), ("Word Mover's", "movers")):
            found = Estimate.of_units(held[name][rows])
            made.append(Reading(FIGURE, {"form": form, "tenth": tenth}, measure, found))
    return made


def _notes(work: Workshop) -> tuple[str, ...]:
    return (
        f"{2 * work.size(500, 10):,} pairs of whole Reuters C50 texts, half by one author and half "
        "by two; the thesis compares ten Reuters RCV1 documents with each other, whose pairs share "
        "documents.",
        "No text is in two pairs, which Fisher's interval for a correlation needs. Texts of one "
        "author are still alike, so the interval is a little too narrow for other authors.",
        "Word Mover's: Earth Mover's distance over GloVe 6B, 300 dimensions (65,205 words), "
        "Euclidean; words without a vector are left out. The thesis has Google News word2vec.",
        "Ruzicka: over all space-free character 4-grams, of counts as in the thesis, and of shares "
        "too, which takes out the difference in length between two texts.",
        f"A correlation above {LINEAR:g} is what we call a linear relation here; the thesis judges "
        "by eye.",
    )
