"""Law: a mechanism that leaks is read better, whatever mechanism it hides behind."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import unigram
from inkblur.evaluation.attacks.reading import Reader
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng, Rows, seeded_rng
from inkblur.types import NULL_ID, Ids

from .catalogue import ALL, label, make

pytest.importorskip("sklearn")

WORDS = 300
DRAWN = 80_000


class Leaky(WordMechanism):
    """Another mechanism, but some words are copied, by default one in 20."""

    def __init__(self, inner: WordMechanism, share: float = 0.05) -> None:
        super().__init__(inner.embedding)
        self.share = share
        self.inner, self.name, self.guarantee = inner, "leaky", inner.guarantee

    @property
    def parameters(self) -> dict[str, float | str]:
        """Those of the mechanism it hides behind."""
        return self.inner.parameters

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """A draw, or the word itself."""
        assert isinstance(rng, Rng)
        out = self.inner.replace(ids, rng.child("inner"))
        copied = (rng.child("leak").rows(len(ids), 1)[:, 0] < self.share) & (ids != NULL_ID)
        return np.where(copied, ids, out)


def read(mechanism: WordMechanism) -> float:
    """The share of words that a reader recovers."""
    prior = unigram(mechanism.embedding)
    draws = np.random.default_rng(4).choice(WORDS + 1, DRAWN, p=prior)
    truth = np.where(draws == WORDS, NULL_ID, draws)
    outs = mechanism.replace(truth, seeded_rng(5))
    reader = Reader(channel_of(mechanism, seeded_rng(6)), prior)
    (said,) = reader.read([outs[:, None]])
    return float(((said.words == truth) & (truth != NULL_ID)).mean())


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_a_copied_word_in_20_raises_what_is_read(
    setting: tuple[str, dict[str, float | str | bool]],
) -> None:
    vectors = np.random.default_rng(3).normal(size=(WORDS, 8))
    table = Embedding([f"word{'x' * i}" for i in range(WORDS)], vectors, name="made")
    mechanism = make(setting, table, 0.5)
    plain, leaking = read(mechanism), read(Leaky(mechanism))
    print(f"{label(setting)}: {plain:.1%} read, {leaking:.1%} with the leak")  # pytest -s
    error = np.sqrt(2 * plain * (1 - plain) / DRAWN)
    assert leaking > plain + 4 * error
