"""Releases texts through a pool: one draw for a whole text, or one for each of its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from inkblur.documents.base import AnyTextPrivatizer, Reading
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.errors import ParameterError, PrivateCalibration
from inkblur.guarantees import Guarantee
from inkblur.pools.cleaning import Identifiers, clean
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import JoinedRows, Rng
from inkblur.types import NULL_ID, Piece, Unit, choose, fixed_length

OWN_SOURCE = (
    "the pool was built from the texts being protected, which would be released unchanged; "
    "build it from other, public texts"
)
_FEWEST = 50  # texts that are judged
_LOOKED_AT, _TIMES = 100, 10  # texts at a time, and how often: it takes as long as drawing them


class PoolPrivatizer(AnyTextPrivatizer):
    """Texts in, texts of a public pool out. Nothing else passes: not words, length or layout.

    With `unit="text"` the loss is epsilon between any two texts. With `unit="sentence"` each
    sentence is replaced by one draw: epsilon a sentence, between texts of one number of sentences.
    `length` fixes that number: longer texts are cut, shorter ones filled with draws from q, and
    then the loss is `length` times epsilon between any two texts.
    """

    mechanism: PoolStaircase

    def __init__(
        self,
        mechanism: PoolStaircase,
        *,
        unit: Piece | str = Piece.TEXT,
        length: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.piece = choose(Piece, unit, "unit")
        self.length = fixed_length(length) if length is not None else None
        if self.piece is Piece.WORD:
            raise ParameterError("a pool replaces whole texts or sentences, not words")
        if self.piece is Piece.TEXT and self.length is not None:
            raise ParameterError(
                "a whole text is one draw and shows no length: leave out `length=`, or choose "
                '`unit="sentence"`'
            )

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised about each text."""
        own = self.mechanism.guarantee
        if self.piece is Piece.TEXT:
            return own
        shown = () if self.hides_length else ("the number of sentences",)
        return own.lifted(Unit.SENTENCES, size=self.length, passed=shown)

    def expectation(self) -> str:
        """What to expect of a release, measured on the pool; to be read before it is drawn."""
        pool = self.mechanism.pool
        return f"pool {pool.name}: {self.mechanism.expected.sentence(len(pool.label_names))}"

    @property
    def hides_length(self) -> bool:
        """Whether a missing or empty text comes out like any other."""
        return self.piece is Piece.TEXT or self.length is not None

    @property
    def bound(self) -> bool:
        """Whether draws are bound to more than key and content: floats that place a text, which
        may differ elsewhere, and then it is another release.
        """
        return not self.mechanism.encoder.exact

    @property
    def spec(self) -> str:
        """Everything the output law depends on: binds each record's stream to this release."""
        # Hashed with the key: "text length=None" stays as it is, whatever becomes of the options.
        return f"{self.mechanism.spec} {self.piece.value} length={self.length}"

    def refuse_weak(self, *, accept_weak: bool) -> None:
        """No setting copies a text's words: nothing to refuse."""

    def refuse_own(self, texts: Sequence[str], columns: int = 1) -> None:
        """Raise where most texts of a column, or of their sentences, stand in the pool: it was made
        from them then. The texts of a row follow each other.

        100 texts are looked at, and more where few of those could stand in a pool. Fewer than 50
        texts or sentences are not judged. One that happens to stand there comes out like any other:
        refusing it would tell that it does.
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
            if len(mine) >= _FEWEST:
                break
        return len(mine) >= _FEWEST and 2 * int(pool.holds(mine).sum()) > len(mine)

    def read(self, texts: Sequence[str]) -> Reading:
        """Where the texts, or their sentences, lie among those of the pool."""
        parts = [self._pieces(text) for text in texts]
        encoded = self.mechanism.encode([piece for part in parts for piece in part])
        rows = iter(range(len(encoded)))
        entering = tuple(tuple(encoded.entering(next(rows)) for _ in part) for part in parts)
        return Reading(tuple(map(len, parts)), entering, (parts, encoded))

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[str], Counter[str]]:
        """Texts of the pool, and how many came out as they were."""
        parts, encoded = reading.state
        bits = JoinedRows(streams, reading.draws).bits(len(encoded), 1)[:, 0]
        drawn = self.mechanism.draw(encoded, bits).tolist()
        texts, ends = self.mechanism.pool.texts, np.cumsum(reading.draws).tolist()
        true = (piece for part in parts for piece in part)
        same = sum(_same(texts[place], piece) for place, piece in zip(drawn, true, strict=True))
        nulls = int((encoded.ids == NULL_ID).sum())
        out = [
            " ".join(texts[place] for place in drawn[end - size : end])
            for end, size in zip(ends, reading.draws, strict=True)
        ]
        return out, Counter(drawn=len(encoded), null=nulls, unchanged=same)

    def _pieces(self, text: str) -> list[str]:
        if self.piece is Piece.TEXT:
            return [text]
        found = sentences(text)
        if self.length is None:
            return found
        return [*found[: self.length], *[""] * (self.length - len(found))]


def _same(drawn: str, true: str) -> bool:
    """Whether a text comes out as itself, capitals and spaces aside."""
    return drawn == true or drawn.lower().split() == true.lower().split()


def sentences(text: str) -> list[str]:
    """The sentences of a text; the last may lack its full stop.

    >>> sentences("One. Two? And three")
    ['One.', 'Two?', 'And three']
    """
    ends = [token.end for token in tokenize(text) if token.kind is TokenClass.SENTENCE_END]
    spans = zip([0, *ends], [*ends, len(text)], strict=True)
    return [piece for start, end in spans if (piece := text[start:end].strip())]
