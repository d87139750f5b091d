"""The adaptive attacker, the honest one: trains on texts blurred by the same mechanism.

The mechanism is public, so whoever attacks a blurred text will blur the known texts too, with noise
of their own, and learn what an author looks like *after* the mechanism. An attack trained on clean
texts mostly shows that blurred texts look different, which protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import Attack, checked_known
from inkblur.evaluation.attacks.reverse import reverse_vectorized
from inkblur.rng import Rng
from inkblur.types import Ids, Record, whole

Blur = Callable[[Sequence[str]], Sequence[str]]
"""Texts in, as many blurred texts out, with fresh noise on every call."""


class _Texts(Protocol):
    @property
    def texts(self) -> tuple[str, ...]: ...


class _Vectors(Protocol):
    @property
    def vectors(self) -> object: ...
    @property
    def vocabulary(self) -> tuple[str, ...]: ...


class ReleasesTexts(Protocol):
    """What releases texts, such as `Privatizer`."""

    def release_batch(self, records: Sequence[Record], rng: Rng) -> _Texts:
        """Blurred texts, one a record."""
        ...


class ReleasesVectors(Protocol):
    """What releases term-frequency vectors, such as `SyntheticVectors`."""

    def vectors(self, records: Sequence[Record], rng: Rng) -> _Vectors:
        """Synthetic vectors, one a record."""
        ...


def blurring(release: ReleasesTexts | ReleasesVectors, rng: Rng) -> Blur:
    """The release as a plain function on texts, under the attacker's own randomness.

    Vectors come back as text by reverse vectorization. `rng` must not be the data owner's: the
    attacker does not have their key. Calls differ from each other and repeat with the same `rng`.
    """

    def blur(texts: Sequence[str]) -> Sequence[str]:
        stream = rng.next_child("adaptive attacker")
        records = [Record(str(row), text) for row, text in enumerate(texts)]
        if hasattr(release, "release_batch"):
            return release.release_batch(records, stream).texts
        released = release.vectors(records, stream)
        return reverse_vectorized(released.vectors, released.vocabulary)

    return blur


class Adaptive:
    """Any attack, made adaptive: it studies blurred copies of the known texts.

    `copies` of each known text, every one with fresh noise, are studied: more of them show the
    attacker the mechanism's whole spread, and cost time only.
    """

    def __init__(self, attack: Attack, blur: Blur, *, copies: int = 1) -> None:
        self.attack = attack
        self.copies = whole(copies, "copies")
        self.name = f"adaptive-{attack.name}"
        self._blur = blur

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Blur the known texts and let the attack study them."""
        numbers = checked_known(texts, authors)
        blurred: list[str] = []
        for _ in range(self.copies):
            copy = list(self._blur(texts))
            if len(copy) != len(texts):
                raise ParameterError(f"{len(texts)} texts were blurred into {len(copy)}")
            blurred.extend(copy)
        self.attack.fit(blurred, np.tile(numbers, self.copies))
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each released text, as the attack under it answers."""
        return self.attack.predict(texts)
