"""Attacks on the author: what an attacker learns from texts about who wrote them."""

from inkblur.evaluation.attacks.base import (
    DONT_KNOW,
    Attack,
    Attribution,
    attribute,
    number_authors,
)
from inkblur.evaluation.attacks.koppel import Koppel
from inkblur.evaluation.attacks.reverse import reverse_vectorized
from inkblur.evaluation.attacks.same_representation import SameRepresentation
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.attacks.writeprints import WritePrints

__all__ = [
    "DONT_KNOW",
    "Attack",
    "Attribution",
    "Koppel",
    "LinearSvm",
    "SameRepresentation",
    "WritePrints",
    "attribute",
    "number_authors",
    "reverse_vectorized",
]
