"""What mechanisms prove at equal cosine, pair by pair, and what none can prove.

    INKBLUR_DATA=... python -m reproduction.staircase.limits work.jsonl

reads the epsilons that `python -m reproduction.staircase` matched and prints proved losses, those
of single pairs where a mechanism knows its probabilities, and the largest cosine that any
mechanism of a fifth of the loss could have.

Let Q be any channel with Q(y|x) <= e^epsilon Q(y|x') for all x, x', y, and m(y) the smallest
Q(y|x), so that m(y) <= Q(y|x) <= e^epsilon m(y). For words x with chances p(x) and any number c

    E cos = c + sum_y sum_x p(x) Q(y|x) (cos(x,y) - c)  <=  c + sum_y m(y) g(y),
    g(y) = sum_x p(x) (cos(x,y) - c) w,   w = e^epsilon where cos(x,y) > c, else 1.

So where no g(y) is above 0, no such channel has a mean cosine above c.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from inkblur import Embedding, ReleaseSpec
from inkblur.evaluation import Array, Ids
from reproduction.staircase.collections import content_ids, load
from reproduction.staircase.jobs import OTHERS, staircase
from reproduction.staircase.matching import losses

_PAIRED = 60  # content words whose pairs are looked at one by one
_STEPS = 8  # halvings of the range from 0 to 1: the cosine is found to .004
_BLOCK = 4_000  # words that come out, at a time


@runtime_checkable
class StatesProbabilities(Protocol):
    """A mechanism that knows its probabilities."""

    def probabilities(self, ids: Ids) -> Array:
        """Where each id goes, (ids, vocabulary)."""
        ...


def largest_cosine(table: Embedding, ids: Ids, epsilon: float) -> float:
    """No channel with loss epsilon between any two words keeps more of words that come like `ids`.

    >>> table = Embedding(["cat", "dog", "sky"], np.eye(3), name="toy")
    >>> round(largest_cosine(table, np.arange(3), math.log(2)), 2)  # 2 / (2 + 1 + 1)
    0.5
    """
    words, counts = np.unique(ids, return_counts=True)
    chances = (counts / counts.sum()).astype(np.float32)
    vectors = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    true, factor = vectors[words].T, np.float32(math.exp(epsilon))

    def reached(cosine: float) -> bool:
        for start in range(0, len(vectors), _BLOCK):
            above = vectors[start : start + _BLOCK] @ true - np.float32(cosine)
            np.multiply(above, factor, out=above, where=above > 0)
            if (above @ chances).max() > 0:
                return True
        return False

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if reached(middle):
            low = middle
        else:
            high = middle
    return high


def pair_losses(mechanism: StatesProbabilities, table: Embedding, ids: Ids) -> dict[str, float]:
    """Largest log ratios of single pairs: a word and its nearest, and two words as they come.

    Medians over pairs. What a mechanism proves is the largest over all pairs; this is what it would
    prove if only such a pair had to be confused.
    """
    words = np.unique(ids)
    vectors = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    near = vectors[words] @ vectors.T
    near[np.arange(len(words)), words] = -1.0
    logs, of_nearest = (
        np.log(mechanism.probabilities(each)) for each in (words, near.argmax(axis=1))
    )
    first, second = np.triu_indices(len(words), 1)
    pairs = [np.abs(logs[a] - logs[b]).max() for a, b in zip(first, second, strict=True)]
    return {
        "nearest": float(np.median(np.abs(logs - of_nearest).max(axis=1))),
        "median": float(np.median(pairs)),
    }


def _line(row: Mapping[str, Any], name: str, spec: ReleaseSpec, table: Embedding, ids: Ids) -> str:
    proved = row.get("losses") or losses(spec, table, ids[:_PAIRED])
    mechanism = spec.mechanism_on(table)
    single = "not known"
    if isinstance(mechanism, StatesProbabilities):
        found = pair_losses(mechanism, table, ids[:_PAIRED])
        single = f"{found['nearest']:.1f}, {found['median']:.1f}"
    level, fifth = row["as_staircase"], proved["median"] / 5
    met = "yes" if level <= fifth else "no"
    if name != "staircase" and level > fifth:
        limit = largest_cosine(table, ids, fifth)
        met = f"no: no mechanism of loss {fifth:.2f} keeps more than {limit:.3f}"
    cells = [row["collection"], f"{level:g}", f"{name} {spec.epsilon:g}"]
    cells += [f"{proved[kind]:.1f}" for kind in ("nearest", "median", "unrelated")]
    return f"| {' | '.join([*cells, single, '' if name == 'staircase' else met])} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="finished jobs of python -m reproduction.staircase")
    parser.add_argument("--collection", default="PAN 2018")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.file.read_text("utf-8").splitlines()]
    rows = [r for r in rows if r.get("row") == "match" and r["collection"] == options.collection]
    collection = load({options.collection})[options.collection]
    ids = content_ids(collection, 1_000_000)
    print("| collection | as staircase | release | nearest | median | unrelated | single pairs: "
          "nearest, median | a fifth |\n|---|---:|---|---:|---:|---:|---|---|")  # fmt: skip
    for level in sorted({row["as_staircase"] for row in rows}, reverse=True):
        ours = {"collection": options.collection, "as_staircase": level}
        print(_line(ours, "staircase", staircase(level), collection.table, ids), flush=True)
        for row in rows:
            if row["as_staircase"] == level:
                name = next(n for n, each in OTHERS.items() if f": {each.name} as" in row["key"])
                spec = OTHERS[name].varied(epsilon=row["epsilon"])
                print(_line(row, name, spec, collection.table, ids), flush=True)


if __name__ == "__main__":
    main()
