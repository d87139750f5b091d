"""Every mechanism of the catalogue on equal terms: an experiment asks here and names none."""

from __future__ import annotations

from functools import partial

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.settings import Setting
from inkblur.experiments.workshop import Workshop
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import CATALOGUE


def contenders(work: Workshop, embedding: Embedding, *, survival: float) -> tuple[Setting, ...]:
    """All mechanisms, each with the epsilon at which a word of the vocabulary survives with
    probability `survival`; a mechanism takes part under every set of options it races with.
    """
    found = []
    sample = work.size(2_000, 200)
    for entry in CATALOGUE.values():
        for options in entry.raced:
            work_of_calibrating = partial(
                calibrate, entry.name, embedding, survival=survival, sample=sample, **options
            )
            shown = "".join(f" {key}={value}" for key, value in options.items())
            key = f"calibrate {entry.name}{shown} on {embedding.sha256[:16]} to {survival:g}"
            found.append(Setting(entry.name, work.step(key, work_of_calibrating), **options))
    return tuple(found)
