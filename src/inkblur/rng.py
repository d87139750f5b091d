"""The only randomness: a ChaCha20 keystream, addressed by key, stream and position.

Why not NumPy's generators: they are not cryptographic, and their normals consume a varying number
of draws, so the noise of token 812 cannot be found without drawing the 811 before it. Here every
token owns one row of uniforms at a known offset of its record's keystream. So a record's noise is a
pure function of (key, record, mechanism): the same for every batch size, worker count and after a
crash. No row serves two tokens.

Why a stream is bound to its content *and* to the mechanism: two texts that shared noise could be
subtracted from each other, and so could one text released twice from the same draws at two epsilons
(x + Z and x + Z/2 give x away exactly).
Binding both makes a repeated call a replay, which spends nothing, and every other call a fresh
independent draw, which composes.
"""

from __future__ import annotations

import hashlib
import operator
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.types import Array

Bits = NDArray[np.uint64]  # of the keystream, as little-endian numbers

KEY_BYTES = 32
_BLOCK_BYTES = 64  # ChaCha20 makes its keystream in such blocks, numbered from 0
_COUNTED_BYTES = _BLOCK_BYTES << 32  # the library counts no further: then it is set up again
_ZEROS = memoryview(bytes(1 << 20))  # encrypted zeros are the keystream; so many at a time


class Rows(ABC):
    """A supply of random numbers, one row a token. This is all that noise ever sees."""

    @abstractmethod
    def bits(self, count: int, width: int) -> Bits:
        """The next `count` rows of `width` random 64-bit numbers."""

    def rows(self, count: int, width: int) -> Array:
        """The next rows as uniforms in (0, 1), never 0 and never 1: see `uniforms_from`."""
        return uniforms_from(self.bits(count, width))


class Rng(Rows):
    """A keyed stream with a cursor. Derive one stream a record with :meth:`child`.

    >>> rng = seeded_rng(7)
    >>> rng.child("a").rows(1, 2).shape
    (1, 2)
    >>> bool((rng.child("a").rows(1, 2) == seeded_rng(7).child("a").rows(1, 2)).all())
    True
    """

    def __init__(self, key: bytes | bytearray, *, seeded: bool = False, kept: bool = False) -> None:
        if not isinstance(key, bytes | bytearray):
            raise ParameterError(f"a key has {KEY_BYTES} bytes, got a {type(key).__name__}")
        if len(key) != KEY_BYTES:
            raise ParameterError(f"a key has {KEY_BYTES} bytes, got {len(key)}")
        self._key = bytes(key)  # whoever wipes theirs must not change ours to zeros
        self.seeded = seeded  # True: reproducible by anyone, so not private
        self.kept = kept  # True: the key outlives this run, so ids matter across runs
        self._keystream: CipherContext | None = None  # stands at the cursor, where there is one
        self._cursor = 0  # bytes of the keystream that were given out
        self._released = 0
        self._turn = threading.Lock()  # two threads must not be given the same bytes
        self._process = os.getpid()

    def __reduce__(self) -> NoReturn:
        """Not copied and not pickled: both would draw the same noise, and a file hold the key."""
        raise TypeError("a random stream is not copied, because its draws would be given twice")

    def _not_forked(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "this random stream was made before the process was forked, so both would draw the "
                "same noise; make one in each process, with secure_rng()"
            )

    def child(self, *parts: str | bytes) -> Rng:
        """The stream that belongs to these parts: same key and parts, same stream."""
        digest = hashlib.blake2b(key=self._key, digest_size=KEY_BYTES, person=b"inkblur-stream")
        for part in parts:  # each part is prefixed by its length, so ("ab", "c") is not ("a", "bc")
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        return Rng(digest.digest(), seeded=self.seeded, kept=self.kept)

    def next_child(self, *parts: str | bytes) -> Rng:
        """Like :meth:`child`, and different on each call: repeated releases are independent."""
        self._not_forked()
        with self._turn:
            self._released += 1
            number = self._released
        return self.child(number.to_bytes(8, "little"), *parts)

    def fingerprint(self) -> bytes:
        """Tells this key from others and gives nothing of it away: for the ledger."""
        return hashlib.blake2b(key=self._key, digest_size=16, person=b"inkblur-print").digest()

    def copies(self) -> Callable[[], Rng]:
        """Makes this stream again from its start, in another process too: it holds the key."""
        return _Again(self._key, self.seeded, self.kept)

    def bits(self, count: int, width: int) -> Bits:
        """The next rows of random 64-bit numbers."""
        stream = np.empty(8 * count * width, dtype=np.uint8)
        self.keystream_into(stream)
        return stream.view("<u8").reshape(count, width)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """The numbers 0 to count - 1 in random order: by one uniform each.

        >>> sorted(seeded_rng(1).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        return np.argsort(self.rows(count, 1)[:, 0], kind="stable").astype(np.int64, copy=False)

    def keystream_into(self, out: NDArray[np.uint8]) -> None:
        """The next bytes of the keystream, as many as `out` holds."""
        if out.ndim != 1 or out.dtype != np.uint8:
            raise ValueError(f"expected a row of bytes to fill, got {out.ndim}-d {out.dtype}")
        self._not_forked()
        with self._turn:
            done = 0
            while done < len(out):
                # Taken out, so that after an error it is made anew where the cursor stands: what
                # may have been given is not given again.
                keystream, self._keystream = self._keystream, None
                if keystream is None or self._cursor % _COUNTED_BYTES == 0:
                    # From the cursor on: 64 bits of counter, then a nonce of 0.
                    block, within = divmod(self._cursor, _BLOCK_BYTES)
                    nonce = block.to_bytes(8, "little") + bytes(8)
                    keystream = Cipher(ChaCha20(self._key, nonce), mode=None).encryptor()
                    keystream.update(bytes(within))
                counted = _COUNTED_BYTES - self._cursor % _COUNTED_BYTES
                step = min(len(out) - done, len(_ZEROS), counted)
                self._cursor += step
                keystream.update_into(_ZEROS[:step], out[done : done + step].data)
                self._keystream = keystream
                done += step


@dataclass(frozen=True, slots=True, repr=False)
class _Again:
    """Makes a stream again. Shows nothing when printed: it holds the key."""

    key: bytes
    seeded: bool
    kept: bool

    def __call__(self) -> Rng:
        return Rng(self.key, seeded=self.seeded, kept=self.kept)


def uniforms_from(bits: Bits) -> Array:
    """(k + 1/2) / 2^52, k the upper 52 of each 64 random bits: never 0 and never 1.

    Not 53 bits: from k = 2^52 on, k + 1/2 is no float64 number, and the last one would round to 1.
    """
    uniforms: Array = np.add(bits >> np.uint64(12), 0.5, dtype=np.float64)
    uniforms *= 2.0**-52
    return uniforms


class JoinedRows(Rows):
    """Many records' streams as one supply, so that a batch is drawn in a few large calls.

    Row r of record k is the same number whether the record is drawn alone, in a batch or in pieces.
    """

    def __init__(self, streams: Sequence[Rng], counts: Iterable[int]) -> None:
        self._left = deque((s, c) for s, c in zip(streams, counts, strict=True) if c)

    def bits(self, count: int, width: int) -> Bits:
        """The next numbers, record after record; `width` must not change between calls."""
        keystream = np.empty((count, 8 * width), dtype=np.uint8)
        done = 0
        while done < count:
            if not self._left:
                raise ValueError("more rows were asked for than the records have tokens")
            stream, left = self._left.popleft()
            step = min(left, count - done)
            if step < left:
                self._left.appendleft((stream, left - step))
            stream.keystream_into(keystream[done : done + step].reshape(-1))
            done += step
        return keystream.view("<u8")


def secure_rng() -> Rng:
    """A fresh key from the operating system: use this to publish."""
    return Rng(os.urandom(KEY_BYTES))


def keyed_rng(key: bytes | bytearray) -> Rng:
    """A given 256-bit key: the same key repeats the same release.

    Under one key an id must name one record only: equal texts under one id come out alike.
    """
    return Rng(key, kept=True)


def seeded_rng(seed: int) -> Rng:
    """For tests and papers. Anyone can repeat the draws, so the guarantee says "not private"."""
    try:
        number = operator.index(seed)  # NumPy's whole numbers too
    except TypeError:
        raise ParameterError(f"a seed is a whole number, got {seed!r}") from None
    key = hashlib.blake2b(str(number).encode(), digest_size=KEY_BYTES, person=b"inkblur-seed")
    return Rng(key.digest(), seeded=True)


def read_key(path: Path) -> bytes:
    """A key file: 32 raw bytes, or 64 hexadecimal digits (white space around them allowed)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the key file {path}: {error.strerror}") from None
    digits = data.hex() if len(data) == KEY_BYTES else data.decode("ascii", "replace")
    return key_from_digits(digits, str(path))


