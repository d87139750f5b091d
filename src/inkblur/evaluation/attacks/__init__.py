"""Attacks on the author: what an attacker learns from texts about who wrote them."""

from inkblur.evaluation.attacks.base import (
    DONT_KNOW,
    Attack,
    Attribution,
    attribute,
    number_authors,
)
from inkblur.evaluation.attacks.koppel import Koppel

__all__ = ["DONT_KNOW", "Attack", "Attribution", "Koppel", "attribute", "number_authors"]
