"""Rows by address are the rows: a device that computes them draws no other noise, and none twice."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inkblur.errors import ParameterError
from inkblur.mechanisms.base import require_rng
from inkblur.rng import (
    AddressedRows,
    JoinedRows,
    Rng,
    RowAddresses,
    keyed_rng,
    secure_rng,
    seeded_rng,
    uniforms_from,
)
from inkblur.types import Array

KEY = bytes(range(32))
sizes = st.lists(st.integers(0, 30), max_size=6)
steps = st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12)


def rows_at(addresses: RowAddresses) -> Array:
    """What stands at the addresses, by the library's own ChaCha20, block by block."""
    parts = [np.empty((0, addresses.width))]
    for key, start, count in zip(
        addresses.keys, addresses.starts.tolist(), addresses.counts.tolist(), strict=True
    ):
        size, stream = 8 * count * addresses.width, b""
        for block in range(start // 64, (start + size) // 64 + 1):
            nonce = block.to_bytes(8, "little") + bytes(8)
            cipher = Cipher(ChaCha20(key.tobytes(), nonce), mode=None)
            stream += cipher.encryptor().update(bytes(64))
        drawn = np.frombuffer(stream[start % 64 :][:size], "<u8")
        parts.append(uniforms_from(drawn).reshape(count, -1))
    return np.concatenate(parts)


def taken(supply: AddressedRows, count: int, width: int, by_address: bool) -> Array:
    if not by_address:
        return supply.rows(count, width)
    addresses = supply.addresses(count, width)
    assert len(addresses) == count
    return rows_at(addresses)


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that interrupt each other all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("by_address", [False, True])
@pytest.mark.usefixtures("hasty")
def test_threads_share_a_stream_and_never_its_bytes(by_address: bool) -> None:
    """Two texts with the same noise could be subtracted from each other."""
    for _ in range(300):
        rng, start = secure_rng(), threading.Barrier(4)

        def draw(rng: Rng = rng, start: threading.Barrier = start) -> bytes:
            start.wait()
            if by_address:
                rng._leave(8)  # the next bytes go to someone else
            return rng.bits(2, 3).tobytes()

        with ThreadPoolExecutor(4) as pool:
            drawn = [each.result() for each in [pool.submit(draw) for _ in range(4)]]
        assert len(set(drawn)) == 4


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_is_not_copied(copied: Callable[[Rng], object]) -> None:
    with pytest.raises(TypeError, match="given twice"):
        copied(secure_rng())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("draw", ["bits", "addresses", "next_child"])
def test_a_forked_process_does_not_draw_its_parents_noise(draw: str) -> None:
    rng = secure_rng()
    rng.bits(1, 1)
    forked = get_context("fork").Process(target=_ends_well_if_refused, args=(rng, draw))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks among threads
        forked.start()
    forked.join()
    assert forked.exitcode == 0
    assert rng.child("a").bits(1, 1).shape == (1, 1)


def _ends_well_if_refused(rng: Rng, draw: str) -> None:
    replayed = rng.child("a").bits(1, 1)  # bound to what it belongs to, so it may be drawn again
    try:
        _ = rng.next_child("a") if draw == "next_child" else getattr(rng, draw)(1, 1)
    except RuntimeError as error:
        os._exit(0 if "forked" in str(error) and replayed.size else 1)
    os._exit(1)


def test_only_a_row_of_bytes_is_filled() -> None:
    """What stayed unwritten would be taken for noise."""
    for wrong in (np.empty((4, 8), np.uint8), np.empty(8, np.uint64)):
        with pytest.raises(ValueError, match="a row of bytes"):
            secure_rng().keystream_into(wrong)  # type: ignore[arg-type]


def test_nothing_that_holds_a_key_shows_it() -> None:
    rng = keyed_rng(b"k" * 32)
    for holder in (rng, rng.copies(), rng.addresses(1, 1)):
        assert "kkkk" not in repr(holder)
    assert (rng.copies()().bits(1, 1) == keyed_rng(b"k" * 32).bits(1, 1)).all()


def test_after_an_error_the_stream_goes_on_behind_what_may_have_been_given() -> None:
    rng, plain = keyed_rng(KEY), keyed_rng(KEY)
    rng.bits(1, 1)
    locked = np.empty(100, dtype=np.uint8)
    locked.flags.writeable = False
    with pytest.raises((BufferError, TypeError)):
        rng.keystream_into(locked)
    plain.keystream_into(np.empty(108, dtype=np.uint8))
    assert np.array_equal(rng.bits(3, 3), plain.bits(3, 3))


@given(steps, st.integers(1, 19))
@settings(deadline=None)
def test_a_stream_drawn_both_ways_is_the_stream(how: list[tuple[int, bool]], width: int) -> None:
    """No byte is repeated and none skipped, in any order of the two and at any split."""
    rng = keyed_rng(KEY)
    parts = [np.empty((0, width)), *(taken(rng, count, width, way) for count, way in how)]
    together = np.concatenate(parts)
    assert np.array_equal(together, keyed_rng(KEY).rows(len(together), width))


@given(sizes, steps, st.integers(1, 12))
@settings(deadline=None)
def test_joined_streams_drawn_both_ways_are_each_records_own(
    counts: list[int], how: list[tuple[int, bool]], width: int
) -> None:
    """Several records, empty ones too: a row belongs to its record's stream and place there."""
    names = [str(i) for i in range(len(counts))]
    alone = [seeded_rng(1).child(n).rows(c, width) for n, c in zip(names, counts, strict=True)]
    expected = np.concatenate([*alone, np.empty((0, width))])
    joined = JoinedRows([seeded_rng(1).child(name) for name in names], counts)
    parts, left = [np.empty((0, width))], len(expected)
    for step, way in [*how, (left, True)]:
        parts.append(taken(joined, min(step, left), width, way))
        left -= len(parts[-1])
    assert np.array_equal(np.concatenate(parts), expected)
    with pytest.raises(ValueError, match="more rows"):
        joined.addresses(1, width)


@given(st.integers(0, 2**58), st.integers(1, 40), st.integers(1, 40))
@example(2**35 - 2, 1, 1)  # the rows that follow lie across block 2^32, where the library stops
@example(2**35 - 1, 1, 1)
@example(2**35 - 16, 1, 1)  # and the first three end there
@settings(deadline=None)
def test_after_an_address_the_stream_goes_on_where_that_ended(
    far: int, left: int, width: int
) -> None:
    """Wherever the cursor stands, also beyond the 2^32 blocks that a short counter would hold."""
    rng = keyed_rng(KEY)
    rng.addresses(far, 1)
    skipped = rng.addresses(left, width)
    assert skipped.starts.tolist() == [8 * far]
    end = 8 * (far + left * width)
    drawn = np.concatenate([rng.rows(3, 5), rng.rows(2, 5)])
    key = np.frombuffer(KEY, "<u4")[None]
    there = RowAddresses(key, np.array([end]), np.array([5]), 5)
    assert np.array_equal(drawn, rows_at(there))
    assert rng.addresses(1, 1).starts.tolist() == [end + 8 * 25]


def test_the_cursor_never_goes_back() -> None:
    rng = keyed_rng(KEY)
    rng.rows(4, 3)
    assert len(rng.addresses(-2, 3)) == 0
    with pytest.raises(ValueError, match="second time"):
        rng.addresses(2, -3)
    assert rng.addresses(1, 3).starts.tolist() == [8 * 4 * 3]


def test_children_do_not_depend_on_the_cursor_nor_share_keys() -> None:
    rng = keyed_rng(KEY)
    before = rng.child("a").addresses(1, 1)
    rng.addresses(5, 7)
    after, other = rng.child("a").addresses(1, 1), rng.child("b").addresses(1, 1)
    assert np.array_equal(before.keys, after.keys)
    assert not np.array_equal(before.keys, other.keys)
    assert before.starts.tolist() == [0]


def test_parts_of_a_stream_are_told_apart_by_their_lengths() -> None:
    """Record 1 with the text "2 cats" and record 12 with " cats" must not share noise."""
    parts: list[tuple[str | bytes, ...]]
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ()]
    drawn = {keyed_rng(KEY).child(*each).bits(1, 4).tobytes() for each in parts}
    assert len(drawn) == len(parts)
    assert keyed_rng(KEY).bits(1, 4).tobytes() not in drawn


