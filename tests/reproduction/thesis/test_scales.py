"""Scales carried over to longer vectors, and forms that agree with the library's own."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from reproduction.newsgroups import bare
from reproduction.thesis.document_forms import Forms, topic_words
from reproduction.thesis.published import FORMS
from reproduction.thesis.scales import WORD2VEC_NORM, NoiseScale, obfuscation, scale_on


def test_noise_grows_with_the_vectors_so_that_the_ratio_stays() -> None:
    rows = np.eye(3, dtype=np.float32) * 2 * WORD2VEC_NORM
    table = Embedding(["a", "b", "c"], rows, name="toy")
    assert scale_on(table, 0.2, NoiseScale.AS_PRINTED) == 0.2
    assert scale_on(table, 0.2, NoiseScale.EQUAL_RATIO) == pytest.approx(0.4)
    setting = obfuscation(table, 0.2, NoiseScale.EQUAL_RATIO)
    assert setting.mechanism == "component-laplace"
    assert setting.epsilon == pytest.approx(2.5)


def test_forms_hold_content_words_and_the_best_of_them() -> None:
    texts = ["The red cat sat.", "Blue sky and red sky!", "A cat, a dog; a sky.", ""]
    labels = ["pets", "weather", "pets", "weather"]
    made = Forms(texts, labels, {"red", "cat", "sat", "blue", "sky", "dog"}).of(texts)
    assert tuple(made) == FORMS
    assert made["raw"] == texts
    for form in FORMS[1:]:
        assert made[form] == ["red cat sat", "blue sky red sky", "cat dog sky", ""]


def test_topic_words_rank_by_chi_squared() -> None:
    """Sum over labels of (O - E)^2 / E, E the word's count times the share of texts of the label."""
    rng = np.random.default_rng(4)
    words = [f"zq{chr(97 + i)}" for i in range(8)]
    documents = [[str(w) for w in rng.choice(words, rng.integers(1, 9))] for _ in range(40)]
    labels = [str(x) for x in rng.integers(0, 3, 40)]

    def score(word: str) -> float:
        total = sum(document.count(word) for document in documents)
        found = 0.0
        for label in set(labels):
            mine = [d for d, held in zip(documents, labels, strict=True) if held == label]
            expected = total * len(mine) / len(documents)
            found += (sum(d.count(word) for d in mine) - expected) ** 2 / expected
        return found

    ranked = topic_words([" ".join(document) for document in documents], labels)
    assert ranked == sorted(words, key=lambda word: -score(word))


def test_words_without_a_vector_leave_every_form_but_raw() -> None:
    texts, labels = ["a red cat", "the blue sky"], ["pets", "weather"]
    made = Forms(texts, labels, {"red", "sky"}).of(["red cat, blue sky"])
    assert made.pop("raw") == ["red cat, blue sky"]
    assert set(map(tuple, made.values())) == {("red sky",)}


def test_postings_lose_who_sent_them() -> None:
    from reproduction.corpora import Corpus

    corpus = Corpus("made", ("From: kim@example.org\n\nHello there.\n",), None, ("misc",))
    assert "kim" not in bare(corpus).texts[0]
