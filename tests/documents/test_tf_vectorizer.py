"""The vectorizer: a public vocabulary, three morphologies, tf and tf-idf."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from inkblur.documents.vectorizer import Vectorizer, lemma
from inkblur.documents.wordnet import synonym_sets, synonyms
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError, InputError, MissingExtra, ParameterError
from inkblur.types import NULL_ID

WORDS = [
    *("Paris", "paris", "mouse", "mice", "go", "went", "the", "not", "3rd", "42", ",", "a.b"),
    *("mother-in-law", "doctor", "car", "auto", "café"),
]


def table(words: list[str] | None = None) -> Embedding:
    words = WORDS if words is None else words
    rng = np.random.default_rng(0)
    return Embedding(words, rng.standard_normal((len(words), 3)), name="toy")


def test_vocabulary_from_the_embedding() -> None:
    """No stop words, numbers, signs, or entries that no single word of a text could be."""
    lower = ["paris", "mouse", "mice", "go", "went", "doctor", "car", "auto", "café"]
    assert Vectorizer(table()).get_feature_names_out().tolist() == lower
    as_is = Vectorizer(table(), morphology="as-is").get_feature_names_out().tolist()
    assert as_is == ["Paris", *lower]
    lemmas = Vectorizer(table(), morphology="lemma").get_feature_names_out().tolist()
    assert lemmas == ["paris", "mouse", "go", "doctor", "car", "auto", "café"]


@pytest.mark.parametrize(
    ("morphology", "counted"),
    [
        ("as-is", {"Paris": 1, "mice": 1, "went": 1, "doctor": 1}),
        ("lower", {"paris": 2, "mice": 1, "went": 1, "doctor": 2}),
        ("lemma", {"paris": 2, "mouse": 1, "go": 1, "doctor": 2}),
    ],
)
def test_morphology(morphology: str, counted: dict[str, int]) -> None:
    vectorizer = Vectorizer(table(), morphology=morphology)
    row = vectorizer.transform(["Paris PARIS mice went; the doctor's DOCTOR, 42 xyzzy"])
    names = vectorizer.get_feature_names_out()
    assert {names[i]: int(n) for i, n in zip(row.indices, row.data, strict=True)} == counted


def test_accents_are_found_however_they_are_written() -> None:
    vectorizer = Vectorizer(table())
    row = vectorizer.transform(["CAFÉ café cafe\u0301"]).toarray()[0]
    assert row[vectorizer.embedding.id("café")] == 3


def test_it_counts_as_scikit_learn_does() -> None:
    texts = ["car car auto", "doctor", "", "mouse car xyzzy"]
    ours = Vectorizer(table())
    theirs = CountVectorizer(vocabulary=list(ours.get_feature_names_out()))
    assert (ours.transform(texts).toarray() == theirs.fit_transform(texts).toarray()).all()
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_tf_idf_comes_from_the_reference_alone() -> None:
    reference = ["car auto", "car", "doctor car", "mouse"]
    ours = Vectorizer(table(), weighting="tf-idf", reference=reference)
    theirs = TfidfVectorizer(vocabulary=list(ours.get_feature_names_out()), norm=None)
    theirs.fit(reference)
    texts = ["car doctor doctor", "auto"]
    assert ours.transform(texts).toarray() == pytest.approx(theirs.transform(texts).toarray())
    ids, shares = ours.composition(texts[0])
    assert shares.sum() == pytest.approx(1)
    assert ours.embedding.words[ids[np.argmax(shares)]] == "doctor"


def test_vocabulary_from_a_reference_corpus() -> None:
    reference = ["The car! A car.", "mice doctor"]
    assert set(Vectorizer(table(), reference=reference).embedding.words) == {
        "car",
        "mice",
        "doctor",
    }
    twice = ["car car", "auto auto", "mice"]
    assert set(Vectorizer(table(), reference=twice, min_count=2).embedding.words) == {"car", "auto"}
    with pytest.raises(EmbeddingError, match="at least 2 are needed"):
        Vectorizer(table(), reference=["car only"])


def test_a_text_without_terms_is_the_null_word() -> None:
    for text in ("", "   ", "the 42 xyzzy", "😀"):
        ids, shares = Vectorizer(table()).composition(text)
        assert ids.tolist() == [NULL_ID]
        assert shares.tolist() == [1.0]


def test_specs_tell_settings_apart() -> None:
    specs = {
        Vectorizer(table()).spec,
        Vectorizer(table(), morphology="as-is").spec,
        Vectorizer(table(), stop_words=["car"]).spec,
        Vectorizer(table(), reference=["car auto doctor"]).spec,
        Vectorizer(table(), reference=["car auto doctor"], weighting="tf-idf").spec,
        Vectorizer(table(), reference=["car auto", "doctor"], weighting="tf-idf").spec,
    }
    assert len(specs) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"morphology": "stem"}, "lemma, lower, as-is"),
        ({"weighting": "bm25"}, "tf, tf-idf"),
        ({"weighting": "tf-idf"}, "public reference corpus"),
        ({"reference": "one text"}, "not one text"),
        ({"min_count": 0}, "min_count"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Vectorizer(table(), **options)  # type: ignore[arg-type]


def test_one_text_is_not_a_list() -> None:
    with pytest.raises(ParameterError, match="not one text"):
        Vectorizer(table()).transform("car")


def test_lemmas_without_simplemma_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    lemma.cache_clear()
    with pytest.raises(MissingExtra, match=r"'\.\[lemma\]'"):
        Vectorizer(table(), morphology="lemma")


@pytest.fixture
def tiny_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    license = "  1 This is only a license line\n"
    files = {
        "noun": "00000001 06 n 03 car 0 Auto 0 motor_car 0 001 @ 1 n 0000 | a vehicle  \n",
        "verb": "00000002 30 v 01 go 1 000 | move  \n",
        "adj": "00000003 00 a 02 galore(ip) 0 mouse 0 000 | plenty  \n",
        "adv": "",
    }
    for part, text in files.items():
        (tmp_path / f"data.{part}").write_text(license + text)
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    return tmp_path


def test_wordnet_synonyms(tiny_wordnet: Path) -> None:
    assert list(synonym_sets()) == [["car", "auto"], ["go"], ["galore", "mouse"]]
    assert synonyms(["car"]) == {"auto"}
    vectorizer = Vectorizer(table(), reference=["car doctor"], synonyms=True)
    assert set(vectorizer.embedding.words) == {"car", "doctor", "auto"}


def test_wordnet_that_is_absent_or_damaged_says_so(tiny_wordnet: Path) -> None:
    (tiny_wordnet / "data.verb").write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1 of"):
        list(synonym_sets())
    (tiny_wordnet / "data.verb").unlink()
    with pytest.raises(MissingExtra, match="apt install wordnet-base"):
        Vectorizer(table(), synonyms=True)


def test_debians_wordnet() -> None:
    if not Path("/usr/share/wordnet/data.noun").is_file():
        pytest.skip("wordnet-base is not installed")
    assert {"automobile", "auto"} <= synonyms(["car"])
    assert sum(1 for _ in synonym_sets()) > 100_000
