"""Every attacker on one release: answers text by text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from inkblur import ReleaseSpec, Rng
from inkblur.evaluation import (
    CHANNEL_ATTACKS,
    Array,
    Ids,
    channel_of,
    entering,
    stacked_across,
)
from reproduction.staircase.collections import ATTACKS, SEED, Collection


def answers(
    spec: ReleaseSpec,
    collection: Collection,
    known: Sequence[str],
    attacked: Sequence[str],
    rng: Rng,
) -> dict[str, str]:
    """Which authors of the released texts `attacked` each attack names: 1 right, 0 wrong.

    Static attackers studied the true texts of each author, adaptive ones the released `known`.
    Those that know the channel are static only: an adaptive `svm-undone` would see a linear image
    of what the adaptive SVM on words sees, at most of the running time.
    Stacking hears all who score every author, and learns whom to trust on other authors' texts.
    """
    authors, truth = collection.known.authors, collection.attacked.authors
    assert authors is not None
    assert truth is not None
    said: dict[str, str] = {}
    scores: list[Array] = []
    for name, attack in _attackers(spec, collection, known, rng):
        if hasattr(attack, "scores"):
            found = attack.scores(attacked)
            scores.append(found)
            said[name] = right(attack.named(attacked, found), truth)
        else:
            said[name] = right(attack.predict(attacked), truth)
    suspects: Ids = np.unique(authors)
    stacked = stacked_across(scores, np.searchsorted(suspects, truth))
    if stacked is not None:
        said["stacked"] = right(suspects[stacked.argmax(axis=1)], truth)
    return said


def _attackers(
    spec: ReleaseSpec, collection: Collection, known: Sequence[str], rng: Rng
) -> Iterator[tuple[str, Any]]:
    authors = collection.known.authors
    assert authors is not None
    blur = spec.privatizer(collection.table)
    channel = channel_of(blur.mechanism, rng)

    for name, inform in CHANNEL_ATTACKS.items():
        if name == "likelihood-lengths":
            continue  # lengths show alike whatever draws the words
        attack = inform(channel, collection.table, entering(blur), SEED, False)
        attack.fit(collection.known.texts, authors)
        yield f"{name} static", attack
    for name, make in ATTACKS.items():
        yield f"{name} static", collection.attacks[name]
        yield f"{name} adaptive", make().fit(known, authors)


def right(answers: Iterable[Any], truth: Iterable[Any] | None) -> str:
    """1 for each right answer, 0 for each wrong one.

    >>> right([1, 2], [1, 3])
    '10'
    """
    assert truth is not None
    return "".join("01"[bool(said == true)] for said, true in zip(answers, truth, strict=True))
