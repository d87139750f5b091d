"""An adapted embedding is guarded: its own texts are refused, its guarantees say what they show.

Every mechanism of the catalogue, every door that releases documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur import Privatizer
from inkblur.documents import analysis, tokens
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.tokens import Token, tokenize
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, PrivateCalibration
from inkblur.files import open_sink, open_source
from inkblur.files.vectors import run_vectors
from inkblur.guarantees import Guarantee, compose
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.release import Release
from inkblur.rng import secure_rng, seeded_rng
from inkblur.sklearn import TextPrivatizer
from inkblur.types import Record
from tests.files.releasing import run
from tests.laws.catalogue import ALL, PRIVATE, VECTOR, label, make
from tests.laws.densities import log_density

CORPUS = ["wordaa wordab", "wordab wordac 7", "wordba wordbb", "wordbb wordbc", "wordca wordaa"]
TOPICS = ["one", "one", "two", "two", "three"]
OTHERS = ["wordaa", "wordab wordaa", "wordca", "", "12 !?", "unheard of"]
Setting = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def adapted(toy: Embedding) -> Embedding:
    return adapt_embedding(toy, CORPUS, {"topic": TOPICS}, alpha=1.0, smoothing=0.5)


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_every_mechanism_refuses_a_text_of_the_corpus(setting: Setting, adapted: Embedding) -> None:
    mechanism = make(setting, adapted, 2.0)
    for release in ("sequence", "bag"):
        blur = Privatizer(mechanism, release=release)
        for text in (*CORPUS, CORPUS[1].upper(), f"  The {CORPUS[0]}!"):
            with pytest.raises(PrivateCalibration, match="the text has the same content words as"):
                blur.release(text, secure_rng())
            with pytest.raises(PrivateCalibration, match="record b has the same content"):
                blur.release_batch([Record("a", ""), Record("b", text)], seeded_rng(1))
        for text in OTHERS:
            blur.release(text, secure_rng())


@pytest.mark.parametrize("text", CORPUS)
def test_every_door_refuses_a_text_of_the_corpus(
    text: str, adapted: Embedding, tmp_path: Path
) -> None:
    mechanism = Laplace(adapted, epsilon=2.0)
    with pytest.raises(PrivateCalibration):
        TextPrivatizer(privatizer=Privatizer(mechanism), seed=1).transform([*OTHERS, text])
    vectorizer = Vectorizer(adapted)
    exponential = Exponential(vectorizer.embedding, epsilon=2.0)
    synthetic = SyntheticVectors(exponential, vectorizer, 5)
    with pytest.raises(PrivateCalibration):
        synthetic.vectors([Record("0", text)], seeded_rng(1))
    with pytest.raises(PrivateCalibration):
        TextPrivatizer(privatizer=synthetic, seed=1).transform([text])
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text("\n".join(["wordaa", text, "wordab"]) + "\n")
    with (
        pytest.raises(PrivateCalibration, match="line 2 has the same"),
        open_source(path) as source,
        open_sink(str(out), source) as sink,
    ):
        run(source, sink, Privatizer(mechanism), secure_rng())
    with pytest.raises(PrivateCalibration), open_source(path) as source:
        run_vectors(Release(synthetic, secure_rng()), source, str(tmp_path / "out.jsonl"))
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]  # and nothing is left behind
    synthetic.vectors([Record(str(i), other) for i, other in enumerate(OTHERS)], seeded_rng(1))


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_every_guarantee_names_the_adapted_metric_and_the_corpus(
    setting: Setting, adapted: Embedding, toy: Embedding
) -> None:
    (told,) = adapted.adaptations
    mechanism = make(setting, adapted, 0.3)
    for guarantee in (mechanism.guarantee, Privatizer(mechanism, release="bag").guarantee):
        sentence = guarantee.statement()
        metric = "[1 x word vector of toy ; 3 x profile of 3 labels 'topic']"
        for part in (metric, "on purpose", "and so is whatever goes with it."):
            assert part in sentence
        assert told.corpus_sha256[:12] in sentence
        assert told.assumption in guarantee.assumptions
        assert (told.assumption in sentence) == guarantee.private
        body = json.loads(json.dumps(guarantee.to_json()))
        assert body["reveals"] == [told.reveals]
        assert Guarantee.from_json(body) == guarantee
        assert compose([guarantee] * 3).reveals == guarantee.reveals
    plain = make(setting, toy, 0.3).guarantee
    assert plain.reveals == ()
    assert "on purpose" not in plain.statement()


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_a_table_that_forgot_its_corpus_promises_nothing(
    setting: Setting, adapted: Embedding
) -> None:
    mechanism = make(setting, adapted.unguarded(), 0.3)
    assert not mechanism.guarantee.private
    assert "no longer knows which texts" in mechanism.guarantee.statement()
    free = Privatizer(mechanism).release_batch([Record("a", CORPUS[0])], seeded_rng(1))
    guarded = Privatizer(make(setting, adapted, 0.3))
    with pytest.raises(PrivateCalibration):
        guarded.release_batch([Record("a", CORPUS[0])], seeded_rng(1))
    assert len(free.texts) == 1


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_adapting_again_gives_no_promise_back(setting: Setting, adapted: Embedding) -> None:
    other, tone = ["wordaa wordbd", "wordbe", "wordbf"], {"tone": ["loud", "quiet", "loud"]}
    again = adapt_embedding(adapted.unguarded(), other, tone, smoothing=0.5)
    assert again.corpus.size
    for table in (again, again.restricted(again.words[:30], origin="a list")):
        guarantee = make(setting, table, 0.3).guarantee
        assert not guarantee.private
        assert "no longer knows which texts" in guarantee.statement()


def test_a_plain_table_has_no_corpus_to_forget(toy: Embedding) -> None:
    assert Laplace(toy.unguarded(), epsilon=1.0).guarantee.private
    later = adapt_embedding(toy.unguarded(), CORPUS, {"topic": TOPICS}, alpha=1.0, smoothing=0.5)
    assert Laplace(later, epsilon=1.0).guarantee.private


@pytest.mark.parametrize("text", CORPUS)
def test_vectors_ask_the_corpus_that_the_promise_stands_on(text: str, adapted: Embedding) -> None:
    free, guarded = Vectorizer(adapted.unguarded()), Vectorizer(adapted)
    for one, other in ((guarded, free), (free, guarded)):  # they are different tables
        with pytest.raises(ParameterError, match="different vocabularies"):
            SyntheticVectors(Exponential(one.embedding, epsilon=2.0), other, 5)
    checked = SyntheticVectors(Exponential(guarded.embedding, epsilon=2.0), guarded, 5)
    assert checked.guarantee.private
    with pytest.raises(PrivateCalibration):
        checked.vectors([Record("0", text)], seeded_rng(1))
    unchecked = SyntheticVectors(Exponential(free.embedding, epsilon=2.0), free, 5)
    unchecked.vectors([Record("0", text)], seeded_rng(1))
    assert not unchecked.guarantee.private


@pytest.mark.parametrize("setting", [s for s in VECTOR if s in PRIVATE], ids=label)
def test_the_inequality_holds_in_the_adapted_metric(setting: Setting, adapted: Embedding) -> None:
    mechanism = make(setting, adapted, 1.5)
    assert isinstance(mechanism, Perturbation)
    ids = np.arange(-1, 20)
    bound = 1.5 * mechanism.pairwise(ids, ids)
    centers = adapted.centers(ids)
    points = np.random.default_rng(2).normal(size=(300, adapted.dimension)) * 3
    density = np.array(
        [log_density(mechanism.noise, points, np.broadcast_to(c, points.shape)) for c in centers]
    )
    ratio = (density[:, None, :] - density[None, :, :]).max(-1)
    assert (ratio <= bound + 1e-9).all()
    assert (ratio > 0.3 * bound)[bound > 0].any()


def test_words_that_say_other_things_are_farther_apart_than_before(
    adapted: Embedding, toy: Embedding
) -> None:
    ids = toy.ids(["wordaa", "wordbb", "wordaz"])
    before, after = (Laplace(t, epsilon=1.0).pairwise(ids, ids) for t in (toy, adapted))
    assert (after >= before - 1e-6).all()
    assert after[0, 1] > before[0, 1] + 0.1


def test_alpha_and_beta_cancel_in_the_mahalanobis_metric_of_lambda_1(toy: Embedding) -> None:
    """docs/adapted-metric.md: only the scale of distances is left of them; laplace keeps them."""
    ids = np.arange(20)
    words = [" ".join(toy.words[i] for i in (k, k + 1, (7 * k) % 60)) for k in range(59)]
    topics = [str(k % 3) for k in range(59)]
    tables = [
        adapt_embedding(toy, words, {"topic": topics}, alpha=alpha, beta=3.0, smoothing=0.5)
        for alpha in (0.1, 1.0)
    ]
    apart = ~np.eye(20, dtype=bool)

    def ratios(name: str, **options: Any) -> Any:
        near, far = (
            make((name, options), table, 1.0).pairwise(ids, ids)[apart] for table in tables
        )
        return far / near

    cancelled = ratios("mahalanobis", lam=1.0)
    np.testing.assert_allclose(cancelled, cancelled[0], rtol=1e-3)
    kept = ratios("laplace")
    assert kept.max() > 1.5 * kept.min()


def test_a_file_on_an_adapted_table_is_tokenized_once(
    adapted: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for its texts in the corpus, before the run and in each batch, costs no tokens."""
    read: list[str] = []

    def recording(text: str) -> Iterator[Token]:
        read.append(text)
        return tokenize(text)

    monkeypatch.setattr(tokens, "tokenize", recording)
    monkeypatch.setattr(analysis, "tokenize", recording)
    words = [f"{start}{end}" for start in ("unseen", "often") for end in "abcdefghij"]
    texts = [" ".join(words[place:] + words[:place]) for place in range(len(words))]
    path = tmp_path / "in.txt"
    path.write_text("\n".join(texts) + "\n")
    with open_source(path) as source, open_sink(str(tmp_path / "out.txt"), source) as sink:
        run(source, sink, Privatizer(Laplace(adapted, epsilon=2.0)), secure_rng())
    assert read
    assert sum(map(len, read)) <= path.stat().st_size


@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "component-laplace"])
def test_alpha_and_beta_twice_as_large_at_half_the_epsilon_draw_the_same(
    name: str, toy: Embedding
) -> None:
    """So that no grid needs beta."""
    words = np.arange(len(toy)).repeat(20)
    draws = []
    for scale in (1.0, 2.0):
        table = adapt_embedding(toy, CORPUS, {"topic": TOPICS}, alpha=0.5 * scale, beta=3.0 * scale)
        mechanism = make((name, {}), table, 2.0 / scale)
        draws.append(mechanism.replace(words, seeded_rng(1)).tolist())
    assert draws[0] == draws[1] != words.tolist()
