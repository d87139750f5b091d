"""A key replays byte for byte, in any batch; nothing else shares noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.laplace import Laplace
from inkblur.rng import JoinedRows, keyed_rng, secure_rng, seeded_rng, uniforms_from
from inkblur.types import Record
from tests.laws.catalogue import ALL, label, make

KEY = bytes(range(32))


def records(toy: Embedding, count: int = 40) -> list[Record]:
    generator = np.random.default_rng(2)
    return [
        Record(str(i), " ".join(generator.choice(toy.words, size=i % 7)) + " 12 zzz.")
        for i in range(count)
    ]


@pytest.mark.parametrize("release", ["sequence", "bag"])
@pytest.mark.parametrize("setting", ALL, ids=label)
def test_same_key_same_bytes_for_any_batch(
    setting: tuple[str, dict[str, Any]], release: str, toy: Embedding
) -> None:
    blur = Privatizer(make(setting, toy, 1.0), release=release, length="exact")
    texts = records(toy)
    whole = blur.release_batch(texts, keyed_rng(KEY)).texts
    for size in (1, 7):
        parts = [
            text
            for start in range(0, len(texts), size)
            for text in blur.release_batch(texts[start : start + size], keyed_rng(KEY)).texts
        ]
        assert tuple(parts) == whole
    assert blur.release_batch(texts[::-1], keyed_rng(KEY)).texts == whole[::-1]
    assert blur.release_batch(texts, secure_rng()).texts != whole


def test_key_id_text_and_settings_each_change_the_stream(toy: Embedding) -> None:
    text = " ".join(toy.words)
    blur = Privatizer(Laplace(toy, epsilon=0.1), length="exact")
    first = blur.release_batch([Record("1", text)], keyed_rng(KEY)).texts
    others = [
        blur.release_batch([Record("2", text)], keyed_rng(KEY)),
        blur.release_batch([Record("1", text)], keyed_rng(KEY[::-1])),
        Privatizer(Laplace(toy, epsilon=0.1000001), length="exact").release_batch(
            [Record("1", text)], keyed_rng(KEY)
        ),
        Privatizer(
            blur.mechanism, policies=TokenPolicies.of(drop=["numbers"]), length="exact"
        ).release_batch([Record("1", text)], keyed_rng(KEY)),
    ]
    for other in others:
        assert other.texts != first
    # The last letter of the text changes every word's noise, not only the last word's.
    changed = blur.release_batch([Record("1", text + " x")], keyed_rng(KEY)).texts[0].split()
    same = sum(a == b for a, b in zip(first[0].split(), changed, strict=False))
    assert same < len(toy) / 3


def test_repeated_releases_draw_fresh_noise_and_a_seed_voids_the_guarantee(toy: Embedding) -> None:
    mechanism = Laplace(toy, epsilon=0.1)
    rng = keyed_rng(KEY)
    words = list(toy.words)
    first, second = mechanism.release(words, rng), mechanism.release(words, rng)
    assert first.words != second.words
    assert mechanism.release(words, keyed_rng(KEY)).words == first.words
    assert first.guarantee.private
    seeded = mechanism.release(words, seeded_rng(1)).guarantee
    assert not seeded.private
    assert "not private: seeded" in seeded.statement()


@given(st.lists(st.integers(0, 30), max_size=6), st.lists(st.integers(1, 20), max_size=12))
@settings(deadline=None)
def test_joined_rows_are_each_records_own_rows(sizes: list[int], steps: list[int]) -> None:
    names = [str(i) for i in range(len(sizes))]
    alone = [
        seeded_rng(1).child(name).rows(size, 3) for name, size in zip(names, sizes, strict=True)
    ]
    expected = np.concatenate([*alone, np.empty((0, 3))])
    joined = JoinedRows([seeded_rng(1).child(name) for name in names], sizes)
    parts, left = [np.empty((0, 3))], len(expected)
    for turn, step in enumerate([*steps, left]):
        count = min(step, left)  # asked for as uniforms and as the bits they are made of, in turn
        parts.append(uniforms_from(joined.bits(count, 3)) if turn % 2 else joined.rows(count, 3))
        left -= len(parts[-1])
    assert np.array_equal(np.concatenate(parts), expected)


def test_uniforms_are_never_zero_or_one_and_look_uniform() -> None:
    from scipy import stats

    u = seeded_rng(5).rows(100_000, 2)
    assert u.min() > 0
    assert u.max() < 1
    assert stats.kstest(u.ravel(), "uniform").pvalue > 0.001
    assert abs(stats.pearsonr(u[:, 0], u[:, 1]).statistic) < 0.02


def test_the_keystream_is_chacha20_as_published() -> None:
    """RFC 8439, section 2.3.2 has no zero key; its appendix A.1, vector 1, does: block 0 begins
    76b8e0ad.
    """
    from inkblur.rng import Rng

    value = Rng(bytes(32)).rows(1, 1)[0, 0]
    first = int.from_bytes(bytes.fromhex("76b8e0ada0f13d90"), "little") >> 12
    assert value == (first + 0.5) * 2.0**-52


def test_the_extreme_random_words_stay_inside_the_interval() -> None:
    """With 53 bits the last of these would round to 1, and its normal to infinity."""
    words = np.array([0, 1, 2**63, 2**64 - 2**12, 2**64 - 1], dtype=np.uint64)
    values = uniforms_from(words)
    assert values.min() > 0
    assert values.max() < 1
    assert np.isfinite(ndtri(values)).all()


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_other_words_and_other_tables_never_share_noise(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    """Through the word door: the stream depends on the words, and on whose vectors they have."""
    used: list[bytes] = []

    def drawn(table: Embedding, words: list[str]) -> bytes:
        mechanism = make(setting, table, 1.0)
        inner = mechanism.replace

        def spying(ids: Any, rng: Any) -> Any:
            used.append(rng.child("which stream").rows(1, 4).tobytes())
            return inner(ids, rng)

        mechanism.replace = spying  # type: ignore[method-assign]
        mechanism.release(words, keyed_rng(KEY))
        return used[-1]

    other = Embedding(toy.words, toy.vectors + 1.0, name="moved")
    streams = [
        drawn(toy, ["wordaa", "wordab"]),
        drawn(toy, ["wordaa", "wordac"]),
        drawn(toy, ["unheard", "wordab"]),
        drawn(other, ["wordaa", "wordab"]),
    ]
    assert len(set(streams)) == len(streams)
    assert drawn(toy, ["wordaa", "wordab"]) == streams[0]


@pytest.mark.parametrize("release", ["sequence", "bag"])
def test_single_texts_draw_fresh_noise_each_time_and_never_share_it(
    release: str, toy: Embedding
) -> None:
    blur = Privatizer(Laplace(toy, epsilon=0.1), release=release, length="exact")
    text = " ".join(toy.words)
    rng = keyed_rng(KEY)
    first, second = blur.release(text, rng).text, blur.release(text, rng).text
    assert first != second  # each call spends
    assert blur.release(text, keyed_rng(KEY)).text == first
    turned = " ".join(reversed(toy.words))
    other = blur.release(turned, keyed_rng(KEY)).text
    same = sum(a == b for a, b in zip(first.split(), other.split(), strict=True))
    assert same < len(toy) / 3 or release == "bag"
    assert other != first


def test_the_stream_is_bound_to_what_enters_the_mechanism(
    toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later stop list reads the same text as other words: they must not meet the same noise."""
    blur = Privatizer(
        Laplace(toy, epsilon=0.1), policies=TokenPolicies.of(drop=["stop-words"]), length="exact"
    )
    text = " ".join(toy.words)
    before = blur.release_batch([Record("1", text)], keyed_rng(KEY)).texts[0].split()
    monkeypatch.setattr("inkblur.documents.analysis.STOP_WORDS", frozenset({toy.words[-1]}))
    later = Privatizer(
        Laplace(toy, epsilon=0.1), policies=TokenPolicies.of(drop=["stop-words"]), length="exact"
    )
    after = later.release_batch([Record("1", text)], keyed_rng(KEY)).texts[0].split()
    assert len(after) == len(before)
    assert sum(a == b for a, b in zip(before, after, strict=False)) < len(toy) / 3


@pytest.mark.parametrize("length", [None, 4])
def test_what_a_draw_is_bound_to_is_known_before_it(length: int | None, toy: Embedding) -> None:
    """A budget is charged ahead: the draw must then be the one that was charged."""
    blur = Privatizer(Laplace(toy, epsilon=1.0), length=length)
    texts = records(toy)
    drawn = blur.release_batch(texts, secure_rng())
    assert blur.read([record.text for record in texts]).bases == drawn.bases
    assert len(set(drawn.bases)) > len(texts) / 2


def test_a_kept_key_names_what_ids_must_be(toy: Embedding) -> None:
    blur = Privatizer(Laplace(toy, epsilon=1.0), length="exact")
    assert any(
        "each id belongs to one record" in line
        for line in blur.guaranteed(keyed_rng(KEY)).assumptions
    )
    assert blur.guaranteed(secure_rng()) == blur.guarantee
