"""Strengths for tables of tests, as `inkblur calibrate --authors` would keep them."""

from __future__ import annotations

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms import make_mechanism
from inkblur.mechanisms.calibration import calibrate
from inkblur.mechanisms.catalogue import find
from inkblur.mechanisms.strengths import keep_strengths


def keep_made_strengths(table: Embedding, name: str = "staircase") -> None:
    """Epsilons at which words survive with probability 0.93, 0.5 and 0.2; the risk is made up."""
    found = {}
    for strength, survival in (("light", 0.93), ("medium", 0.5), ("strong", 0.2)):
        epsilon = calibrate(name, table, survival=survival)
        parameters = make_mechanism(name, table, epsilon=epsilon).parameters
        found[strength] = {
            "epsilon": epsilon,
            "parameters": parameters,
        }
    keep_strengths(table, find(name).key({}), found)
