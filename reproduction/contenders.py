"""Every mechanism of the catalogue on equal terms: an experiment asks here and names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkblur import Embedding, ReleaseSpec, Unreachable
from inkblur.evaluation import CATALOGUE, Ids, calibrate
from reproduction.context import Context, StepJob


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
