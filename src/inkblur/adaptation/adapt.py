"""A metric that knows the task: word vectors beside what words say about public labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from inkblur.adaptation.profiles import KnownWords, label_profiles
from inkblur.documents.fingerprints import fingerprint_of, gathered
from inkblur.documents.tokens import written_words
from inkblur.embeddings.adaptation import Adaptation, LabelColumn
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import counted, is_missing, positive

VECTOR_LENGTH = 0.65  # of alpha x vector about the center, in the mean, unless alpha is given

Labels = Mapping[str, Sequence[str | None]]


def adapt_embedding(
    base: Embedding,
    texts: Iterable[str],
    labels: Labels,
    *,
    alpha: float | None = None,
    beta: float = 3.0,
    smoothing: float = 10.0,
    name: str | None = None,
) -> Embedding:
    """Word vectors in which words that say other things about the labels lie farther apart.

    Each word's vector becomes `[alpha x vector ; beta x profile]`, the profile being the smoothed,
    centered log-odds of the labels given the word (see :mod:`inkblur.adaptation.profiles`); several
    columns' profiles stand one after the other, each times beta, so squared distances add. The
    result is an ordinary embedding: a mechanism over it keeps its own guarantee, in this adapted
    metric, and names what the metric blurs less on purpose.

    `labels` maps a column's name to a label for each text, None or blank where there is none.
    `alpha`, `beta` and `smoothing` (in texts for each label) are finite and above 0. Without
    `alpha` the word vectors are brought to a mean length of 0.65 about their center, whatever the
    scale of `base` (alpha is 0.1 for GloVe 6B): the smaller, the less is left of a word's own
    meaning, and the more of the labels at equal protection (docs/adapted-metric.md).

    A text without any label or without a word that `base` knows teaches nothing and is counted. A
    text without a label in one column only is left out of that column. The corpus is public by
    declaration: texts that taught something are remembered by fingerprint, and protecting one of
    them raises `PrivateCalibration`.

    >>> base = Embedding(["cat", "dog", "bank"], [[0, 1], [1, 0], [1, 1]], name="toy")
    >>> corpus = ["My cat.", "A dog and a cat.", "The bank!", "Bank, bank."]
    >>> topics = {"topic": ["pets", "pets", "money", "money"]}
    >>> adapted = adapt_embedding(base, corpus, topics, alpha=1.0, smoothing=0.5)
    >>> adapted
    Embedding('toy+topic', 3 words x 3)
    >>> [f"{number:.1f}" for number in adapted.vectors[:, 2]]
    ['-3.1', '-2.1', '3.8']
    """
    alpha = positive(alpha, "alpha") if alpha is not None else usual_alpha(base)
    beta = positive(beta, "beta")
    smoothing = positive(smoothing, "smoothing")
    if isinstance(texts, str):
        raise ParameterError("the corpus is a list of texts, not one text")
    corpus = list(texts)
    columns = _checked(corpus, labels)
    known = KnownWords(base)
    documents, marks = [], []
    for text in corpus:
        written = written_words(text)
        documents.append(known.of(written))
        marks.append(fingerprint_of(written))
    if not any(len(ids) for ids in documents):
        raise ParameterError(
            f"no text of the corpus has a word that {base.name} knows; are they in one language?"
        )
    profiles = [
        label_profiles(column, documents, given, words=len(base), smoothing=smoothing)
        for column, given in columns.items()
    ]
    used = [
        row
        for row, ids in enumerate(documents)
        if len(ids) and any(given[row] is not None for given in columns.values())
    ]
    adaptation = Adaptation(
        base=base.name,
        base_sha256=base.sha256,
        corpus_sha256=_digest(corpus, columns, used),
        documents=len(used),
        skipped=len(corpus) - len(used),
        words=len(np.unique(np.concatenate([profile.seen for profile in profiles]))),
        columns=tuple(
            LabelColumn(p.column, p.counts, int(p.values.shape[1]), p.reduction) for p in profiles
        ),
        alpha=alpha,
        beta=beta,
        smoothing=smoothing,
    )
    return Embedding(
        base.words,
        np.hstack([alpha * base.vectors, *(beta * profile.values for profile in profiles)]),
        name=name or "+".join([base.name, *columns]),
        provenance={
            **base.provenance,
            "adapted": [*base.provenance.get("adapted", ()), adaptation.to_json()],
        },
        corpus=np.concatenate([base.corpus, gathered(marks[row] for row in used)]),
        counts=base.counts,
    )


def usual_alpha(base: Embedding) -> float:
    """The alpha that brings word vectors to a mean length of 0.65 about their center."""
    about_center = base.vectors.astype(np.float64) - base.null_vector
    length = float(np.linalg.norm(about_center, axis=1).mean())
    if length == 0:
        raise ParameterError(f"all words of {base.name} have one vector: give alpha yourself")
    return VECTOR_LENGTH / length


def _checked(texts: Sequence[str], labels: Labels) -> dict[str, list[str | None]]:
    """Columns as long as the corpus, blank and missing labels as None."""
    if not labels:
        raise ParameterError("name at least one column of labels")
    for column, given in labels.items():
        if isinstance(given, str) or len(given) != len(texts):
            raise ParameterError(
                f"{counted(len(texts), 'text needs', 'texts need')} as many labels; the column "
                f"{column!r} has {len(given)}"
            )
    return {
        column: [None if is_missing(label) else str(label).strip() or None for label in given]
        for column, given in labels.items()
    }


def _digest(
    texts: Sequence[str], columns: Mapping[str, Sequence[str | None]], rows: list[int]
) -> str:
    digest = hashlib.sha256(json.dumps(list(columns)).encode())
    for row in rows:
        line = json.dumps([texts[row], *(given[row] for given in columns.values())])
        digest.update(b"\n" + line.encode())
    return digest.hexdigest()
