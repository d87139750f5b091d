"""Every mechanism of the catalogue on equal terms: an experiment asks here and names none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.settings import Setting
from inkblur.experiments.workshop import Workshop
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import CATALOGUE


def contenders(work: Workshop, embedding: Embedding, *, survival: float) -> tuple[Setting, ...]:
    """All mechanisms, each with the epsilon at which a word of the vocabulary survives with
    probability `survival`; a mechanism takes part under every set of options it races with.

    One that lets more words survive at every epsilon (an angle cut off at 90 degrees) is left out.
    """
    if not 0 < survival < 1:
        raise ParameterError(f"survival must lie between 0 and 1, both excluded, got {survival}")
    found = []
    sample = work.size(2_000, 200)
    for entry in CATALOGUE.values():
        for options in entry.raced:
            shown = "".join(f" {key}={value}" for key, value in options.items())
            key = f"calibrate {entry.name}{shown} on {embedding.sha256[:16]} to {survival:g}"
            epsilon = work.step(
                key, partial(_reached, entry.name, embedding, survival, sample, options)
            )
            if epsilon is not None:
                found.append(Setting(entry.name, epsilon, **options))
    return tuple(found)


def _reached(
    name: str, embedding: Embedding, survival: float, sample: int, options: Mapping[str, Any]
) -> float | None:
    try:
        return calibrate(name, embedding, survival=survival, sample=sample, **options)
    except ParameterError:  # no epsilon does it
        return None
