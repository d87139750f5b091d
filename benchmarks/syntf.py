"""How long do the tight bound, the draws and a whole corpus of synthetic vectors take?

    INKBLUR_DATA=... python benchmarks/syntf.py QUESTION

    bound        30,000 x 30,000 words x 300: time and memory
    draws        terms a second once the words are known
    newsgroups   11,314 texts to vectors of length 150
    sensitivity  of the ratings over the bundled and GloVe words

Each prints wall clock and processor seconds: on a busy machine the second divided by the number of
cores says more. Nothing is kept in the cache folder between runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from inkblur import (
    Embedding,
    Exponential,
    Record,
    SyntheticVectors,
    Vectorizer,
    load_embedding,
    seeded_rng,
)
from inkblur.evaluation import (
    Bounding,
    CosineRating,
    improved_bound,
    tight_loss,
)

EPSILON = 47.5  # the paper's best, where it reports an effective loss of 25.4
LENGTH = 150
_ROWS = 512  # of ratings at a time


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the block took."""
    wall, processor = time.perf_counter(), time.process_time()
    yield
    print(
        f"{what}: {time.perf_counter() - wall:.1f} s wall, "
        f"{time.process_time() - processor:.1f} s processor",
        flush=True,
    )


def data_folder() -> Path:
    """The folder of vectors and corpora."""
    folder = os.environ.get("INKBLUR_DATA")
    if not folder:
        raise SystemExit("set INKBLUR_DATA to the folder of vectors and corpora")
    return Path(folder)


def glove(words: int | None = None) -> Embedding:
    """GloVe's commonest words."""
    stem = data_folder() / "vectors" / "glove-6b-300d"
    names = stem.with_suffix(".vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(stem.with_suffix(".npy"))
    count = len(vectors) if words is None else words
    return Embedding(names[:count], vectors[:count], name="glove")


def newsgroups() -> list[Record]:
    """The training texts without their headers."""
    records: list[Record] = []
    with tarfile.open(data_folder() / "20newsgroups" / "20news-bydate.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and "train" in member.name:
                text = file.read().decode("latin-1").partition("\n\n")[2]
                records.append(Record(str(len(records)), text))
    return records


def bound() -> None:
    """The tight loss beside the other bounds."""
    rating = CosineRating(glove(30_000))
    with timed("tight bound over 30,000 x 30,000 x 300"):
        found = tight_loss(rating, EPSILON)
    print(
        f"epsilon {EPSILON}: standard {EPSILON}, improved {improved_bound(EPSILON, 30_000):.2f}, "
        f"tight {found.loss:.2f}"
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def draws() -> None:
    """Terms a second over the bundled vocabulary, every word known."""
    mechanism = Exponential(Vectorizer(load_embedding()).embedding, epsilon=EPSILON)
    words = len(mechanism.vocabulary)
    with timed(f"first sight of {words:,} words"):
        mechanism.replace(np.arange(words), seeded_rng(1))
    ranks = np.random.default_rng(0).pareto(0.7, 2_000_000) * 20  # few words often, many seldom
    ids = np.minimum(ranks.astype(np.int64), words - 1)
    for attempt in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        mechanism.replace(ids, seeded_rng(attempt))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(
            f"{len(ids) / wall / 1e6:.2f} M terms/s wall, "
            f"{len(ids) / processor / 1e6:.2f} M terms a processor second"
        )


def corpus() -> None:
    """A whole corpus, from texts to vectors, tight bound included and apart."""
    records = newsgroups()
    with timed("vocabulary from the bundled embedding"):
        vectorizer = Vectorizer(load_embedding())
    mechanism = Exponential(vectorizer.embedding, epsilon=EPSILON)
    with timed("tight bound, once a vocabulary, rating and epsilon"):
        print(mechanism.guarantee.sentence())
    synthetic = SyntheticVectors(mechanism, vectorizer, LENGTH)
    with timed("reading the texts alone"):
        for record in records:
            vectorizer.composition(record.text)
    with timed(f"{len(records):,} texts to vectors of length {LENGTH}, reading included"):
        release = synthetic.vectors(records, seeded_rng(1))
    empty = release.counts["empty"]
    print(f"{release.vectors.shape}, {release.vectors.nnz:,} cells, {empty} without terms")


def measured_sensitivity(rating: CosineRating) -> float:
    """max over w of (max_v - min_v) rho(v, w), over all inputs and the null word: at most 1."""
    highest, lowest = np.zeros(rating.size), np.ones(rating.size)
    everything = np.arange(-1, rating.size)
    for start in range(0, len(everything), _ROWS):
        values = rating.block(everything[start : start + _ROWS], slice(0, rating.size))
        np.maximum(highest, values.max(axis=0), out=highest)
        np.minimum(lowest, values.min(axis=0), out=lowest)
    return float((highest - lowest).max())


def sensitivity() -> None:
    """What the proof takes as 1, measured."""
    for embedding in (load_embedding(), glove(30_000)):
        for bounding in Bounding:
            for bigram in (0.0, 0.3):
                rating = CosineRating(embedding, bigram=bigram, bounding=bounding)
                print(
                    f"{embedding.name} {bounding.value} s={bigram}: "
                    f"{measured_sensitivity(rating):.4f}",
                    flush=True,
                )


QUESTIONS = {
    "bound": bound,
    "draws": draws,
    "newsgroups": corpus,
    "sensitivity": sensitivity,
}


def main() -> None:
    """Answer one question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("question", choices=QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        QUESTIONS[parser.parse_args().question]()


if __name__ == "__main__":
    main()
