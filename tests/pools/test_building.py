"""Building, storing and opening pools; what is refused, in one line."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur.errors import InputError, ParameterError, PrivateCalibration
from inkblur.mechanisms.staircase.nearness import LONGEST
from inkblur.pools import (
    Identifiers,
    Pool,
    PoolPrivatizer,
    PoolStaircase,
    build_pool,
    classifier,
)
from inkblur.pools import building as built
from inkblur.pools.building import clean, mask
from inkblur.pools.choice import best, expectations
from inkblur.pools.classifier import terms
from inkblur.pools.encoder import WordEncoder
from inkblur.pools.order import Nearest
from inkblur.pools.pool import open_pool, write_pool
from tests.pools.made import WORDS, table
from tests.pools.made import pool as made_pool

TABLE = table(dimension=8)
RNG = np.random.default_rng(5)
# The label shows in the words: half of them belong to each.
TEXTS = [" ".join(RNG.choice(WORDS[:5] if i % 2 else WORDS[3:], 6)) for i in range(120)]
LABELS = ["odd" if i % 2 else "even" for i in range(120)]


@pytest.fixture(scope="module")
def pool() -> Pool:
    return build_pool(TEXTS, TABLE, labels=LABELS, name="toy", license="CC0")


def test_texts_keep_their_labels_and_stand_in_order(pool: Pool) -> None:
    truth = dict(zip(TEXTS, LABELS, strict=True))
    assert pool.label_names == ("even", "odd")
    assert [truth[t] for t in pool.texts] == [pool.label_names[i] for i in pool.labels]
    assert pool.accuracy > 0.8
    made = PoolStaircase(pool, TABLE, epsilon=1.0)
    said = made.encode([" ".join(WORDS[:3]), " ".join(WORDS[5:])]).labels
    assert [pool.label_names[i] for i in said] == ["odd", "even"]


def test_the_stored_classifier_is_scikit_learns(pool: Pool) -> None:
    """Whole numbers answer as floats do: tf-idf of words beside points, and a linear SVM."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.svm import LinearSVC

    counted = DictVectorizer()
    counts = counted.fit_transform([terms(text) for text in pool.texts])
    counts.data = 1 + np.log(counts.data)
    near = pool.points / LONGEST
    kind = LinearSVC(C=0.1, random_state=0)
    names = np.asarray(counted.get_feature_names_out(), dtype=object)
    model = classifier._fitted(kind, counts, near, pool.labels, names, TABLE.dimension)
    assert model.meaning.any()
    seen = np.hstack([TfidfTransformer().fit_transform(counts).toarray(), near])
    said = kind.fit(seen, pool.labels).predict(seen)
    assert np.array_equal(model.labels(list(pool.texts), pool.points), said)
    assert np.mean(said == pool.labels) > 0.9


def test_a_stored_pool_is_the_same(pool: Pool, tmp_path: Path) -> None:
    write_pool(tmp_path / "a.pool", pool)
    opened = open_pool(tmp_path / "a.pool")
    assert opened.sha256 == pool.sha256
    assert list(opened.texts) == list(pool.texts)
    assert opened.texts[3] == pool.texts[3]
    assert opened.texts[2:5] == pool.texts[2:5]
    assert opened.facts() == pool.facts()
    first, second = (PoolStaircase(p, TABLE, epsilon=4.0) for p in (pool, opened))
    assert first.spec == second.spec


