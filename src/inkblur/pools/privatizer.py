"""Releases texts through a pool: one draw for a whole text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from inkblur.documents.base import AnyTextPrivatizer, Reading
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.errors import PrivateCalibration
from inkblur.guarantees import Guarantee
from inkblur.pools.cleaning import Identifiers, clean
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import JoinedRows, Rng
from inkblur.types import NULL_ID

OWN_SOURCE = (
    "the pool was built from the texts being protected, which would be released unchanged; "
    "build it from other, public texts"
)
_MANY = 50  # texts that are judged however short they are
_WORDS = 6  # of a text whose repetition is no accident, where there are fewer
_LOOKED_AT, _TIMES = 100, 10  # texts at a time, and how often: it takes as long as drawing them


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
        same = sum(map(_same, drawn, true))
        nulls = int((encoded.ids == NULL_ID).sum())
        return drawn, Counter(drawn=len(drawn), null=nulls, unchanged=same)


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
