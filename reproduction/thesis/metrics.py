"""Thesis, Figure 5.1: do Word Mover's distance and the Ruzicka metric of authorship go together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from inkblur import Embedding, Rng
from inkblur.evaluation import earth_movers, percentile_interval, resample_rows, words_of
from reproduction.arrays import NULL_ID, Array
from reproduction.context import Context
from reproduction.corpora import Corpus
from reproduction.estimate import Estimate
from reproduction.result import Claim, Drawing, Outcome, Reading
from reproduction.thesis.ruzicka import text_distance
from reproduction.thesis.stop_words import content_words

FIGURE = "Figure 5.1: pairs in tenths by Ruzicka distance"
TABLE = "Correlation of Word Mover's distance with Ruzicka (the thesis shows ten documents)"
SOURCE = "thesis, section 5.4.4, Figure 5.1"
FORMS = ("raw", "content words")
STRAIGHT = "How straight the relation is: a line and a quadratic curve through the pairs"
PAIRS = {"one author": True, "two authors": False}
STRONG = 0.5  # least correlation that deserves the word: a quarter of the variance explained
BEND = 0.05  # of R squared: what a curve may explain beyond a line that is to pass for straight
NEAR_DUPLICATES = 0.7  # Ruzicka distance of counts; below it, one text is mostly the other
_FEWEST = 10  # pairs that a curve is drawn through
_RESAMPLES = 2_000
_BLOCK = 50  # pairs a step
_TENTHS = 10

TextPair = tuple[int, int]  # rows of the corpus
Spots = dict[str, Array]  # distances by name, one a pair


def run(work: Context) -> Outcome:
    """Disjoint pairs of C50 texts, half by one author and half by two."""
    spots = {form: {kind: _spots(work, form, kind) for kind in PAIRS} for form in FORMS}
    readings, claims = [], []
    joined = {
        form: {
            name: np.concatenate([spots[form][kind][name] for kind in PAIRS])
            for name in ("movers", "ruzicka", "relative")
        }
        for form in FORMS
    }
    for form, both in joined.items():
        for kind, held in {"all pairs": both, **spots[form]}.items():
            for variant, name in (("counts", "ruzicka"), ("shares", "relative")):
                where = {"form": form, "pairs": kind, "n-grams": variant}
                readings += _correlations(where, held["movers"], held[name])
        readings += _tenths(form, both)
        claims.append(_correlated(form, both))
        for kind, kept in _with_and_without(both["ruzicka"]).items():
            x, y = both["ruzicka"][kept], both["movers"][kept]
            if len(x) < _FEWEST:
                continue
            fits = straightness(x, y, work.rng("bootstrap", form, kind))
            drawn: dict[str, Any] = {"form": form, "pairs": kind, "number of pairs": len(x)}
            readings += [Reading(STRAIGHT, drawn, name, fit) for name, fit in fits.items()]
            claims.append(_linear(form, kind, len(x), fits["gain of the curve"]))
    claims.append(_more_apparent(joined, work.rng("bootstrap", "forms")))
    drawing = Drawing(
        "Figure 5.1: Word Mover's distance over Ruzicka", FIGURE, "Word Mover's", "Ruzicka", "form"
    )
    return Outcome(tuple(readings), tuple(claims), (drawing,), notes=_notes(work))


def pairs(
    authors: Sequence[int], order: Sequence[int], count: int, *, same: bool
) -> list[TextPair]:
    """`count` pairs of rows by one author or by two, no row twice, in a given random order.

    Each row is matched with the next free one that fits.

    >>> pairs([0, 0, 1, 1], [0, 1, 2, 3], 2, same=True)
    [(0, 1), (2, 3)]
    """
    waiting: list[int] = []
    found: list[TextPair] = []
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
        sides.append((embedding.centers(rows), counts))
    (x, from_x), (y, from_y) = sides
    return earth_movers(cdist(x, y), left=from_x, right=from_y)


def _spots(work: Context, form: str, kind: str) -> Spots:
    count = work.size(500, 10)
    rows: list[list[float]] = []
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        name = f"{form}, {kind}, pairs {start} to {stop - 1}, the thesis's stop words"
        rows += work.step(name, _distances, work, form, kind, start, stop)
    table = np.array(rows)
    return {"movers": table[:, 0], "ruzicka": table[:, 1], "relative": table[:, 2]}


def _distances(work: Context, form: str, kind: str, start: int, stop: int) -> list[list[float]]:
    corpus = _texts(work)
    assert corpus.authors is not None
    # Texts of odd places in a random order make the one kind of pairs, those of even the other.
    order = work.rng("order").permutation(len(corpus)).tolist()
    half = order[int(PAIRS[kind]) :: 2]
    chosen = pairs(corpus.authors.tolist(), half, work.size(500, 10), same=PAIRS[kind])
    found = []
    for a, b in chosen[start:stop]:
        left, right = corpus.texts[a], corpus.texts[b]
        if form != "raw":
            left, right = (" ".join(content_words(text)) for text in (left, right))
        movers = word_movers(left, right, work.datasets.glove)
        if movers is not None:
            counts, shares = (
                text_distance(left, right, relative=relative) for relative in (False, True)
            )
            found.append([movers, counts, shares])
    return found


def _texts(work: Context) -> Corpus:
    split = work.datasets.c50
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


def straightness(x: Array, y: Array, rng: Rng) -> dict[str, Estimate]:
    """R squared of a line and of a quadratic curve, y over x, and how much more the curve has.

    Intervals by the bootstrap over pairs; both curves are fitted anew in each resample.
    """
    scaled = _scaled(x)  # so that squares of it are no near copies of it
    whole = _explained(scaled[None], y[None])
    places = resample_rows(_RESAMPLES, len(x), rng)
    again = _explained(scaled[places], y[places])
    found = {}
    for place, name in enumerate(("R squared, line", "R squared, curve", "gain of the curve")):
        found[name] = Estimate(
            float(whole[place][0]), *percentile_interval(again[place], units=len(x))
        )
    return found


def _explained(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """R squared of the line, of the curve, and the difference; a row is a set of pairs."""
    off = y - y.mean(axis=1, keepdims=True)
    total = (off**2).sum(axis=1)
    made = []
    for degree in (1, 2):
        powers = np.stack([x**power for power in range(degree + 1)], axis=2)
        turned = powers.transpose(0, 2, 1)
        # Least squares by the normal equations; a resample of few different pairs may be singular.
        weights = np.linalg.pinv(turned @ powers, hermitian=True) @ (turned @ off[:, :, None])
        left = off - (powers @ weights)[:, :, 0]
        made.append(1.0 - (left**2).sum(axis=1) / total)
    return made[0], made[1], made[1] - made[0]


def _with_and_without(ruzicka: Array) -> dict[str, Array]:
    return {
        "all pairs": np.ones(len(ruzicka), bool),
        "without near duplicates": ruzicka >= NEAR_DUPLICATES,
    }


def _correlated(form: str, both: Spots) -> Claim:
    return Claim(
        f"strong-correlation-{form.replace(' ', '-')}",
        f"Word Mover's distance and Ruzicka are strongly correlated ({form}).",
        f"ours; {SOURCE} sees a linear relation and names no correlation",
        f"Pearson's correlation over {len(both['movers']):,} disjoint pairs",
        _pearson(both["movers"], both["ruzicka"]),
        STRONG,
    )


def _linear(form: str, kind: str, count: int, gain: Estimate) -> Claim:
    without = "" if kind == "all pairs" else "-without-near-duplicates"
    return Claim(
        f"linear-relation-{form.replace(' ', '-')}{without}",
        f"The relation between Word Mover's distance and Ruzicka is linear ({form}, {kind}).",
        SOURCE,
        f"R squared of a line minus that of a quadratic curve over {count:,} disjoint pairs "
        f"({kind}), which must lie above -{BEND:g}. Threshold ours: the thesis judges by eye",
        gain.negated(),
        -BEND,
    )


def _more_apparent(joined: dict[str, Spots], rng: Rng) -> Claim:
    """Over the same pairs of texts in both forms, which are drawn again together."""
    forms = [(joined[form]["ruzicka"], joined[form]["movers"]) for form in FORMS]
    count = min(len(x) for x, _ in forms)
    forms = [(x[:count], y[:count]) for x, y in forms]
    places = resample_rows(_RESAMPLES, count, rng)
    raw, content = (_explained(_scaled(x)[None], y[None])[0][0] for x, y in forms)
    again = [_explained(_scaled(x)[places], y[places])[0] for x, y in forms]
    return Claim(
        "relation-more-apparent-in-raw-texts",
        "The linear relation between Word Mover's distance and Ruzicka is more apparent in raw "
        "texts than in content words, which have a higher variance.",
        SOURCE,
        f"R squared of a line in raw texts minus that in content words, over the same {count:,} "
        "pairs",
        Estimate(float(raw - content), *percentile_interval(again[0] - again[1], units=count)),
        0.0,
    )


def _scaled(x: Array) -> Array:
    scaled: Array = (x - x.mean()) / x.std()
    return scaled


def _tenths(form: str, held: Spots) -> list[Reading]:
    """The cloud of the figure as ten spots: mean of both distances in each tenth of the pairs."""
    order = held["ruzicka"].argsort(kind="stable")
    made = []
    for tenth, rows in enumerate(np.array_split(order, _TENTHS), start=1):
        for measure, name in (("Ruzicka", "ruzicka"), ("Word Mover's", "movers")):
            found = Estimate.of_units(held[name][rows])
            made.append(Reading(FIGURE, {"form": form, "tenth": tenth}, measure, found))
    return made


def _notes(work: Context) -> tuple[str, ...]:
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
        f"The thesis sees a linear relation by eye. Here a correlation above {STRONG:g} is called "
        f"strong, and a relation linear when a quadratic curve explains at most {BEND:g} of the "
        "variance beyond the line; both thresholds are ours.",
        "Some texts of C50 are near copies of each other. Their pairs lie far from all others "
        "and can bend a curve alone, so linearity is judged with them and without (Ruzicka "
        f"distance of counts below {NEAR_DUPLICATES:g}), by the bootstrap over pairs.",
    )
