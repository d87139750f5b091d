"""Two releases at equal terms: the epsilon of one that keeps as much of words as the other.

Cosines are those of content words of texts that attackers study; the attacked texts take no part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inkblur import Embedding, ReleaseSpec, seeded_rng
from inkblur.evaluation import Array, Ids
from reproduction.staircase.collections import SEED, Collection, content_ids
from reproduction.staircase.jobs import StaircaseJob, staircase

_COARSE, _FINE = 2_000, 12_000  # content words whose cosines are compared
_SIDES = (1.0, 400.0)  # epsilons between which the wanted one is sought
_STEPS = 9  # halvings of that range, on the few words
_ASIDE = 1.03  # the factor between what the many words are tried at
_PAIRED = 100  # content words whose pairs give the proved losses
_UNRELATED = 99.0  # percent of the pairs lie nearer


def matched(job: StaircaseJob, collection: Collection) -> dict[str, Any]:
    """The epsilon at which the job's release has the cosine of its staircase, and what it proves.

    First by halves on a few words; then on more words at three epsilons around what was found,
    between which the cosine is as good as linear in the logarithm of epsilon. All of them are
    drawn with the same random bits.
    """
    assert job.as_staircase is not None
    ids = content_ids(collection, _FINE)

    def cosine(spec: ReleaseSpec, count: int) -> float:
        return float(cosines(spec, collection.table, ids[:count]).mean())

    wanted = cosine(staircase(job.as_staircase), _COARSE)
    low, high = _SIDES
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        if cosine(job.spec.varied(epsilon=middle), _COARSE) < wanted:
            low = middle
        else:
            high = middle
    logs = np.log((low * high) ** 0.5) + np.log(_ASIDE) * np.arange(-1, 2)
    tried = [cosine(job.spec.varied(epsilon=float(np.exp(log))), _FINE) for log in logs]
    slope, height = np.polyfit(logs, tried, 1)
    wanted = cosine(staircase(job.as_staircase), _FINE)
    spec = job.spec.varied(epsilon=float(f"{np.exp((wanted - height) / slope):.4g}"))
    return {
        "row": "match",
        "collection": collection.name,
        "as_staircase": job.as_staircase,
        "epsilon": spec.epsilon,
        "wanted": wanted,
        "tried": tried,
        "losses": losses(spec, collection.table, ids[:_PAIRED]),
    }


def cosines(spec: ReleaseSpec, table: Embedding, ids: Ids) -> Array:
    """Between each word and what replaces it."""
    mechanism = spec.mechanism_on(table)
    out = mechanism.replace(ids, seeded_rng(SEED).child("cosine"))
    before, after = (table.vectors[rows].astype(np.float64) for rows in (ids, out))
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return np.asarray(np.einsum("ij,ij->i", before, after) / lengths)


def losses(spec: ReleaseSpec, table: Embedding, ids: Ids) -> dict[str, float]:
    """Proved losses: between a word and its nearest one, two words as they come, unrelated ones.

    The first is the median over `ids` of the nearest word of the vocabulary, the second the median
    over pairs of `ids`, the third their 99th percentile.
    """
    mechanism = spec.mechanism_on(table)
    words = np.unique(ids)
    everything = np.arange(len(mechanism.vocabulary))
    apart = mechanism.pairwise(words, everything)
    apart[np.arange(len(words)), words] = np.inf
    pairs = mechanism.pairwise(words, words)[np.triu_indices(len(words), 1)]
    distances = {
        "nearest": np.median(apart.min(axis=1)),
        "median": np.median(pairs),
        "unrelated": np.percentile(pairs, _UNRELATED),
    }
    loss = mechanism.guarantee.loss
    return {name: round(loss(float(d)), 2) for name, d in distances.items()}