def key_from_digits(digits: str, name: str) -> bytes:
    """A key of 64 hexadecimal digits, such as a variable of the environment holds."""
    try:
        key = bytes.fromhex(digits.strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"{name} is not a key: expected 64 hexadecimal digits, or a file of 32 raw bytes; "
            "`inkblur keygen FILE` writes one"
        )
    if is_weak(key):
        raise InputError(
            f"{name} holds a key that can be guessed: its bytes repeat, follow a pattern or spell "
            "a phrase; `inkblur keygen FILE` writes a random one"
        )
    return key


def is_weak(key: bytes) -> bool:
    """Whether a key is plainly not random: few distinct bytes, equal steps between them, or a line
    of text.

    32 random bytes have 16 distinct values or fewer less than once in 10^14 keys, and are all
    printable about as seldom.

    >>> is_weak(bytes(32)), is_weak(bytes(range(32))), is_weak(b"Quick brown foxes jump over logs")
    (True, True, True)
    """
    line = key.strip()
    phrase = line.isascii() and line.decode().isprintable()
    steps = {(after - before) % 256 for before, after in pairwise(key)}
    return phrase or len(set(key)) <= KEY_BYTES // 2 or len(steps) == 1


def readable_by_others(path: Path) -> bool:
    """Whether users other than the owner may read a file; always False where modes mean nothing."""
    try:
        return os.name == "posix" and bool(path.stat().st_mode & 0o044)
    except OSError:
        return False


def write_key(path: Path) -> None:
    """Write a fresh key, readable by its owner alone; never overwrites."""
    try:
        write_secret(path)
    except FileExistsError:
        raise OutputError(
            f"{path} exists; a key is never overwritten, choose another name"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None


def write_secret(path: Path) -> None:
    """Write 32 random bytes, as digits, to a new file that only its owner may read. It is on the
    disk when this returns; after an error there is none.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(KEY_BYTES).hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)  # half a key, which would never be overwritten
        raise
