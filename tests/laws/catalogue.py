"""Every entry of the catalogue, made ready: laws run over all of them."""

from __future__ import annotations

from itertools import product
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms import CATALOGUE, make_mechanism
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import Entry, find
from inkblur.mechanisms.perturbation import Perturbation


def settings() -> list[tuple[str, dict[str, Any]]]:
    """Every name with every combination of the values that its parameters are tried with."""
    return [(entry.name, variant) for entry in CATALOGUE.values() for variant in variants(entry)]


def variants(entry: Entry) -> list[dict[str, Any]]:
    values = [p.tried or (p.default,) for p in entry.parameters]
    names = [p.name for p in entry.parameters]
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]


def label(setting: tuple[str, dict[str, Any]]) -> str:
    return " ".join([setting[0], *(f"{k}={v}" for k, v in setting[1].items())])


def make(setting: tuple[str, dict[str, Any]], table: Embedding, epsilon: float) -> WordMechanism:
    return make_mechanism(setting[0], table, epsilon=epsilon, **setting[1])


ALL = settings()
PRIVATE = [s for s in ALL if find(s[0]).private]


def _adds_noise(name: str) -> bool:
    made = find(name).make
    return isinstance(made, type) and issubclass(made, Perturbation)


VECTOR = [s for s in ALL if _adds_noise(s[0])]
