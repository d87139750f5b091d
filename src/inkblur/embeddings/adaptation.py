"""A metric that knows the task: word vectors beside what words say about public labels.

A label profile is what a word says about a label, learned from public labeled texts.

With n(w, l) the number of texts of label l that have the word w, n(w) their sum over labels, and
pi_l label l's share of all of them,

    odds(w, l) = log( (n(w, l) + s L pi_l) / ((n(w) + s L) pi_l) ),   profile = odds - mean over l

for L labels and smoothing s: as if every word had stood in s L more texts, of labels as they come.
A word the corpus never has is at zero exactly, and rare words lie near it.

Texts are counted, not occurrences: a text that repeats a word fifty times says no more about the
word's label than one that has it once, and no single text moves a word far.

A centered profile has one coordinate to spare. It is written in L - 1 orthonormal ones (Helmert's
matrix), which changes no distance and leaves the adapted covariance of full rank. More than 100
labels are projected onto 100 axes: the leading right singular vectors of the profiles, each word
weighted by n(w), so distances shrink as little as that many axes allow.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from inkblur.documents.analysis import known_id
from inkblur.documents.fingerprints import fingerprint_of, gathered
from inkblur.documents.tokens import written_words
from inkblur.embeddings.table import Adaptation, Embedding, LabelColumn
from inkblur.errors import ParameterError
from inkblur.types import NULL_ID, Array, Ids, counted, is_missing, positive

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_VECTOR_LENGTH = 0.65  # of alpha x vector about the center, in the mean, unless alpha is given
_MOST_DIMENSIONS = 100  # of one column's profile
_MOST_LABELS = 5_000  # of one column: a table of that many squared must fit in memory
_ROWS = 1 << 12  # words whose profiles are dense at a time

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
    centered log-odds of the labels given the word; several columns' profiles stand one after the
    other, each times beta, so squared distances add. The result is an ordinary embedding: a
    mechanism over it keeps its own guarantee, in this adapted metric, and names what the metric
    blurs less on purpose.

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
    if alpha is None:
        about_center = base.vectors.astype(np.float64) - base.null_vector
        length = float(np.linalg.norm(about_center, axis=1).mean())
        if length == 0:
            raise ParameterError(f"all words of {base.name} have one vector: give alpha yourself")
        alpha = _VECTOR_LENGTH / length
    alpha = positive(alpha, "alpha")
    beta = positive(beta, "beta")
    smoothing = positive(smoothing, "smoothing")
    if isinstance(texts, str):
        raise ParameterError("the corpus is a list of texts, not one text")
    corpus = list(texts)
    columns = _checked(corpus, labels)
    documents: list[Ids] = []  # the distinct words of each that the table knows, rising
    marks = []
    for text in corpus:
        written = written_words(text)
        known = {known_id(base, word) for word in set(written)} - {NULL_ID}
        documents.append(np.array(sorted(known), dtype=np.int64))
        marks.append(fingerprint_of(written))
    if not any(len(ids) for ids in documents):
        raise ParameterError(
            f"no text of the corpus has a word that {base.name} knows; are they in one language?"
        )
    profiles: list[Array] = []
    told: list[LabelColumn] = []
    seen: set[int] = set()
    for name_of_column, given in columns.items():
        names, table = _count(name_of_column, documents, given, len(base))
        rows = np.flatnonzero(np.diff(table.indptr)).astype(np.int64)
        axes, reduction = _axes(table, rows, smoothing)
        values = np.zeros((len(base), axes.shape[1]))
        for part, odds in _blocks(table, rows, smoothing):
            values[part] = odds @ axes
        profiles.append(beta * values)
        told.append(LabelColumn(name_of_column, names, axes.shape[1], reduction))
        seen.update(rows.tolist())
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
        words=len(seen),
        columns=tuple(told),
        alpha=alpha,
        beta=beta,
        smoothing=smoothing,
    )
    return Embedding(
        base.words,
        np.hstack([alpha * base.vectors, *profiles]),
        name=name or "+".join([base.name, *columns]),
        provenance={
            **base.provenance,
            "adapted": [*base.provenance.get("adapted", ()), adaptation.to_json()],
        },
        corpus=np.concatenate([base.corpus, gathered(marks[row] for row in used)]),
        counts=base.counts,
    )


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


def _count(
    column: str, documents: Sequence[Ids], labels: Sequence[str | None], words: int
) -> tuple[dict[str, int], csr_matrix]:
    """Texts of each label, and n(w, l), texts of label l that have the word w: (words, labels).

    `documents` holds each text's distinct words. A text without a label or a word teaches nothing.
    """
    from scipy.sparse import coo_matrix

    rows = [i for i, label in enumerate(labels) if label is not None and len(documents[i])]
    texts = Counter(str(labels[i]) for i in rows)
    names = sorted(texts)
    if len(names) < 2:
        raise ParameterError(
            f"the column {column!r} has {counted(len(names), 'label')} on texts with a known word; "
            "at least 2 are needed: with one there is nothing to say about it"
        )
    if len(names) == len(rows):
        raise ParameterError(
            f"the column {column!r} has another label on each of its {counted(len(rows), 'text')}, "
            "as ids have; choose a column whose labels name groups of texts"
        )
    if len(names) > _MOST_LABELS:
        raise ParameterError(
            f"the column {column!r} has {len(names):,} labels, the most is {_MOST_LABELS:,}; join "
            "rare ones into one"
        )
    number = {name: place for place, name in enumerate(names)}
    at = np.concatenate([documents[i] for i in rows])
    to = np.repeat([number[str(labels[i])] for i in rows], [len(documents[i]) for i in rows])
    table = coo_matrix((np.ones(len(at)), (at, to)), (words, len(names)))
    return {name: texts[name] for name in names}, table.tocsr()  # adds up what shares a cell


def _blocks(table: csr_matrix, seen: Ids, smoothing: float) -> Iterator[tuple[Ids, Array]]:
    """Some seen words at a time with their centered log-odds, (block, labels)."""
    count = table.shape[1]
    share = np.asarray(table.sum(axis=0), np.float64).ravel() / table.sum()
    for start in range(0, len(seen), _ROWS):
        part = seen[start : start + _ROWS]
        found = table[part].toarray()
        total = found.sum(axis=1, keepdims=True)
        odds = np.log(
            (found + smoothing * count * share) / ((total + smoothing * count) * share[None, :])
        )
        yield part, odds - odds.mean(axis=1, keepdims=True)


def _axes(table: csr_matrix, seen: Ids, smoothing: float) -> tuple[Array, str]:
    """Orthonormal axes for profiles, (labels, dimensions), and what they are."""
    from scipy.linalg import eigh, helmert

    labels = table.shape[1]
    if labels <= _MOST_DIMENSIONS:
        size = counted(labels - 1, "dimension")
        return helmert(labels).T, f"none: {labels} centered labels need {size}"
    weights = np.asarray(table.sum(axis=1), np.float64).ravel()
    gram = np.zeros((labels, labels))
    for part, odds in _blocks(table, seen, smoothing):
        gram += odds.T @ (odds * weights[part, None])
    values, vectors = eigh(gram)
    kept = vectors[:, ::-1][:, :_MOST_DIMENSIONS]
    kept = kept * np.where(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])] < 0, -1, 1)
    share = values[-_MOST_DIMENSIONS:].sum() / values.sum()
    return kept, (
        f"{labels} labels projected onto {_MOST_DIMENSIONS} axes by truncated SVD of the profiles, "
        f"words weighted by their texts: {share:.1%} of the weighted squares are kept"
    )
