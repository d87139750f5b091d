"""Every mechanism of the catalogue on equal terms: an experiment asks here and names none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import Unreachable
from inkblur.evaluation.settings import Setting
from inkblur.experiments.workshop import Workshop
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import CATALOGUE
from inkblur.types import Ids


def contenders(
    work: Workshop, embedding: Embedding, *, survival: float, words: Ids | None = None
) -> tuple[Setting, ...]:
    """All mechanisms, each with the epsilon at which a word survives with probability `survival`:
    a word of the vocabulary, or one of `words` (public ids, in random order).

    A mechanism takes part under every set of options it races with. One that lets more words
    survive at every epsilon (an angle cut off at 90 degrees) is left out.
    """
    found = []
    sample = work.size(2_000, 200)
    for entry in CATALOGUE.values():
        for options in entry.raced:
            shown = "".join(f" {key}={value}" for key, value in options.items())
            of = "" if words is None else " of the words as they come"
            key = f"calibrate {entry.name}{shown} on {embedding.sha256[:16]} to {survival:g}{of}"
            ids = None if words is None else words[:sample]
            epsilon = work.step(
                key, partial(_reached, entry.name, embedding, survival, sample, ids, options)
            )
            if epsilon is not None:
                found.append(Setting(entry.name, epsilon, **options))
    return tuple(found)


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
