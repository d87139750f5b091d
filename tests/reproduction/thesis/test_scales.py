"""Scales carried over to longer vectors, and forms that agree with the library's own."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.preprocessing import make_form
from reproduction.newsgroups import bare
from reproduction.thesis.document_forms import Forms
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


def test_forms_are_those_of_the_evaluation() -> None:
    texts = ["The red cat sat.", "Blue sky and red sky!", "A cat, a dog; a sky.", ""]
    labels = ["pets", "weather", "pets", "weather"]
    made = Forms(texts, labels, {"red", "cat", "sat", "blue", "sky", "dog"}).of(texts)
    assert tuple(made) == FORMS
    for form in FORMS:
        assert made[form] == make_form(form).fit(texts, labels).transform(texts)


def test_words_without_a_vector_leave_every_form_but_raw() -> None:
    texts, labels = ["a red cat", "the blue sky"], ["pets", "weather"]
    made = Forms(texts, labels, {"red", "sky"}).of(["red cat, blue sky"])
    assert made.pop("raw") == ["red cat, blue sky"]
    assert set(map(tuple, made.values())) == {("red sky",)}


def test_postings_lose_who_sent_them() -> None:
    from reproduction.corpora import Corpus

    corpus = Corpus("made", ("From: kim@example.org\n\nHello there.\n",), None, ("misc",))
    assert "kim" not in bare(corpus).texts[0]
