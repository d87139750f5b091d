"""The attacker who knows a pool's channel."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.pool_likelihood import PoolLikelihood
from inkblur.pools import PoolPrivatizer, PoolStaircase
from inkblur.rng import seeded_rng
from inkblur.types import Record
from tests.pools.made import WORDS, pool, table

TABLE = table()
KNOWN = [WORDS[0], f"{WORDS[0]} {WORDS[1]}", WORDS[5], f"{WORDS[5]} {WORDS[6]}"]
AUTHORS = [3, 3, 8, 8]


def made(epsilon: float) -> PoolStaircase:
    return PoolStaircase(pool(TABLE, (300,)), TABLE, epsilon=epsilon, tau=0.05)


def test_scores_are_the_exact_chances_of_the_known_texts() -> None:
    mechanism = made(3.0)
    attack = PoolLikelihood(mechanism).fit(KNOWN, AUTHORS)
    texts = mechanism.pool.texts
    shown = next(text for text in texts if list(texts).count(text) == 2)
    places = [place for place, text in enumerate(texts) if text == shown]
    chances = []
    for own in (KNOWN[:2], KNOWN[2:]):
        weights = [mechanism.weights(mechanism.encode([text]), 0)[places].sum() for text in own]
        chances.append(sum(map(int, weights)) / 2 / 2**64)
    assert attack.scores([shown])[0] == pytest.approx(np.log(chances), abs=1e-5)
    assert attack.predict(["no text of the pool"]).tolist() == [DONT_KNOW]
    with pytest.raises(ParameterError, match="call fit first"):
        PoolLikelihood(mechanism).scores([""])


@pytest.mark.parametrize(("epsilon", "least", "most"), [(9.0, 0.9, 1.0), (0.01, 0.4, 0.6)])
def test_it_names_who_can_be_named(epsilon: float, least: float, most: float) -> None:
    mechanism = made(epsilon)
    attack = PoolLikelihood(mechanism).fit(KNOWN, AUTHORS)
    records = [Record(str(i), KNOWN[i % 4]) for i in range(400)]
    out = PoolPrivatizer(mechanism).release_batch(records, seeded_rng(4)).texts
    truth = np.array([AUTHORS[i % 4] for i in range(400)])
    assert least <= np.mean(attack.predict(out) == truth) <= most
