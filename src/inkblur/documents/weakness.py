"""Settings that hide nothing are refused: a guarantee with a huge epsilon is true and worthless."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from inkblur.errors import WeakSetting
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.calibration import survival_rate
from inkblur.mechanisms.typical import profiled_words
from inkblur.rng import seeded_rng

MOST_SURVIVAL = 0.95  # of the words
_SAMPLE = 400  # draws, a word each if there are as many: near the limit about 1 % off
_SEED = 7  # public: the sample is one of the public vocabulary
_measured: WeakKeyDictionary[WordMechanism, float] = WeakKeyDictionary()


def expected_survival(mechanism: WordMechanism) -> float:
    """The share of words that come out unchanged, on an even sample of the public vocabulary.

    Of an adapted embedding, only words with a label profile: those are the words of texts.
    """
    if mechanism not in _measured:
        words = profiled_words(mechanism.embedding)
        order = seeded_rng(_SEED).child("weakness").permutation(len(words))
        _measured[mechanism] = survival_rate(mechanism, np.resize(words[order], _SAMPLE))
    return _measured[mechanism]


def refuse_weak(mechanism: WordMechanism, *, accept_weak: bool = False) -> None:
    """Raise :class:`WeakSetting` where more than 95 % of the words are expected to stay.

    >>> from inkblur.embeddings.table import Embedding
    >>> from inkblur import Laplace
    >>> table = Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> refuse_weak(Laplace(table, epsilon=0.1))
    >>> try:
    ...     refuse_weak(Laplace(table, epsilon=1e300))
    ... except WeakSetting as error:
    ...     print(str(error).split(",")[0])
    about 100% of the words would come out unchanged
    """
    if accept_weak:
        return
    share = expected_survival(mechanism)
    if share > MOST_SURVIVAL:
        raise WeakSetting(
            f"about {share:.0%} of the words would come out unchanged, which hides nothing; choose "
            "a smaller epsilon, or run it anyway with `accept_weak=True`"
        )
