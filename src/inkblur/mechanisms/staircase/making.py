"""The staircase by its catalogue parameters: by distance or by label."""

from __future__ import annotations

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.class_staircase import ClassStaircase
from inkblur.mechanisms.staircase.mechanism import Staircase


def make_staircase(
    embedding: Embedding,
    *,
    epsilon: float,
    tau: float | None = None,
    frequency_power: float | None = None,
    near: str = "vector",
) -> Staircase | ClassStaircase:
    """A `Staircase`; with `near="label"` a `ClassStaircase`."""
    if near == "vector":
        return Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=frequency_power)
    if tau is not None:
        raise ParameterError(
            '`near="label"` has no tau: near are all words of a label, each with the same mass; '
            "leave out `tau=`"
        )
    return ClassStaircase(embedding, epsilon=epsilon, frequency_power=frequency_power)
