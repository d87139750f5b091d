"""The staircase by its catalogue parameters: by distance or by label, with a language model."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.staircase.class_staircase import ClassStaircase
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.types import choose

if TYPE_CHECKING:
    from inkblur.mechanisms.staircase.causal_model import CausalModel


class BaseKind(Enum):
    """What the words that are not near follow."""

    FREQUENCY = "frequency"  # public frequencies, the same at every position
    LANGUAGE_MODEL = "lm"  # what a language model expects after the words released so far


class NearKind(Enum):
    """Which words are near each other."""

    VECTOR = "vector"  # those with the nearest vectors, until their mass is tau
    LABEL = "label"  # those that speak for the same label of an adapted table


def make_staircase(
    embedding: Embedding,
    *,
    epsilon: float,
    tau: float | None = None,
    frequency_power: float | None = None,
    near: str | NearKind = NearKind.VECTOR,
    base: str | BaseKind = BaseKind.FREQUENCY,
    language_model: str = "",
) -> WordMechanism:
    """A `Staircase`; with `near="label"` a `ClassStaircase`; with `base="lm"` a `FluentStaircase`
    over a causal language model.
    """
    by_label = choose(NearKind, near, "near") is NearKind.LABEL
    if choose(BaseKind, base, "base") is BaseKind.FREQUENCY:
        if language_model:
            raise ParameterError('`language_model=` belongs to `base="lm"`')
        if by_label:
            if tau is not None:
                raise ParameterError(
                    '`near="label"` has no tau: near are all words of a label, each with the same '
                    "mass; leave out `tau=`"
                )
            return ClassStaircase(embedding, epsilon=epsilon, frequency_power=frequency_power)
        return Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=frequency_power)
    if by_label:
        raise ParameterError(
            '`near="label"` needs labels of one mass at every word, which a language model\'s base '
            'does not give them; leave out `base="lm"`'
        )
    if frequency_power not in (None, 1.0):
        raise ParameterError("with a language model the rest of the base follows frequency itself")
    from inkblur.mechanisms.staircase.fluent import FluentStaircase

    model = causal_model(embedding, language_model)
    return FluentStaircase(embedding, epsilon=epsilon, tau=tau, model=model)


def causal_model(embedding: Embedding, place: str) -> CausalModel:
    """The model of a folder or a file, over the words of a table; empty: SmolLM2."""
    from inkblur.mechanisms.staircase.model_files import BUNDLED

    return _opened(embedding, place or BUNDLED)


@lru_cache(maxsize=1)  # several epsilons are often tried with one model, which takes its time
def _opened(embedding: Embedding, place: str) -> CausalModel:
    from inkblur.mechanisms.staircase.causal_model import CausalModel

    return CausalModel(embedding, place)
