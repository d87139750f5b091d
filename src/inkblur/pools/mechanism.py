"""The staircase over a pool: a whole text is one draw, and so is one loss.

    Q(y | x) = q(y) w / Z,    w = e^epsilon for texts y near x, 1 for the others,

where y runs over the texts of a public pool and x is any text at all. q gives every label the same
mass; near x are the first texts in `Order` until their mass is tau, the last counted in part. Both
do not depend on x, so Z does not either, and between *any* two texts the loss is epsilon. A text
without a known word has nothing near it and draws from q.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from inkblur.blas import one_thread
from inkblur.documents.base import AnyTextPrivatizer, Reading
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError, PrivateCalibration
from inkblur.guarantees import ADD_UP, SECRET_KEY, Guarantee
from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.staircase.units import MOST_EPSILON, Draw, Steps, safe_for_null
from inkblur.pools.building import Identifiers, clean, mask
from inkblur.pools.choice import PoolExpectation, best, expectations
from inkblur.pools.encoder import (
    TextEncoder,
    TextPoints,
    Whole,
    WordEncoder,
    directions,
    points_of,
)
from inkblur.pools.order import LARGE, Marked, Nearest, Order, search_on, text_units
from inkblur.pools.pool import Pool
from inkblur.rng import Bits, JoinedRows, Rng
from inkblur.types import NULL_ID, Ids, Metric, Unit, choose, fraction, inner_fraction, positive

PUBLIC_POOL = (
    "the pool and everything computed from it are public and were not made from the protected texts"
)
OWN_SOURCE = (
    "the pool was built from the texts being protected, which would be released unchanged; "
    "build it from other, public texts"
)
_MANY = 50  # texts that are judged however short they are
_WORDS = 6  # of a text whose repetition is no accident, where there are fewer
_LOOKED_AT, _TIMES = 100, 10  # texts at a time, and how often: it takes as long as drawing them


class Encoded:
    """Texts as the mechanism sees them."""

    def __init__(self, labels: Whole, points: TextPoints, known: NDArray[np.bool_]) -> None:
        self.labels, self.points = labels, points
        self.ids: Ids = np.where(known, np.arange(len(known)), NULL_ID)

    def __len__(self) -> int:
        """How many texts."""
        return len(self.ids)

    def entering(self, row: int) -> bytes:
        """All that a draw depends on for this text, besides the mechanism and the bits."""
        if self.ids[row] == NULL_ID:
            return b""
        return bytes(self.labels[row].tobytes() + self.points[row].tobytes())


class PoolStaircase:
    """Chooses a text of a public pool in place of any text, at a loss of epsilon.

    `tau` is the mass of the near texts under q. Where it is not given it is chosen on the pool, for
    this epsilon and `keep_meaning` in [0, 1]: 0, as in every pool with labels unless it is said
    otherwise, keeps the label as often as can be, 1 the meaning.
    `order` says what comes first where it is not to be chosen as well, "label" or "meaning";
    `encoder` is the one that the pool was built with, where that is not the embedding's words.
    """

    name = "staircase"
    batch = 50_000  # texts at a time
    diameter = 1.0  # between any two texts

    def __init__(
        self,
        pool: Pool,
        embedding: Embedding,
        *,
        epsilon: float,
        tau: float | None = None,
        keep_meaning: float | None = None,
        encoder: TextEncoder | None = None,
        order: Nearest | str | None = None,
    ) -> None:
        self.pool, self.embedding = pool, embedding
        self.epsilon = positive(epsilon, "epsilon")
        self.encoder = WordEncoder(embedding) if encoder is None else encoder
        if self.encoder.name != pool.encoder:
            built = f"other word vectors than {embedding.name}; name those that it was built with"
            if pool.encoder.startswith("transformer "):
                built = "a sentence transformer; give its folder in `encoder=`"
            if encoder is not None:
                built = "another encoder; name the one that it was built with"
            raise InputError(f"the pool {pool.name} was encoded with {built}, or build it again")
        labels = len(pool.label_names)
        if order is not None:
            order = choose(Nearest, order, "order")
            if not pool.labeled:
                order = Nearest.LABEL  # all texts have it, so meaning decides
            elif order is Nearest.MEANING and len(pool) > LARGE:
                raise ParameterError(
                    f"a pool of more than {LARGE:,} texts has cells of one label each: its order "
                    'begins with the label, so leave out `order="meaning"`'
                )
        if tau is None:
            keep = None if keep_meaning is None else fraction(keep_meaning, "keep_meaning")
            usable = [e for e in expectations(pool, self.epsilon) if order in (None, e.first)]
            self.expected = chosen = best(usable, keep, labels=labels)
            order = chosen.first
            tau = chosen.share / (labels if order is Nearest.LABEL else 1)
        self.order = Nearest.LABEL if order is None else order
        self.tau = inner_fraction(tau, "tau")
        self.steps = Steps.fit(epsilon=self.epsilon, tau=self.tau, words=len(pool), parts=labels)
        units = text_units(pool, self.steps.units)
        if not safe_for_null(self.steps, int(units.min())):
            raise ParameterError(
                f"tau {self.tau:g} leaves too few units per text at epsilon {epsilon:g}; choose a "
                "larger epsilon, or a tau farther from 0 and 1"
            )
        self._order = Order(pool, units, self.order)
        by_label = pool.labeled and self.order is Nearest.LABEL
        kept = f"; the label ({', '.join(pool.label_names[:20])}) is kept first" if by_label else ""
        self.guarantee = Guarantee(
            # a / b is at most e to this power.
            epsilon=min(self.epsilon, MOST_EPSILON),
            metric=Metric.DISCRETE,
            unit=Unit.TEXT,
            assumptions=(PUBLIC_POOL, SECRET_KEY, ADD_UP),
            reveals=(
                f"every released text is a public one from the pool {pool.name} (license: "
                f"{pool.license}), whose authors are not protected{kept}",
            ),
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Itself: a mechanism never changes, and scikit-learn's `clone` copies parameters."""
        return self

    @property
    def parameters(self) -> dict[str, float]:
        """Epsilon for a text, and the mass of near texts."""
        return {"epsilon": self.epsilon, "tau": self.tau}

    @cached_property
    def spec(self) -> str:
        """Everything the output law depends on: bits must never choose in two ways."""
        steps = self.steps
        return (
            f"pool-staircase epsilon={self.epsilon!r} tau={self.tau!r} a={steps.high} "
            f"b={steps.low} T={steps.near} pool={self.pool.sha256} encoder={self.encoder.name} "
            f"order={self.order.value} draw=1"
        )

    @cached_property
    def expected(self) -> PoolExpectation:
        """What to expect of a release, measured on the pool."""
        parts = len(self.pool.label_names) if self.order is Nearest.LABEL else 1
        share = self.tau * parts
        found = expectations(self.pool, self.epsilon, (share,))
        return next(e for e in found if e.share == share and e.first is self.order)

    def search_on(self, device: Device | str) -> None:
        """Look for near texts on this device from now on; never changes what is drawn."""
        device = choose(Device, device, "device")
        large = int(np.diff(self.pool.cells).max()) >= LARGE
        if large or device is Device.CUDA:
            self._order.search = search_on(self.pool.points, device)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Where these texts lie, and the label that the public classifier gives each."""
        if self.pool.provenance.get("identifiers") == Identifiers.MASK.value:
            texts = [mask(text) for text in texts]  # as the classifier has learned to read
        with one_thread():
            towards = directions(self.encoder, texts)
        points, labels = points_of(towards, self.pool.center), np.zeros(len(texts), dtype=np.int64)
        if self.pool.classifier is not None:
            labels = self.pool.classifier.labels(texts, points)
        known: NDArray[np.bool_] = np.any(towards != 0, axis=1)
        return Encoded(labels, points, known)

    def draw(self, encoded: Encoded, bits: Bits) -> Ids:
        """The texts of the pool that these numbers of 64 random bits draw, by place."""
        with one_thread():  # many small products
            return self._drawing(encoded).words(encoded.ids, bits)

    def weights(self, encoded: Encoded, row: int) -> NDArray[np.uint64]:
        """How many of the 2^64 equally likely numbers draw each text of the pool, (texts,)."""
        return self._drawing(encoded).weights(int(encoded.ids[row]))

    def _drawing(self, encoded: Encoded) -> Draw:
        marked = Marked(self._order, self.steps.near, encoded.labels, encoded.points)
        return Draw(self.steps, marked)


class PoolPrivatizer(AnyTextPrivatizer):
    """Texts in, texts of a public pool out, at a loss of epsilon between any two texts. Nothing
    else passes: not words, length or layout.
    """

    mechanism: PoolStaircase
    length = None

    def __init__(self, mechanism: PoolStaircase) -> None:
        self.mechanism = mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text."""
        return self.mechanism.guarantee

    def expectation(self) -> str:
        """What to expect of a release, measured on the pool; to be read before it is drawn."""
        pool = self.mechanism.pool
        return f"pool {pool.name}: {self.mechanism.expected.sentence(len(pool.label_names))}"

    @property
    def hides_length(self) -> bool:
        """Whether a missing or empty text comes out like any other."""
        return True

    @property
    def bound(self) -> bool:
        """Whether draws are bound to more than key and content: floats that place a text, which
        may differ elsewhere, and then it is another release.
        """
        return not self.mechanism.encoder.exact

    @property
    def spec(self) -> str:
        """Everything the output law depends on: binds each record's stream to this release."""
        # Hashed with the key: "text length=None" is what options wrote here that left.
        return f"{self.mechanism.spec} text length=None"

    def refuse_weak(self, *, accept_weak: bool) -> None:
        """No setting copies a text's words: nothing to refuse."""

    def refuse_own(self, texts: Sequence[str], columns: int = 1) -> None:
        """Raise where most texts of a column, or of their sentences, stand in the pool: it was made
        from them then. The texts of a row follow each other.

        100 texts are looked at, and more where few of those could stand in a pool. Of fewer than 50
        texts or sentences those of six words or more are judged, because anybody may have written
        the others. One alone that happens to stand there comes out like any other: refusing it
        would tell that it does.
        """
        for column in range(columns):
            mine = texts[column::columns]
            if self._holds_most(mine, lambda text: [text]) or self._holds_most(mine, sentences):
                raise PrivateCalibration(OWN_SOURCE)

    def _holds_most(self, texts: Sequence[str], parts: Callable[[str], list[str]]) -> bool:
        """Whether the pool holds more than half of the parts of these texts."""
        pool = self.mechanism.pool
        done = pool.provenance.get("identifiers")  # as to the pool's own texts
        identifiers = next((each for each in Identifiers if each.value == done), Identifiers.KEEP)
        step = max(1, len(texts) // _LOOKED_AT)
        mine: set[str] = set()
        for first in range(min(step, _TIMES)):
            found = (part for text in texts[first::step] for part in parts(text))
            mine.update(text.lower() for text in clean(found, identifiers).texts)
            if len(mine) >= _MANY:
                break
        if len(mine) < _MANY:
            mine = {text for text in mine if len(text.split()) >= _WORDS}
        return len(mine) > 1 and 2 * int(pool.holds(mine).sum()) > len(mine)

    def read(self, texts: Sequence[str]) -> Reading:
        """Where the texts lie among those of the pool."""
        encoded = self.mechanism.encode(texts)
        entering = tuple((encoded.entering(row),) for row in range(len(texts)))
        return Reading((1,) * len(texts), entering, (texts, encoded))

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[str], Counter[str]]:
        """Texts of the pool, and how many came out as they were."""
        true, encoded = reading.state
        bits = JoinedRows(streams, reading.draws).bits(len(encoded), 1)[:, 0]
        places = self.mechanism.draw(encoded, bits).tolist()
        drawn = [self.mechanism.pool.texts[place] for place in places]
        same = sum(  # capitals and spaces aside
            one == other or one.lower().split() == other.lower().split()
            for one, other in zip(drawn, true, strict=True)
        )
        nulls = int((encoded.ids == NULL_ID).sum())
        return drawn, Counter(drawn=len(drawn), null=nulls, unchanged=same)


def sentences(text: str) -> list[str]:
    """The sentences of a text; the last may lack its full stop.

    >>> sentences("One. Two? And three")
    ['One.', 'Two?', 'And three']
    """
    ends = [token.end for token in tokenize(text) if token.kind is TokenClass.SENTENCE_END]
    spans = zip([0, *ends], [*ends, len(text)], strict=True)
    return [piece for start, end in spans if (piece := text[start:end].strip())]
