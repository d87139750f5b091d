"""The staircase by its catalogue parameters: with a fixed base, or with a language model's."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.types import choose

if TYPE_CHECKING:
    from inkblur.mechanisms.staircase.causal_model import CausalModel


class BaseKind(Enum):
    """What the words that are not near follow."""

    FREQUENCY = "frequency"  # public frequencies, the same at every position
    LANGUAGE_MODEL = "lm"  # what a language model expects after the words released so far


def make_staircase(
    embedding: Embedding,
    *,
    epsilon: float,
    tau: float | None = None,
    frequency_power: float | None = None,
    base: str | BaseKind = BaseKind.FREQUENCY,
    language_model: str = "",
) -> WordMechanism:
    """A `Staircase`, or with `base="lm"` a `FluentStaircase` over a causal language model."""
    if choose(BaseKind, base, "base") is BaseKind.FREQUENCY:
        if language_model:
            raise ParameterError('`language_model=` belongs to `base="lm"`')
        return Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=frequency_power)
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
