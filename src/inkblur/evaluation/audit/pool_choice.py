"""Are texts drawn from a pool with the probabilities that its staircase states?

What is tried is the whole release: encoding, keyed streams, 64 bits, the search for the text that
owns them. What it is held against is computed another way, by marking every unit of the pool.
"""

from __future__ import annotations

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.choice import ChoiceAudit, audit_draws
from inkblur.evaluation.measures.intervals import checked_confidence
from inkblur.pools.privatizer import PoolPrivatizer
from inkblur.rng import Rng
from inkblur.types import Ids, Piece, Record, whole

_TEXTS = 48  # that enter, an empty one among them
_CELLS = 1 << 23  # of the table of stated probabilities, at most


def audit_pool(
    blur: PoolPrivatizer, *, rng: Rng, draws: int = 20_000, confidence: float = 0.99
) -> ChoiceAudit:
    """Test draws against stated probabilities, and these against the claimed bound.

    Texts of the pool play private ones, one without a known word beside them. Sentences are drawn
    as texts are, so the audit is of one draw in either case.
    """
    mechanism = blur.mechanism
    pool, draws = mechanism.pool, whole(draws, "draws")
    inputs = min(_TEXTS, _CELLS // len(pool), len(pool)) - 1
    if inputs < 1:
        raise ParameterError(f"a pool of {len(pool):,} texts is too large to audit at once")
    order = rng.child("pool audit", "texts").permutation(len(pool))
    texts = [*(pool.texts[row] for row in np.sort(order[:inputs]).tolist()), ""]
    encoded = mechanism.encode(texts)
    stated = np.stack([mechanism.weights(encoded, row) for row in range(len(texts))]) / 2.0**64
    places = {text: place for place, text in enumerate(pool.texts)}
    one_draw = PoolPrivatizer(mechanism, unit=Piece.TEXT)

    def draw(which: Ids) -> Ids:
        records = [Record(str(place), texts[row]) for place, row in enumerate(which.tolist())]
        drawn = one_draw.release_batch(records, rng.child("pool audit", "draws"))
        return np.array([places[text] for text in drawn.texts], dtype=np.int64)

    return audit_draws(
        stated,
        draw,
        rng=rng,
        draws=draws,
        confidence=checked_confidence(confidence),
        bound=mechanism.guarantee.epsilon,
        unit="texts",
    )
