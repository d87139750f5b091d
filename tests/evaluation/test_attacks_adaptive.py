"""The adaptive attacker: learns from blurred texts, and so sees through what only disguises."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pytest
from numpy.typing import ArrayLike

import inkblur
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks import Adaptive, Koppel, attribute, blurring
from inkblur.mechanisms.exponential import Exponential
from inkblur.types import Ids


class Memory:
    """Keeps what it was shown."""

    name = "memory"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        self.texts, self.authors = list(texts), np.asarray(authors).tolist()
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        return np.zeros(len(texts), np.int64)


def caesar(texts: Sequence[str]) -> list[str]:
    """Disguises every letter and protects nobody."""
    return ["".join(chr(ord(c) + 1) if c.isalpha() else c for c in text) for text in texts]


def test_sees_through_a_disguise_that_fools_the_clean_attack() -> None:
    known = ["whilst colour favour honour", "while color favor honor"]
    unknown = caesar(["my favour, whilst the colour", "my favor, while the color"] * 5)
    truth = [0, 1] * 5
    clean = Koppel(seed=0).fit(known, [0, 1])
    adaptive = Adaptive(Koppel(seed=0), caesar).fit(known, [0, 1])
    assert attribute(clean, unknown, truth, known=[0, 1]).accuracy <= 0.5
    assert attribute(adaptive, unknown, truth, known=[0, 1]).accuracy == 1.0
    assert adaptive.name == "adaptive-koppel-ruzicka"


def test_every_copy_has_fresh_noise_and_the_seed_repeats_it(toy: Embedding) -> None:
    privatizer = Privatizer(inkblur.Laplace(toy, epsilon=1.0))
    texts = [" ".join(toy.words[:20]), " ".join(toy.words[20:40])]
    seen = []
    for seed in (1, 1, 2):
        attack = Memory()
        rng = inkblur.seeded_rng(seed)
        Adaptive(attack, blurring(privatizer, rng), copies=3).fit(texts, [0, 1])
        assert attack.authors == [0, 1] * 3
        assert len(set(attack.texts)) == 6
        assert not set(attack.texts) & set(texts)
        seen.append(attack.texts)
    assert seen[0] == seen[1] != seen[2]


def test_vectors_are_written_out(toy: Embedding) -> None:
    vectorizer = Vectorizer(toy)
    mechanism = Exponential(vectorizer.embedding, epsilon=5.0)
    release = SyntheticVectors(mechanism, vectorizer, length=12)
    texts = blurring(release, inkblur.seeded_rng(3))([" ".join(toy.words[:5]), ""])
    assert [len(text.split()) for text in texts] == [12, 12]
    assert set(" ".join(texts).split()) <= set(toy.words)


def test_a_blur_that_loses_texts_and_bad_corpora_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 texts were blurred into 1"):
        Adaptive(Memory(), lambda texts: texts[:1]).fit(["a", "b"], [0, 1])
    with pytest.raises(ParameterError, match="at least 2 authors"):
        Adaptive(Memory(), caesar).fit(["a", "b"], [0, 0])
    with pytest.raises(ParameterError, match="copies"):
        Adaptive(Memory(), caesar, copies=0)
