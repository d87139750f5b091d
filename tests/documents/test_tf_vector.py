"""Synthetic vectors: Algorithm 1, its law by enumeration, its replay and its files."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from scipy import stats
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from inkblur.documents.tf_vector import SyntheticVectors, VectorRelease, pick
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import OutputError, ParameterError, PrivateCalibration
from inkblur.files.vectors import write_vectors
from inkblur.guarantees import SEEDED, Guarantee
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.loss import tight_loss
from inkblur.mechanisms.staircase import Staircase
from inkblur.rng import keyed_rng, seeded_rng
from inkblur.sklearn import TextPrivatizer
from inkblur.types import Record, Unit

WORDS = ["cat", "dog", "sky"]
KEY = bytes(range(32))


MECHANISMS: list[type[Exponential] | type[Staircase]] = [Exponential, Staircase]


def synthetic(
    length: int = 30,
    epsilon: float = 6.0,
    words: int = 3,
    made: type[Exponential] | type[Staircase] = Exponential,
) -> SyntheticVectors:
    rng = np.random.default_rng(2)
    names = WORDS + [f"{a}{b}x" for a, b in itertools.product("bcdfg", "aeiou")]
    embedding = Embedding(names[:words], rng.standard_normal((words, 4)), name="random")
    vectorizer = Vectorizer(embedding)
    return SyntheticVectors(made(vectorizer.embedding, epsilon=epsilon), vectorizer, length)


def records(*texts: str) -> list[Record]:
    return [Record(str(i), text) for i, text in enumerate(texts)]


TEXTS = ("cat cat dog", "", "nothing known 42 here", "SKY! sky, dog's", "the of and")


@pytest.mark.parametrize("length", [1, 7, 150])
def test_every_document_gives_exactly_n_terms(length: int) -> None:
    release = synthetic(length).vectors(records(*TEXTS), keyed_rng(KEY))
    assert release.vectors.shape == (5, 3)
    assert release.vectors.dtype == np.int64
    assert np.asarray(release.vectors.sum(axis=1)).ravel().tolist() == [length] * 5
    assert release.ids == ("0", "1", "2", "3", "4")
    assert release.counts["without known terms"] == 3


@pytest.mark.parametrize("made", MECHANISMS)
def test_counts_follow_the_law_of_algorithm_1(made: type[Exponential] | type[Staircase]) -> None:
    """Frequencies of a long vector against theta times the table of probabilities."""
    subject = synthetic(200_000, epsilon=3.0, words=12, made=made)
    texts = ("cat cat dog", "")
    release = subject.vectors(records(*texts), seeded_rng(4))
    table = subject.mechanism.probabilities(np.array([0, 1, -1]))
    laws = [table[0] * 2 / 3 + table[1] / 3, table[2]]
    for row, law in enumerate(laws):
        counts = release.vectors[[row]].toarray()[0]
        assert stats.chisquare(counts, law * 200_000).pvalue > 1e-4


@pytest.mark.parametrize("made", MECHANISMS)
def test_no_pair_of_documents_beats_the_bound_by_enumeration(
    made: type[Exponential] | type[Staircase],
) -> None:
    """Every vector of 3 terms over 3 words, from every pair of these documents."""
    subject = synthetic(3, epsilon=12.0, made=made)
    bound = subject.guarantee.loss(distance=1)
    laws = []
    for text in (*TEXTS, "cat", "dog", "sky"):
        ids, shares = subject.vectorizer.composition(text)
        term = shares @ subject.mechanism.probabilities(ids)
        law: dict[tuple[int, ...], float] = {}
        for drawn in itertools.product(range(3), repeat=3):
            vector = tuple(drawn.count(w) for w in range(3))
            law[vector] = law.get(vector, 0.0) + math.prod(float(term[w]) for w in drawn)
        assert math.fsum(law.values()) == pytest.approx(1)
        laws.append(law)
    losses = [abs(math.log(a[v] / b[v])) for a in laws for b in laws for v in a]
    assert max(losses) <= bound * (1 + 1e-12)
    assert max(losses) > 0.5 * bound


def test_the_two_documents_of_section_3_4_2_attain_the_bound() -> None:
    subject = synthetic(4, epsilon=12.0, words=10)
    assert isinstance(subject.mechanism, Exponential)
    everything = subject.mechanism.probabilities(np.arange(-1, 10))
    output = int((everything.max(axis=0) / everything.min(axis=0)).argmax())
    chances = []
    for place in (everything[:, output].argmax(), everything[:, output].argmin()):
        word = int(place) - 1
        text = subject.mechanism.vocabulary[word] if word >= 0 else ""
        ids, shares = subject.vectorizer.composition(text)
        term = shares @ subject.mechanism.probabilities(ids)
        chances.append(float(term[output]) ** 4)  # the vector that is 4 times this word
    ratio = math.log(chances[0] / chances[1])
    assert ratio == pytest.approx(subject.guarantee.loss(distance=1), rel=1e-8)


def test_guarantee_is_n_times_the_words() -> None:
    subject = synthetic(150)
    guarantee = subject.vectors(records("cat"), keyed_rng(KEY)).guarantee
    assert guarantee.unit is Unit.VECTOR
    assert guarantee.size == 150
    assert guarantee.passed == ()  # nothing is shown, the length least of all
    assert guarantee.loss(distance=1) == pytest.approx(150 * subject.mechanism.guarantee.epsilon)
    assert "any two documents" in guarantee.sentence()
    assert subject.vectors(records("cat"), seeded_rng(1)).guarantee.void == SEEDED


def test_the_tight_bound_is_computed_when_asked_for_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def counted(rating: Any, epsilon: float, fingerprint: str) -> float:
        asked.append(epsilon)
        return tight_loss(rating, epsilon)

    monkeypatch.setattr("inkblur.mechanisms.exponential.remembered_loss", counted)
    subject = synthetic(20)
    releases = [subject.vectors(records("cat"), keyed_rng(key)) for key in (KEY, bytes(32))]
    assert asked == []
    stated = [release.guarantee for release in releases for _ in range(2)]
    assert asked == [6.0]
    assert stated == [subject.guaranteed(keyed_rng(KEY))] * 4
    assert "promise" not in repr(releases[0])


def test_a_pickled_release_keeps_its_guarantee_and_no_key() -> None:
    release = synthetic(20).vectors(records("cat"), keyed_rng(KEY))
    stored = pickle.dumps(release)
    assert KEY not in stored
    back = pickle.loads(stored)
    assert not back.counts  # they are of the true texts
    assert back.guarantee == release.guarantee
    assert same(back, release)
    assert (back.ids, back.vocabulary) == (release.ids, release.vocabulary)


def equal(left: Any, right: Any) -> bool:
    return np.array_equal(left.toarray(), right.toarray())


def same(left: VectorRelease, right: VectorRelease) -> bool:
    return equal(left.vectors, right.vectors)


def test_a_key_replays_in_any_batch() -> None:
    subject = synthetic(50, words=20)
    everything = records(*TEXTS)
    whole = subject.vectors(everything, keyed_rng(KEY))
    assert same(synthetic(50, words=20).vectors(everything, keyed_rng(KEY)), whole)
    for i, record in enumerate(everything):
        alone = subject.vectors([record], keyed_rng(KEY)).vectors
        assert equal(alone, whole.vectors[[i]])
    assert not same(subject.vectors(everything, keyed_rng(bytes(32))), whole)


def test_different_ids_texts_and_settings_share_no_noise() -> None:
    key = keyed_rng(KEY)
    first = synthetic(500, words=20).vectors([Record("a", "")], key).vectors
    for other in (
        synthetic(500, words=20).vectors([Record("b", "")], key),
        synthetic(500, words=20).vectors([Record("a", "42")], key),
        synthetic(500, epsilon=6.001, words=20).vectors([Record("a", "")], key),
    ):
        assert not equal(other.vectors, first)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = synthetic(9).vectors(records(*TEXTS), keyed_rng(KEY))
    monkeypatch.setattr("inkblur.documents.tf_vector._DRAWS", 10)
    assert same(synthetic(9).vectors(records(*TEXTS), keyed_rng(KEY)), whole)


def test_no_documents() -> None:
    assert synthetic().vectors([], keyed_rng(KEY)).vectors.shape == (0, 3)


def test_pick_reaches_the_first_and_the_last() -> None:
    ids = np.array([5, 8, 9])
    shares = np.array([0.25, 0.5, 0.25])
    uniforms = np.array([1e-16, 0.24, 0.26, 0.74, 0.76, 1.0])
    assert pick(ids, shares, uniforms).tolist() == [5, 5, 8, 8, 9, 9]


@pytest.mark.parametrize("length", [0, -3, 2.5])
def test_length_must_be_positive(length: int) -> None:
    with pytest.raises(ParameterError, match="length must be a whole number"):
        synthetic(length)


def test_mechanism_and_vocabulary_must_fit() -> None:
    subject = synthetic()
    with pytest.raises(ParameterError, match=r"vectorizer\.embedding"):
        SyntheticVectors(synthetic(words=5).mechanism, subject.vectorizer, 10)
    noisy = Laplace(subject.vectorizer.embedding, epsilon=1.0)
    with pytest.raises(ParameterError, match="exponential"):
        SyntheticVectors(noisy, subject.vectorizer, 10)  # type: ignore[arg-type]


def test_protecting_the_reference_corpus_is_refused() -> None:
    embedding = Embedding(WORDS, np.eye(3), name="toy")
    vectorizer = Vectorizer(embedding, reference=["cat dog", "sky  cat\n"])
    subject = SyntheticVectors(Exponential(vectorizer.embedding, epsilon=1.0), vectorizer, 5)
    with pytest.raises(PrivateCalibration, match="record 1"):
        subject.vectors(records("dog", "sky cat"), keyed_rng(KEY))
    subject.vectors(records("dog", "sky cat dog", ""), keyed_rng(KEY))


@pytest.mark.parametrize("suffix", ["npz", "parquet", "jsonl"])
def test_files(tmp_path: Path, suffix: str) -> None:
    subject = synthetic(20)
    release = subject.vectors(records(*TEXTS), keyed_rng(KEY))
    path = tmp_path / f"out.{suffix}"
    write_vectors(
        path,
        release.vectors,
        vocabulary=release.vocabulary,
        ids=release.ids,
        guarantee=release.guarantee,
    )
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    dense = release.vectors.toarray()
    wanted = [
        {WORDS[j]: int(count) for j, count in enumerate(row) if count} for row in dense.tolist()
    ]
    if suffix == "npz":
        assert equal(scipy.sparse.load_npz(path), release.vectors)
        with np.load(path, allow_pickle=False) as held:
            assert tuple(held["vocabulary"].tolist()) == release.vocabulary
            assert tuple(held["ids"].tolist()) == release.ids
            stated = json.loads(str(held["guarantee"]))
        assert Guarantee.from_json(stated) == release.guarantee
    elif suffix == "parquet":
        table = pq.read_table(path).to_pydict()
        assert table["id"] == list(release.ids)
        pairs = zip(table["words"], table["counts"], strict=True)
        assert [dict(zip(w, c, strict=True)) for w, c in pairs] == wanted
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["counts"] for line in lines] == wanted
        assert [line["id"] for line in lines] == list(release.ids)


def test_bad_outputs_leave_nothing(tmp_path: Path) -> None:
    release = synthetic(5).vectors(records("cat"), keyed_rng(KEY))
    rest = {"vocabulary": release.vocabulary, "ids": release.ids, "guarantee": release.guarantee}
    for name, message in (("x.csv", r"\.npz"), ("no/x.npz", "no such folder")):
        with pytest.raises(OutputError, match=message):
            write_vectors(tmp_path / name, release.vectors, **rest)  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="that shape"):
        write_vectors(tmp_path / "x.npz", release.vectors, **{**rest, "ids": ()})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_it_stands_in_a_scikit_learn_pipeline() -> None:
    subject = synthetic(60, epsilon=30.0)
    fixed: dict[str, Any] = {"privatizer": subject, "accept_weak": True}
    blur = TextPrivatizer(**fixed, key=KEY)
    texts = ["cat dog cat", "dog cat", "sky", "sky sky"] * 5
    labels = ["pet", "pet", "air", "air"] * 5
    model = make_pipeline(clone(blur), MultinomialNB()).fit(texts, labels)
    assert (model.predict(texts) == labels).mean() > 0.8
    assert blur.get_feature_names_out().tolist() == WORDS
    assert equal(blur.transform(texts), blur.fit(["sky"]).transform(texts))
    assert blur.guarantee.private
    fresh = TextPrivatizer(**fixed)
    assert not equal(fresh.transform(texts), fresh.transform(texts))
    seeded = TextPrivatizer(**fixed, seed=3)
    assert not seeded.guarantee.private
