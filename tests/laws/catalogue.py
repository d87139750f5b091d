"""Every entry of the catalogue, made ready: laws run over all of them."""

from __future__ import annotations

from itertools import product
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms import CATALOGUE, Perturbation, make_mechanism
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import find

OPTIONS: dict[str, list[Any]] = {
    "lam": [0.0, 0.5, 1.0],
    "bigram": [0.0, 0.3],
    "bounding": ["clip", "rescale"],
    "accept_no_guarantee": [True],
}


def settings() -> list[tuple[str, dict[str, Any]]]:
    """Every name with every setting of its options that changes the law."""
    out: list[tuple[str, dict[str, Any]]] = []
    for name, entry in CATALOGUE.items():
        known = [option for option in entry.options if option in OPTIONS]
        for values in product(*(OPTIONS[option] for option in known)):
            out.append((name, dict(zip(known, values, strict=True))))
    return out


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
