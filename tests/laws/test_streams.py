"""No byte of a stream is drawn twice, whoever draws, wherever its cursor stands."""

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
    Bits,
    JoinedRows,
    Rng,
    keyed_rng,
    secure_rng,
    seeded_rng,
)

KEY = bytes(range(32))


def at_place(first: int, count: int) -> Bits:
    """Numbers of KEY's keystream from number `first` on, by the library's ChaCha20, block by block."""
    blocks = range(first // 8, (first + count) // 8 + 1)
    nonces = [block.to_bytes(8, "little") + bytes(8) for block in blocks]
    ciphers = [Cipher(ChaCha20(KEY, nonce), mode=None).encryptor() for nonce in nonces]
    stream = b"".join(cipher.update(bytes(64)) for cipher in ciphers)
    return np.frombuffer(stream, "<u8")[first % 8 :][:count]


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that interrupt each other all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_threads_share_a_stream_and_never_its_bytes() -> None:
    """Two texts with the same noise could be subtracted from each other."""
    for _ in range(300):
        rng, start = secure_rng(), threading.Barrier(4)

        def draw(rng: Rng = rng, start: threading.Barrier = start) -> bytes:
            start.wait()
            return rng.bits(2, 3).tobytes()

        with ThreadPoolExecutor(4) as pool:
            drawn = [each.result() for each in [pool.submit(draw) for _ in range(4)]]
        assert len(set(drawn)) == 4


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_is_not_copied(copied: Callable[[Rng], object]) -> None:
    with pytest.raises(TypeError, match="given twice"):
        copied(secure_rng())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("draw", ["bits", "next_child"])
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
        _ = rng.next_child("a") if draw == "next_child" else rng.bits(1, 1)
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
    for holder in (rng, rng.copies()):
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


def test_no_more_rows_are_given_than_the_records_have() -> None:
    joined = JoinedRows([keyed_rng(KEY), keyed_rng(KEY).child("b")], [2, 1])
    assert joined.bits(3, 2).shape == (3, 2)
    with pytest.raises(ValueError, match="more rows"):
        joined.bits(1, 2)


@given(st.integers(0, 2**58), st.integers(1, 40))
@example(2**35 - 2, 3)  # the rows lie across block 2^32, where the library stops counting
@example(2**35 - 1, 1)
@example(2**35, 1)
@example(2**35 - 15, 3)  # and the first three end there
@settings(deadline=None)
def test_the_counter_goes_on_beyond_the_blocks_that_the_library_counts(
    first: int, width: int
) -> None:
    """2^32 blocks are 256 GB: no public way there is short enough for a test."""
    rng = keyed_rng(KEY)
    rng._cursor = 8 * first
    drawn = np.concatenate([rng.bits(3, width).ravel(), rng.bits(2, width).ravel()])
    assert np.array_equal(drawn, at_place(first, 5 * width))


def test_children_do_not_depend_on_the_cursor_nor_share_keys() -> None:
    rng = keyed_rng(KEY)
    before = rng.child("a").bits(1, 4)
    rng.bits(5, 7)
    after, other = rng.child("a").bits(1, 4), rng.child("b").bits(1, 4)
    assert np.array_equal(before, after)
    assert not (before == other).any()


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
    shown = f"{rng.copies()!r} {rng!r}"
    for word in np.frombuffer(KEY, "<u4"):
        assert str(int(word)) not in shown
        assert f"{int(word):x}" not in shown.lower()
    with pytest.raises(ParameterError, match=r"made by secure_rng.* got bytes$"):
        require_rng(KEY)
