"""Is a release of private texts with labels worth more than the public ones it was made with?

SMS spam and disaster tweets in three parts: public texts with labels, private texts, and originals
to score on. What learns is logistic regression on tf-idf, all labels weighted alike; macro F1 on
held-out originals, the mean and range of three splits. It learns from the private texts as they
are, from the public texts alone, from what is released of the private ones, and from both. Needs
the folder that INKBLUR_DATA names, and four minutes:

    python -m benchmarks.public_alone [sms|tweets]...
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

import inkblur
from inkblur.evaluation import content_words, releaser, words_of
from reproduction.corpora import Corpus, disaster_tweets, sms_spam

SEEDS = (1, 2, 3)
PARTS = (0.4, 0.8)  # public, private, and the rest is scored on
CORPORA = {"sms": sms_spam, "tweets": disaster_tweets}
Labeled = tuple[Sequence[str], Sequence[str]]


def main(names: Sequence[str]) -> None:
    """Print a line for everything that can be learned from."""
    for name in names or CORPORA:
        corpus = CORPORA[name]()
        found: dict[str, list[float]] = {}
        for seed in SEEDS:
            for what, score in scores(corpus, seed):
                found.setdefault(what, []).append(score)
        for what, each in found.items():
            span = f"{min(each):.3f} to {max(each):.3f}"
            print(f"{name}, {what}: {np.mean(each):.3f} ({span})", flush=True)


def scores(corpus: Corpus, seed: int) -> Iterator[tuple[str, float]]:
    """What is learned from, and how well."""
    public, private, held = parts(corpus, seed)
    yield "private texts as they are", f1(private, held)
    yield "public texts alone", f1(public, held)
    for what, released in releases(public, private, seed):
        yield what, f1((released, private[1]), held)
        yield (
            f"{what}, and the public texts",
            f1(([*released, *public[0]], [*private[1], *public[1]]), held),
        )


def what_counts(text: str) -> list[str]:
    """By which a release tells whether a text is public: its content words, or else its words."""
    return content_words(text) or words_of(text)


def parts(corpus: Corpus, seed: int) -> list[Labeled]:
    """Public, private and held-out texts with labels; no public text is among the others."""
    assert corpus.labels is not None
    order = np.random.default_rng(seed).permutation(len(corpus))
    found: list[Labeled] = []
    for rows in np.split(order, [round(part * len(corpus)) for part in PARTS]):
        part = corpus.rows(rows.tolist())
        if found:  # releases refuse those: what was learned from a text cannot protect it
            public = {tuple(what_counts(text)) for text in found[0][0]}
            fresh = [tuple(what_counts(text)) not in public for text in part.texts]
            part = part.rows(np.flatnonzero(fresh).tolist())
        found.append((part.texts, part.labels or ()))
    return found


def releases(public: Labeled, private: Labeled, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Releases of the private texts, word by word and through a pool of the public ones."""
    table, rng = inkblur.load_embedding(), inkblur.seeded_rng(seed)
    adapted = inkblur.adapt_embedding(table.first(10_000), *public_of(public))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "public.pool")
        pool = inkblur.build_pool(public[0], table, labels=public[1], name="public")
        inkblur.write_pool(path, pool)
        for what, spec, vectors in (
            ("staircase 8", inkblur.ReleaseSpec("staircase", 8.0), table),
            *(
                (
                    f"near label, epsilon {epsilon:g}",
                    inkblur.ReleaseSpec("staircase", epsilon, parameters={"near": "label"}),
                    adapted,
                )
                for epsilon in (2.0, 5.5)
            ),
            *(
                (
                    f"pool, epsilon {epsilon:g}",
                    inkblur.ReleaseSpec(epsilon=epsilon, unit="text", pool=str(path)),
                    table,
                )
                for epsilon in (2.0, 3.0, 4.0)
            ),
        ):
            yield what, list(releaser(spec, vectors).release(private[0], rng.child(what)).texts)


def public_of(public: Labeled) -> tuple[Sequence[str], dict[str, Sequence[str]]]:
    """As `adapt_embedding` takes them."""
    return public[0], {"label": public[1]}


def f1(learned: Labeled, held: Labeled) -> float:
    """Macro F1 on held-out originals."""
    model = make_pipeline(
        TfidfVectorizer(), LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000)
    )
    model.fit(*learned)
    return float(f1_score(held[1], model.predict(held[0]), average="macro"))


if __name__ == "__main__":
    main(sys.argv[1:])
