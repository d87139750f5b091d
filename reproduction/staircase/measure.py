"""One job: release, attack, ask for topics; answers are kept text by text."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from inkblur import Embedding, Record, ReleaseSpec, seeded_rng
from inkblur.evaluation import (
    Ids,
    Likelihood,
    LinearSvm,
    Released,
    Words,
    channel_of,
    releaser,
    words_of,
)
from reproduction.contenders import proved_loss
from reproduction.corpora import Corpus
from reproduction.staircase.collections import (
    ANALYSTS,
    ATTACKS,
    C50,
    JOINED,
    SEED,
    TASK,
    Collection,
    analyst,
    content_ids,
)
from reproduction.staircase.jobs import NAMES_EPSILON, StaircaseJob, staircase
from reproduction.staircase.names import COMMON_NAMES

_TOKENS = 4_000  # content words whose cosines are compared
_PAIRED = 200  # words whose pairs give the proved loss
_SIDES = (1.0, 400.0)  # epsilons between which that of an equal cosine is sought
_STEPS = 10


def studied(collection: Collection, attack: str) -> tuple[Any, str]:
    """An attack that studied the true texts, and how it does on true texts."""
    model = ATTACKS[attack]().fit(collection.known.texts, collection.known.authors)
    return model, _right(model.predict(collection.attacked.texts), collection.attacked.authors)


def taught(collection: Collection, kind: str) -> tuple[Any, str]:
    """An analyst who learned from true postings, and how it does on true ones."""
    assert collection.topics is not None
    train, test = collection.topics.train, collection.topics.test
    model = analyst(kind).fit(list(train.texts), list(train.labels or ()))
    return model, _right(model.predict(list(test.texts)), test.labels)


def measured(job: StaircaseJob, collections: Mapping[str, Collection]) -> dict[str, Any]:
    """Everything about one job, as JSON."""
    began = time.perf_counter()
    collection = collections[job.collection]
    row = job.to_json()
    spec = job.spec
    if job.as_staircase is not None:
        spec = _at_equal_cosine(spec, job.as_staircase, collection)
    row["epsilon"] = spec.epsilon
    if job.collection not in (JOINED, TASK):
        row["cosine"] = cosine(spec, collection.table, content_ids(collection, _TOKENS))
        words = content_ids(collection, _PAIRED)
        row["loss"] = proved_loss(spec, collection.table, words)
    made = releaser(spec, collection.table)
    row["parameters"] = made.mechanism.parameters
    rng = seeded_rng(SEED).child("staircase", job.key)

    def released(corpus: Corpus) -> Released:
        return made.release(corpus.texts, rng.child(corpus.name))

    attacked, known = released(collection.attacked), released(collection.known)
    row["unchanged"] = attacked.unchanged
    truth = collection.attacked.authors
    if job.row == "pattern":
        row["right"] = {"pattern adaptive": _by_pattern(collection, known.texts, attacked.texts)}
    else:
        row["right"] = {}
    mechanism = spec.mechanism_on(collection.table)
    bayes = Likelihood(channel_of(mechanism, rng.child("channel")), collection.table)
    assert collection.known.authors is not None
    bayes.fit(collection.known.texts, collection.known.authors)
    row["right"]["likelihood static"] = _right(bayes.predict(attacked.texts), truth)
    for name, make in ATTACKS.items():
        static = collection.attacks[name].predict(attacked.texts)
        row["right"][f"{name} static"] = _right(static, truth)
        adaptive = make().fit(known.texts, collection.known.authors)
        row["right"][f"{name} adaptive"] = _right(adaptive.predict(attacked.texts), truth)
    if collection.topics is not None and job.as_staircase is None and job.row != "pattern":
        row["topic"] = _topics(collection, released, learn=job.collection == C50)
    row["seconds"] = round(time.perf_counter() - began, 1)
    return row


def _topics(collection: Collection, released: Any, *, learn: bool) -> dict[str, str]:
    assert collection.topics is not None
    train, test = collection.topics.train, collection.topics.test
    asked = list(released(test).texts)
    found = {
        name: _right(model.predict(asked), test.labels)
        for name, model in collection.analysts.items()
    }
    if learn:
        lessons = list(released(train).texts)
        for kind in ANALYSTS:
            model = analyst(kind).fit(lessons, list(train.labels or ()))
            found[f"{kind} learned"] = _right(model.predict(asked), test.labels)
    return found


def _right(answers: Iterable[Any], truth: Iterable[Any] | None) -> str:
    assert truth is not None
    return "".join("01"[bool(said == true)] for said, true in zip(answers, truth, strict=True))


def cosine(spec: ReleaseSpec, table: Embedding, ids: Ids) -> float:
    """Mean cosine between words and what replaces them."""
    mechanism = spec.mechanism_on(table)
    out = mechanism.replace(ids, seeded_rng(SEED).child("cosine"))
    before, after = (table.vectors[rows].astype(np.float64) for rows in (ids, out))
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return float(np.mean(np.einsum("ij,ij->i", before, after) / lengths))


def _at_equal_cosine(spec: ReleaseSpec, level: float, collection: Collection) -> ReleaseSpec:
    """The spec with the epsilon at which content words keep as much as under a staircase."""
    ids = content_ids(collection, _TOKENS)
    wanted = cosine(staircase(level), collection.table, ids)
    low, high = _SIDES
    for _ in range(_STEPS):
        middle = float(f"{(low * high) ** 0.5:.4g}")
        if cosine(spec.varied(epsilon=middle), collection.table, ids) < wanted:
            low = middle
        else:
            high = middle
    return spec.varied(epsilon=float(f"{(low * high) ** 0.5:.4g}"))


def _by_pattern(collection: Collection, known: Sequence[str], attacked: Sequence[str]) -> str:
    """An attacker who sees only which words of a text are the same."""
    assert collection.known.authors is not None
    model = LinearSvm(seed=SEED, view=Words(), name="pattern")
    model.fit([pattern(text) for text in known], collection.known.authors)
    found = model.predict([pattern(text) for text in attacked])
    return _right(found, collection.attacked.authors)


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


def names(table: Embedding) -> dict[str, Any]:
    """How often common names come out as they are, and whether they enter at all by default."""
    spec = staircase(NAMES_EPSILON)
    mechanism = spec.mechanism_on(table)
    ids = table.ids(COMMON_NAMES)
    rng = seeded_rng(SEED)  # the staircase's survival is exact and draws nothing
    survival = [mechanism.survival(ids[[place]], rng) for place in range(len(ids))]
    batch = spec.privatizer(table).release_batch([Record("names", " ".join(COMMON_NAMES))], rng)
    return {
        "row": "names",
        "parameters": mechanism.parameters,
        "names": len(ids),
        "mean": float(np.mean(survival)),
        "largest": max(survival),
        "over": sum(each > 0.05 for each in survival),
        "null by default": batch.counts["names null"],
    }
