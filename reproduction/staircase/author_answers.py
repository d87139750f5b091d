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
    LinearSvm,
    Words,
    channel_of,
    entering,
    stacked_across,
    words_of,
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


def by_pattern(collection: Collection, known: Sequence[str], attacked: Sequence[str]) -> str:
    """An attacker who sees only which words of a text are the same."""
    assert collection.known.authors is not None
    model = LinearSvm(seed=SEED, view=Words(), name="pattern")
    model.fit([pattern(text) for text in known], collection.known.authors)
    found = model.predict([pattern(text) for text in attacked])
    return right(found, collection.attacked.authors)


def pattern(text: str) -> str:
    """How long ago each word of a text came last, in powers of two; how often it came before.

    >>> pattern("a b a a")
    'new new ago1 times1 ago0 times2'
    """
    last: dict[str, int] = {}
    times: dict[str, int] = {}
    out = []
    for place, word in enumerate(words_of(text)):
        if word in last:
            out.append(f"ago{(place - last[word]).bit_length() - 1} times{min(times[word], 9)}")
        else:
            out.append("new")
        last[word] = place
        times[word] = times.get(word, 0) + 1
    return " ".join(out)


def right(answers: Iterable[Any], truth: Iterable[Any] | None) -> str:
    """1 for each right answer, 0 for each wrong one.

    >>> right([1, 2], [1, 3])
    '10'
    """
    assert truth is not None
    return "".join("01"[bool(said == true)] for said, true in zip(answers, truth, strict=True))
