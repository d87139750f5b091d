"""Every mechanism of the catalogue on equal terms: an experiment asks here and names none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from inkblur import Embedding, ParameterError, ReleaseSpec, Unreachable
from inkblur.evaluation import CATALOGUE, Ids, calibrate
from reproduction.context import Context, StepJob

_NEAR = 1e-3  # how near to the wanted loss is near enough
_SECANTS = 20


def contenders(
    work: Context, embedding: Embedding, *, survival: float, words: Ids | None = None
) -> tuple[ReleaseSpec, ...]:
    """All mechanisms, each with the epsilon at which a word survives with probability `survival`:
    a word of the vocabulary, or one of `words` (public ids, in random order).

    A mechanism takes part under every set of options it races with. One that lets more words
    survive at every epsilon (an angle cut off at 90 degrees) is left out.
    """
    sample = work.size(2_000, 200)
    of = "" if words is None else " of the words as they come"
    where = f"on {embedding.sha256[:16]} to {survival:g}{of}"
    ids = None if words is None else words[:sample]
    raced = [(entry.name, options) for entry in CATALOGUE.values() for options in entry.raced]
    jobs: list[StepJob] = []
    for name, options in raced:
        shown = "".join(f" {key}={value}" for key, value in options.items())
        step = f"calibrate {name}{shown} {where}"
        jobs.append((step, _reached, name, embedding, survival, sample, ids, options))
    return tuple(
        ReleaseSpec(name, epsilon, parameters=options)
        for (name, options), epsilon in zip(raced, work.steps(jobs), strict=True)
        if epsilon is not None
    )


def entrants() -> tuple[ReleaseSpec, ...]:
    """All mechanisms under every set of options they race with, at epsilon 1."""
    return tuple(
        ReleaseSpec(entry.name, 1.0, parameters=options)
        for entry in CATALOGUE.values()
        for options in entry.raced
    )


def at_loss(
    work: Context, setting: ReleaseSpec, embedding: Embedding, *, loss: float, words: Ids
) -> ReleaseSpec | None:
    """The setting with the epsilon at which the proved loss between the median pair of `words` is
    `loss`. None for a mechanism that proves nothing, and where no epsilon has that loss.
    """
    epsilon = work.step(
        f"epsilon of {setting.name} on {embedding.sha256[:16]} for a proved loss of {loss:g} "
        f"between {len(words)} words as they come",
        partial(_solved, setting, embedding, loss, words),
    )
    return None if epsilon is None else replace(setting, epsilon=epsilon)


def proved_loss(setting: ReleaseSpec, embedding: Embedding, words: Ids) -> float | None:
    """The bound on the log likelihood ratio between two of `words` at the median of their
    distances; None for a mechanism that proves nothing.
    """
    mechanism = setting.mechanism_on(embedding)
    if not mechanism.guarantee.private:
        return None
    apart = mechanism.pairwise(words, words)[np.triu_indices(len(words), 1)]
    return mechanism.guarantee.loss(float(np.median(apart)))


def _solved(setting: ReleaseSpec, embedding: Embedding, loss: float, words: Ids) -> float | None:
    """By secants from 0: one step where the loss is a multiple of epsilon, a few elsewhere."""
    below, at_below, epsilon = 0.0, 0.0, setting.known_epsilon
    for _ in range(_SECANTS):
        try:
            here = proved_loss(replace(setting, epsilon=epsilon), embedding, words)
        except ParameterError:  # beyond the epsilons that this mechanism takes
            return None
        if here is None or here == at_below:
            return None
        if abs(here / loss - 1.0) < _NEAR:
            return epsilon
        further = epsilon + (loss - here) * (epsilon - below) / (here - at_below)
        below, at_below = epsilon, here
        epsilon = float(f"{max(further, epsilon / 10):.5g}")
    return None


def _reached(
    name: str,
    embedding: Embedding,
    survival: float,
    sample: int,
    words: Ids | None,
    options: Mapping[str, Any],
) -> float | None:
    try:
        return calibrate(name, embedding, survival=survival, sample=sample, words=words, **options)
    except Unreachable:
        return None
