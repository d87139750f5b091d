"""How near a word and what replaces it are, at settings whose risk `strengths.py` measured.

    INKBLUR_DATA=... python tools/bundled/cosines.py

100 texts of C50, two an author; words that the table lacks, numbers and names on the list are left
out. A line for each setting: mean cosine of content words, and of all words.
"""

from __future__ import annotations

import numpy as np

import inkblur
from inkblur.evaluation.measures.recovered import Kind, true_words
from inkblur.types import NULL_ID
from reproduction.corpora import reuters_c50

SEED = 20_261_116
SETTINGS = (
    ("staircase", 4.5),
    ("mahalanobis", 50.0),
    ("staircase", 7.0),
    ("staircase", 8.0),
    ("mahalanobis", 60.0),
    ("exponential", 18.0),
)


def main() -> None:
    """Release the words and compare."""
    table = inkblur.load_embedding()
    vectors = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    texts = reuters_c50().test.first_of_each_author(2).texts
    blur = inkblur.ReleaseSpec(*SETTINGS[0]).privatizer(table)
    found = [true_words(text, blur) for text in texts]
    ids = np.concatenate([each.ids for each in found])
    content = np.concatenate([each.kinds for each in found]) != Kind.STOP_WORD
    ids, content = ids[ids != NULL_ID], content[ids != NULL_ID]
    print(f"{len(ids):,} words, {content.sum():,} of them content words")
    for name, epsilon in SETTINGS:
        mechanism = inkblur.ReleaseSpec(name, epsilon).mechanism_on(table)
        out = mechanism.replace(ids, inkblur.seeded_rng(SEED).child(name, f"{epsilon:g}"))
        cosines = np.einsum("ij,ij->i", vectors[ids], vectors[out])
        print(f"{name} {epsilon:g}: {cosines[content].mean():.3f} / {cosines.mean():.3f}")


if __name__ == "__main__":
    main()
