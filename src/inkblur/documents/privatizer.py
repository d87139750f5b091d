"""Lifts a word mechanism to documents: sequences and bags, each with its guarantee."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import Analysis, Analyst, Slot, assemble, folded, with_filling
from inkblur.documents.base import AnyTextPrivatizer, Reading
from inkblur.documents.policies import WORD_CLASSES, TokenPolicies, Treatment
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import Token
from inkblur.documents.word_shares import copied_words
from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import JoinedRows, Rng
from inkblur.types import (
    EXACT,
    NULL_ID,
    SIZES,
    Ids,
    ReleaseKind,
    Unit,
    choose,
    next_size,
    text_length,
)


class Privatizer(AnyTextPrivatizer):
    """Releases whole texts through a word mechanism.

    `sequence`: words replaced in place; the log-ratio is bounded by epsilon times the sum of word
    distances over positions (Mahalanobis paper, Theorem 1). `bag`: the same draws with their order
    destroyed (words sorted); bounded by epsilon N times Earth Mover's distance between bags of one
    size N (Earth Mover's paper, Theorem 1).

    By default N is the next of a public list of sizes (`inkblur.types.SIZES`): a text is filled
    with the null word, at places that its own random stream chooses before any noise is drawn, so
    that nobody who sees the text knows them. A number as `length` fixes N: longer texts are cut,
    shorter ones are filled at their end. "exact" fills nothing, and the number of words shows.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("laplace", table, epsilon=50.0)
    >>> for length in (None, 3, "exact"):
    ...     blur = Privatizer(mechanism, length=length)
    ...     print(len(blur.release("A dog!", inkblur.seeded_rng(1)).text.split()))
    8
    3
    2
    """

    mechanism: WordMechanism

    def __init__(
        self,
        mechanism: WordMechanism,
        *,
        release: ReleaseKind | str = ReleaseKind.SEQUENCE,
        policies: TokenPolicies | None = None,
        length: int | str | None = None,
    ) -> None:
        if not isinstance(mechanism, WordMechanism):
            raise ParameterError(
                f"mechanism must be a word mechanism such as Laplace(embedding, epsilon=2.0), "
                f"got {mechanism!r}"
            )
        if policies is not None and not isinstance(policies, TokenPolicies):
            raise ParameterError(
                f"policies must be TokenPolicies, such as TokenPolicies.of(keep=['numbers']), "
                f"got {policies!r}"
            )
        self.mechanism = mechanism
        self.kind = choose(ReleaseKind, release, "release")
        self.policies = policies if policies is not None else TokenPolicies()
        given = text_length(length)
        self.exact = given == EXACT
        self.length = given if isinstance(given, int) else None
        self.on_grid = given is None  # texts are filled to the next of `SIZES`
        if self.kind is ReleaseKind.TF:
            raise ParameterError("a tf release is made by SyntheticVectors, not by Privatizer")
        if self.kind is ReleaseKind.BAG and self.policies.kept:
            raise ParameterError(
                f"a bag copies nothing: blur or drop {', '.join(self.policies.kept)} instead"
            )
        self._analyst = Analyst(mechanism.embedding, self.policies)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised about each text."""
        some = ", ".join(map(str, SIZES[:6]))
        shown: tuple[str, ...] = (
            f"the size of each text: its number of words, rounded up to {some} and so on",
        )
        if self.exact:
            shown = ("the number of words",)
        elif self.length is not None:
            # What is copied stands before the filling, and so shows where that begins.
            shorter = f"the number of words of texts shorter than {self.length}"
            shown = (shorter,) if self.policies.kept else ()
        bag = self.kind is ReleaseKind.BAG
        return self.mechanism.guarantee.lifted(
            Unit.BAG if bag else Unit.SEQUENCE,
            size=self.length,
            passed=shown if bag else (*shown, *self.policies.passed()),
        )

    @property
    def unbounded(self) -> str:
        """What is copied tells some texts apart for certain."""
        if kept := self.policies.kept:
            return f"it copies {' and '.join(kept).replace('_', ' ')}"
        return super().unbounded

    @property
    def spec(self) -> str:
        """Everything the output law depends on: binds each record's stream to this release."""
        # Hashed with the key, so it keeps its letters: tests/laws/test_frozen_words.py.
        length = "grid" if self.on_grid else self.length
        return f"{self.mechanism.spec} {self.kind.value} length={length} {self.policies.spec()}"

    def size_of(self, words: int) -> int:
        """As how many words a text of so many is released."""
        return words if self.exact else self.length or next_size(words)

    @property
    def hides_length(self) -> bool:
        """Whether a missing or empty text comes out like any other."""
        return not self.exact

    @property
    def fewest(self) -> int:
        """How many words are drawn for an empty text."""
        return self.size_of(0)

    def read(self, texts: Sequence[str]) -> Reading:
        """The texts as ids of words, cut or filled to their released size."""
        analyses = [self._analyst.read(text) for text in texts]
        ids = [self._fitted(analysis) for analysis in analyses]
        entering = tuple((part.tobytes(),) for part in ids)
        return Reading(tuple(map(len, ids)), entering, (analyses, ids))

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[str], Counter[str]]:
        """The released texts, and what became of every token."""
        analyses, ids = reading.state
        filling: list[NDArray[np.bool_] | None] = [None] * len(ids)
        if self.on_grid:
            read = zip(analyses, reading.draws, streams, strict=True)
            chosen = [_places(len(each.ids), size, stream) for each, size, stream in read]
            ids = [_filled(each.ids, places) for each, places in zip(analyses, chosen, strict=True)]
            filling = [*chosen]
        joined = np.concatenate([np.empty(0, dtype=np.int64), *ids])
        drawn = self.mechanism.replace(joined, JoinedRows(streams, reading.draws))
        words = [self.mechanism.vocabulary[i] for i in drawn.tolist()]
        ends = np.cumsum(reading.draws).tolist()
        texts = [
            self._written(analysis, words[end - size : end], places)
            for analysis, places, size, end in zip(
                analyses, filling, reading.draws, ends, strict=True
            )
        ]
        return texts, self._counts(analyses, ids, joined, drawn)

    def _counts(
        self, analyses: Sequence[Analysis], ids: Sequence[Ids], joined: Ids, drawn: Ids
    ) -> Counter[str]:
        """What became of every token of these documents; `files.summary` adds it up."""
        counts: Counter[str] = Counter()
        for analysis, entering in zip(analyses, ids, strict=True):
            counts.update(analysis.counts)
            counts["padding"] += max(0, len(entering) - len(analysis.ids))
            if len(entering) < len(analysis.ids):
                rest = analysis.slots[len(_cut(analysis.slots, len(entering))) :]
                counts["cut"] += sum(slot.copied is None or bool(slot.counted) for slot in rest)
                counts.subtract(Counter(slot.counted for slot in rest if slot.counted))
        counts["padding"] += sum(counts[f"{name} drop"] for name in WORD_CLASSES)
        known = joined != NULL_ID
        content = known & ~self._stop_words[joined]
        unchanged = self._survivors(ids, joined, drawn)
        counts["drawn"] = len(joined)
        counts["known"] = int(known.sum())
        counts["null"] = len(joined) - counts["known"] - counts["padding"]
        counts["unchanged"] = int(unchanged.sum())
        counts["content"] = int(content.sum())
        counts["content unchanged"] = int((unchanged & content).sum())
        return counts

    def _survivors(self, ids: Sequence[Ids], joined: Ids, drawn: Ids) -> NDArray[np.bool_]:
        """Which true words come out: in their place, or of a bag as often as the bag shows them."""
        if self.kind is not ReleaseKind.BAG:
            same: NDArray[np.bool_] = joined == drawn  # the null word never comes out
            return same
        survived = np.zeros(len(joined), dtype=bool)
        end = 0
        for entering in ids:
            start, end = end, end + len(entering)
            left = Counter(drawn[start:end].tolist())
            for place, word in enumerate(entering.tolist(), start):
                if left[word] > 0:
                    left[word] -= 1
                    survived[place] = True
        return survived

    @cached_property
    def _stop_words(self) -> NDArray[np.bool_]:
        """Which words of the vocabulary are stop words, by id; last, the null word is none."""
        stop = [folded(word) in STOP_WORDS for word in self.mechanism.vocabulary]
        return np.array([*stop, False])

    @property
    def in_place(self) -> bool:
        """Whether the words of a text come out in their order, whatever stands between them."""
        return self.kind is ReleaseKind.SEQUENCE and self.length is None

    @property
    def plain(self) -> bool:
        """Whether all is as usual: what the risk of a strength was measured on, with lengths shown
        and hidden.
        """
        return self.kind is ReleaseKind.SEQUENCE and self.policies == TokenPolicies()

    def forget(self) -> None:
        """Remember nothing of the texts that were read and drawn."""
        super().forget()
        self._analyst.forget()
        self.mechanism.forget()

    def fates(self, text: str) -> list[tuple[Token, Treatment | None]]:
        """Each token of this text and what becomes of it; None of signs, which are no words."""
        return self._analyst.fates(text)

    def released(self, text: str) -> Analysis:
        """This text as it is released, its filling at the end, and what is copied."""
        analysis = self._analyst.read(text)
        ids, slots = self._fitted(analysis).tolist(), self._slots(analysis)
        return Analysis(ids, slots, analysis.counts)

    def shown_words(self, text: str) -> int:
        """How many pieces between spaces its release has: anybody can count them."""
        analysis = self._analyst.read(text)
        return len(self._written(analysis, ["x"] * len(self._fitted(analysis))).split())

    def counts(self, text: str) -> Counter[str]:
        """What its tokens are, by class and what becomes of them."""
        return self._analyst.read(text).counts

    def copied(self, text: str) -> int:
        """How many words of this text are copied, as far as the release's length reaches."""
        return copied_words(
            Counter(slot.counted for slot in self._slots(self._analyst.read(text)))
        )[0]

    def ids(self, text: str) -> Ids:
        """The ids that would enter the mechanism, cut or filled at the end: for distances."""
        return self._fitted(self._analyst.read(text))

    def _fitted(self, analysis: Analysis) -> Ids:
        ids = np.asarray(analysis.ids, dtype=np.int64)
        size = self.size_of(len(ids))
        cut = ids[:size]
        return np.concatenate([cut, np.full(size - len(cut), NULL_ID, dtype=np.int64)])

    def _written(
        self, analysis: Analysis, words: list[str], filling: NDArray[np.bool_] | None = None
    ) -> str:
        if self.kind is ReleaseKind.BAG:
            return " ".join(sorted(words))
        if not self.policies.kept:
            return " ".join(words)
        slots = self._slots(analysis)
        if filling is not None:
            slots = with_filling(slots, filling.tolist())
        return assemble(slots, words)

    def _slots(self, analysis: Analysis) -> list[Slot]:
        return analysis.slots if self.length is None else _cut(analysis.slots, self.length)


def _places(words: int, size: int, stream: Rng) -> NDArray[np.bool_]:
    """Which of the words of a released text are filling: of its own stream, before any noise, so
    that whatever comes out says no more of a place than that it may be one.
    """
    filling = np.zeros(size, dtype=bool)
    if words < size:
        filling[stream.permutation(size)[words:]] = True
    return filling


def _filled(ids: Sequence[int], filling: NDArray[np.bool_]) -> Ids:
    entering = np.full(len(filling), NULL_ID, dtype=np.int64)
    entering[~filling] = ids
    return entering


def _cut(slots: list[Slot], length: int) -> list[Slot]:
    """The layout up to the last word that fits."""
    seen = 0
    for position, slot in enumerate(slots):
        if slot.copied is None:
            seen += 1
            if seen > length:
                return slots[:position]
    return slots
