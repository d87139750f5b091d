"""One job: release, attack, ask for topics; answers are kept text by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inkblur import Embedding, Record, ReleaseSpec, seeded_rng
from inkblur.evaluation import Released, releaser
from reproduction.corpora import Corpus
from reproduction.staircase.author_answers import answers, right
from reproduction.staircase.collections import (
    ANALYSTS,
    ATTACKS,
    C50,
    JOINED,
    SEED,
    TASK,
    Collection,
    analyst,
    content_ids_by_text,
)
from reproduction.staircase.jobs import NAMES_EPSILON, StaircaseJob, staircase
from reproduction.staircase.matching import cosines
from reproduction.staircase.names import COMMON_NAMES


def studied(collection: Collection, attack: str) -> tuple[Any, str]:
    """An attack that studied the true texts, and how it does on true texts."""
    model = ATTACKS[attack]().fit(collection.known.texts, collection.known.authors)
    return model, right(model.predict(collection.attacked.texts), collection.attacked.authors)


def taught(collection: Collection, kind: str) -> tuple[Any, str]:
    """An analyst who learned from true postings, and how it does on true ones."""
    assert collection.topics is not None
    train, test = collection.topics.train, collection.topics.test
    model = analyst(kind).fit(list(train.texts), list(train.labels or ()))
    return model, right(model.predict(list(test.texts)), test.labels)


def measured(
    job: StaircaseJob, collections: Mapping[str, Collection], matches: Mapping[str, float]
) -> dict[str, Any]:
    """Everything about one job, as JSON; `matches` holds the epsilons of equal cosine."""
    collection = collections[job.collection]
    row = job.to_json()
    spec = job.spec
    if job.as_staircase is not None:
        spec = spec.varied(epsilon=matches[job.match])
    row["epsilon"] = spec.epsilon
    if job.collection not in (JOINED, TASK):
        row["cosines"] = cosines_by_text(spec, collection)
    made = releaser(spec, collection.table)
    row["parameters"] = made.blur.mechanism.parameters
    rng = seeded_rng(SEED).child("staircase", job.key)

    def released(corpus: Corpus) -> Released:
        return made.release(corpus.texts, rng.child(corpus.name))

    attacked, known = released(collection.attacked), released(collection.known)
    row["unchanged"] = attacked.unchanged
    row["right"] = answers(spec, collection, known.texts, attacked.texts, rng.child("channel"))
    if collection.topics is not None and job.as_staircase is None:
        row["topic"] = _topics(collection, released, learn=job.collection == C50)
    return row


def _topics(collection: Collection, released: Any, *, learn: bool) -> dict[str, str]:
    assert collection.topics is not None
    train, test = collection.topics.train, collection.topics.test
    asked = list(released(test).texts)
    found = {
        name: right(model.predict(asked), test.labels)
        for name, model in collection.analysts.items()
    }
    if learn:
        lessons = list(released(train).texts)
        for kind in ANALYSTS:
            model = analyst(kind).fit(lessons, list(train.labels or ()))
            found[f"{kind} learned"] = right(model.predict(asked), test.labels)
    return found


def cosines_by_text(spec: ReleaseSpec, collection: Collection) -> Sequence[tuple[float, int]]:
    """Sum of the cosines of each attacked text's content words, and how many there are."""
    ids = content_ids_by_text(collection)
    found = cosines(spec, collection.table, np.concatenate(ids))
    parts = np.split(found, np.cumsum([len(row) for row in ids])[:-1])
    return [(round(float(part.sum()), 4), len(part)) for part in parts]


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
