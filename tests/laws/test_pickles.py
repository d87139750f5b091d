"""A mechanism that was used can be sent to another process, and carries nothing of true texts."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from inkblur import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.pools import PoolPrivatizer, PoolStaircase
from inkblur.rng import keyed_rng
from inkblur.types import Record
from tests.laws.catalogue import ALL, label, make
from tests.pools import made

KEY = bytes(range(5, 37))


def used(blur: Privatizer | PoolPrivatizer, text: str) -> tuple[str, ...]:
    return blur.release_batch([Record("0", text * 400)], keyed_rng(KEY)).texts


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_a_pickle_shows_neither_key_nor_texts(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    left, right = (Privatizer(make(setting, toy, 2.0)) for _ in range(2))
    released = used(left, "wordab wordac zbigniew 0815 ")
    used(right, "wordba wordbc wordbd public ")
    for one, other in ((left.mechanism, right.mechanism), (left, right)):
        kept = pickle.dumps(one)
        assert kept == pickle.dumps(other), "the words that were drawn show in the pickle"
        assert not any(secret in kept for secret in (KEY, b"zbigniew", b"0815"))
    assert used(pickle.loads(pickle.dumps(left)), "wordab wordac zbigniew 0815 ") == released
    copy = Privatizer(pickle.loads(pickle.dumps(left.mechanism)))
    assert used(copy, "wordab wordac zbigniew 0815 ") == released


def test_a_pickle_of_a_pool_shows_neither_key_nor_texts() -> None:
    table = made.table()
    pool = made.pool(table, (12, 9))
    left, right = (
        PoolPrivatizer(PoolStaircase(pool, table, epsilon=2.0, tau=0.3)) for _ in range(2)
    )
    released = used(left, "alpha zbigniew ")
    used(right, "sigma public ")
    kept = pickle.dumps(left)
    assert kept == pickle.dumps(right), "the words that were read show in the pickle"
    assert not any(secret in kept for secret in (KEY, b"zbigniew"))
    assert used(pickle.loads(kept), "alpha zbigniew ") == released