def test_a_tampered_pool_is_refused(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "a.pool"
    write_pool(path, pool)
    body = bytearray(path.read_bytes())
    place = body.index(pool.texts[0].encode())
    body[place : place + 5] = b"sigma" if body[place : place + 5] != b"sigma" else b"alpha"
    path.write_bytes(body)
    with pytest.raises(InputError, match="damaged or was changed"):
        open_pool(path)


def test_every_flipped_byte_is_refused_or_harmless(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "a.pool"
    write_pool(path, pool)
    body = path.read_bytes()
    for place in range(0, len(body), len(body) // 150):
        path.write_bytes(body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :])
        with contextlib.suppress(InputError):  # and nothing else is raised
            assert open_pool(path).sha256 == pool.sha256
    path.write_bytes(body[: len(body) // 2])
    with pytest.raises(InputError, match="not a readable pool"):
        open_pool(path)
    with pytest.raises(InputError, match="no such pool"):
        open_pool(tmp_path / "none.pool")


def test_what_cannot_be_a_pool() -> None:
    with pytest.raises(InputError, match="0 texts are left after cleaning"):
        build_pool(["", "a b"], TABLE)
    with pytest.raises(InputError, match="all texts have the label 'x'"):
        build_pool(TEXTS, TABLE, labels=["x"] * 120)
    with pytest.raises(InputError, match="the label 'rare' has 1 text"):
        build_pool(TEXTS, TABLE, labels=["rare", *LABELS[1:]])
    with pytest.raises(ParameterError, match="unknown identifiers"):
        build_pool(TEXTS, TABLE, identifiers="shred")


def test_labels_may_be_numbers(tmp_path: Path) -> None:
    pool = build_pool(TEXTS, TABLE, labels=[i % 2 for i in range(120)])
    assert pool.label_names == ("0", "1")
    write_pool(tmp_path / "a.pool", pool)
    assert open_pool(tmp_path / "a.pool").facts() == pool.facts()
    pd = pytest.importorskip("pandas")
    shuffled = pd.DataFrame({"text": TEXTS, "label": LABELS}).sample(frac=1, random_state=1)
    by_place = build_pool(shuffled["text"], TABLE, labels=shuffled["label"])
    assert by_place.accuracy > 0.8
    with pytest.raises(ParameterError, match="120 texts need as many labels, got 119"):
        build_pool(TEXTS, TABLE, labels=LABELS[1:])


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_what_is_missing_is_neither_a_label_nor_a_text(missing: float | None) -> None:
    labels: list[Any] = [*LABELS[:20], *[missing] * 20, *LABELS[40:]]
    with pytest.raises(ParameterError, match="label 20 is missing"):
        build_pool(TEXTS, TABLE, labels=labels)
    texts: list[Any] = [*TEXTS, missing]
    with pytest.raises(ParameterError, match="text 120 is a"):
        build_pool(texts, TABLE)


def test_half_a_character_can_be_stored(tmp_path: Path) -> None:
    """As Python holds what another program cut in the middle of an emoji."""
    pool = build_pool([f"{text} \ud83d" for text in TEXTS], TABLE)
    write_pool(tmp_path / "a.pool", pool)
    assert open_pool(tmp_path / "a.pool").texts[0] == pool.texts[0]
    blur = PoolPrivatizer(PoolStaircase(pool, TABLE, epsilon=3.0))
    with pytest.raises(PrivateCalibration):
        blur.refuse_own([f"{text} \ud83d" for text in TEXTS])


def test_an_order_is_the_one_that_was_named(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    unlabeled = build_pool(TEXTS, TABLE)
    made = PoolStaircase(unlabeled, TABLE, epsilon=3.0, tau=0.2, order="meaning")
    assert made.expected.share == 0.2
    plain = PoolStaircase(unlabeled, TABLE, epsilon=3.0, tau=0.2)
    seen = [mechanism.encode(["alpha sigma"]) for mechanism in (made, plain)]
    assert np.array_equal(made.weights(seen[0], 0), plain.weights(seen[1], 0))
    monkeypatch.setattr("inkblur.pools.mechanism.LARGE", 100)
    for tau in (None, 0.2):
        with pytest.raises(ParameterError, match="its order begins with the label"):
            PoolStaircase(pool, TABLE, epsilon=3.0, tau=tau, order="meaning")


def test_a_text_as_long_as_novels_takes_little_memory() -> None:
    wide = table(dimension=300)
    text = " ".join(WORDS * 5_000)
    encoder = WordEncoder(wide)
    ids = encoder.words(text)
    tracemalloc.start()
    try:
        [sums] = encoder.sums([text])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 60_000_000  # and not 40,000 times 300 numbers of 8 bytes
    points = encoder._grid.points.astype(np.int64)
    assert sums.tolist() == (encoder._weights.astype(np.int64)[ids] @ points[ids]).tolist()


def test_a_text_as_long_as_novels_has_a_label() -> None:
    """The squares of its terms' weights add up to more than 64 bits hold."""
    words = [f"w{a}{b}{c}" for a in "abcdefghij" for b in "abcdefghij" for c in "abcdefghij"]
    idf = np.full(1000, 14 << 10, dtype=np.int32)
    weights = np.tile(np.array([-1000, 1000], dtype=np.int32), (1000, 1))
    bias, meaning = np.zeros(2, dtype=np.int64), np.zeros((8, 2), dtype=np.int32)
    model = classifier.LabelClassifier(tuple(words), idf, weights, bias, meaning)
    counted = [Counter(dict.fromkeys(words, times)) for times in (1, 2_000)]
    assert model.labels_of(counted, np.zeros((2, 8), dtype=np.int16)).tolist() == [1, 1]


def test_another_encoder_is_refused(pool: Pool) -> None:
    with pytest.raises(InputError, match="encoded with other word vectors"):
        PoolStaircase(pool, table(seed=2, dimension=8), epsilon=3.0)


def test_texts_that_point_at_somebody_are_masked_or_dropped() -> None:
    text = "Write to Maria at maria@example.org or call +44 20 7946-0000 by 2024"
    assert mask(text) == "Write to [name] at [address] or call [number] by 2024"
    assert clean([text], Identifiers.DROP).left_out == {"identifier": 1}
    assert clean([text], Identifiers.KEEP).texts == (text,)


def test_keeping_more_meaning_takes_a_smaller_share(pool: Pool) -> None:
    found = expectations(pool, 5.0)
    label, meaning = best(found, 0.0, labels=2), best(found, 1.0, labels=2)
    assert label.share == 1.0
    assert meaning.share < 1.0
    assert label.label >= meaning.label
    assert meaning.meaning > label.meaning > label.random
    assert PoolStaircase(pool, TABLE, epsilon=5.0).expected == label  # unless it is said otherwise
    made = PoolStaircase(pool, TABLE, epsilon=5.0, keep_meaning=1.0)
    assert (made.expected, made.order) == (meaning, meaning.first)
    made = PoolStaircase(pool, TABLE, epsilon=5.0, keep_meaning=1.0, order="label")
    assert made.order is made.expected.first is Nearest.LABEL
    assert made.tau == made.expected.share / 2


def test_without_labels_the_share_is_the_largest_that_keeps_enough_meaning() -> None:
    pool = build_pool(TEXTS, TABLE)
    found = expectations(pool, 5.0)
    gains = {each.share: each.meaning - each.random for each in found}
    most = max(gains.values())
    for keep, part in [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)]:
        chosen = best(found, keep, labels=1).share
        assert gains[chosen] >= part * most
        assert not [share for share in gains if share > chosen and gains[share] >= part * most]
    assert best(found, 0.0, labels=1).share > best(found, 1.0, labels=1).share
    assert best(found, None, labels=1) == best(found, 0.5, labels=1)


def test_a_label_of_one_text_has_no_other_text_near() -> None:
    """Such a pool, made by hand, ended in an IndexError."""
    one = replace(made_pool(TABLE, (1, 8)), given=np.array([0] + [1] * 8))
    some = [each for each in expectations(one, 5.0) if each.first is Nearest.LABEL]
    assert all(np.isfinite([each.meaning, each.random]).all() for each in some)
    alone = replace(made_pool(TABLE, (1, 1)), given=np.array([0, 1]))
    for each in expectations(alone, 5.0):
        if each.first is Nearest.LABEL:
            assert each.meaning == pytest.approx(each.random)


@pytest.mark.parametrize(
    ("order", "tau"), [("meaning", 0.2), ("label", 0.8)], ids=["by meaning", "beyond its label"]
)
def test_what_is_expected_of_an_order_is_what_happens(pool: Pool, order: str, tau: float) -> None:
    made = PoolStaircase(pool, TABLE, epsilon=3.0, tau=tau, order=order)
    encoded = made.encode(list(pool.texts))
    encoded.labels[:] = pool.given
    kept = np.zeros((2, len(pool)))
    points = pool.points / np.linalg.norm(pool.points, axis=1, keepdims=True)
    for row in range(len(pool)):
        chances = made.weights(encoded, row) / 2.0**64
        chances[row] = 0.0  # each is left out of the pool
        chances /= chances.sum()
        kept[0, row] = chances[pool.labels == pool.labels[row]].sum()
        kept[1, row] = chances @ (points @ points[row])
    assert kept[0].mean() == pytest.approx(made.expected.label, abs=0.02)
    assert kept[1].mean() == pytest.approx(made.expected.meaning, abs=0.03)


def test_what_is_expected_is_what_happens(pool: Pool) -> None:
    """On texts of the pool, with the labels that a classifier gives which has not seen them."""
    made = PoolStaircase(pool, TABLE, epsilon=3.0, tau=0.5)
    encoded = made.encode(list(pool.texts))
    encoded.labels[:] = pool.given
    right = []
    for row in range(len(pool)):
        weights = made.weights(encoded, row).astype(np.float64)
        right.append(weights[pool.labels == pool.labels[row]].sum() / 2.0**64)
    by_label = [
        np.mean([r for r, own in zip(right, pool.labels, strict=True) if own == k]) for k in (0, 1)
    ]
    assert np.mean(by_label) == pytest.approx(made.expected.label, abs=1e-3)


def test_a_large_label_lies_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built, "_ONE_CELL", 20)
    monkeypatch.setattr(built, "_CELL", 10)
    made = build_pool(TEXTS, TABLE, labels=LABELS)
    assert len(made.cell_labels) > 4
    truth = dict(zip(TEXTS, LABELS, strict=True))
    assert [truth[t] for t in made.texts] == [made.label_names[i] for i in made.labels]


def test_a_pool_without_labels_needs_no_scikit_learn(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from tests.pools.test_building import TEXTS, TABLE\n"
        "import inkblur, inkblur.pools\n"
        "pool = inkblur.build_pool(TEXTS, TABLE)\n"
        "made = inkblur.pools.PoolStaircase(pool, TABLE, epsilon=4.0)\n"
        "blur = inkblur.pools.PoolPrivatizer(made)\n"
        "print(blur.release('alpha', inkblur.secure_rng()).text in TEXTS)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_adapted_vectors_are_refused(pool: Pool) -> None:
    adapted = inkblur.adapt_embedding(TABLE, TEXTS, {"parity": LABELS})
    with pytest.raises(ParameterError, match="plain word vectors"):
        PoolStaircase(pool, adapted, epsilon=3.0)
    with pytest.raises(ParameterError, match="plain word vectors"):
        build_pool(TEXTS, adapted)