@pytest.mark.parametrize("rng", [seeded_rng(1), keyed_rng(KEY), secure_rng()])
def test_what_is_made_of_a_stream_says_whence_it_came(rng: Rng) -> None:
    """A release of a seeded stream's child is not private either."""
    for made in (rng.child("a"), rng.next_child("a"), rng.copies()()):
        assert (made.seeded, made.kept) == (rng.seeded, rng.kept)


def test_a_key_that_is_wiped_elsewhere_stays_what_it_was() -> None:
    """Else whoever wipes theirs would draw on under a key of zeros, which everybody knows."""
    key = bytearray(KEY)
    rng = keyed_rng(key)
    before = rng.child("a").bits(1, 2).tolist()
    key[:] = bytes(32)
    assert rng.child("a").bits(1, 2).tolist() == before
    with pytest.raises(ParameterError, match="a key has 32 bytes, got a str"):
        keyed_rng("k" * 32)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", ["abc", None, 2.7])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    """2.7 was the seed 2."""
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        seeded_rng(seed)


def test_printing_shows_no_key() -> None:
    rng = Rng(KEY)
    shown = f"{rng.addresses(2, 3)!r} {rng!r}"
    for word in np.frombuffer(KEY, "<u4"):
        assert str(int(word)) not in shown
        assert f"{int(word):x}" not in shown.lower()
    assert "keys" not in shown
    with pytest.raises(ParameterError, match=r"made by secure_rng.* got bytes$"):
        require_rng(KEY)
