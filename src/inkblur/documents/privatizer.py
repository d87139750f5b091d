"""Lifts a word mechanism to documents: sequences and bags, each with its guarantee."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import Analysis, Analyst, Slot, assemble, folded
from inkblur.documents.base import AnyTextPrivatizer, Reading
from inkblur.documents.policies import TokenPolicies, Treatment
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import Token
from inkblur.documents.word_shares import copied_words
from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import JoinedRows, Rng
from inkblur.types import NULL_ID, Ids, ReleaseKind, Unit, choose, fixed_length


class Privatizer(AnyTextPrivatizer):
    """Releases whole texts through a word mechanism.

    `sequence`: words replaced in place; the log-ratio is bounded by epsilon times the sum of word
    distances over positions (Mahalanobis paper, Theorem 1). `bag`: the same draws with their order
    destroyed (words sorted); bounded by epsilon N times Earth Mover's distance between bags of one
    size N (Earth Mover's paper, Theorem 1). `length` fixes N: longer documents are cut, shorter
    ones are filled with the null word, and the length no longer shows (unless a class is kept,
    which the guarantee then says).

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("laplace", table, epsilon=50.0)
    >>> blur = Privatizer(mechanism, release="bag", length=3)
    >>> len(blur.release("A dog!", inkblur.seeded_rng(1)).text.split())
    3
    """

    mechanism: WordMechanism

    def __init__(
        self,
        mechanism: WordMechanism,
        *,
        release: ReleaseKind | str = ReleaseKind.SEQUENCE,
        policies: TokenPolicies | None = None,
        length: int | None = None,
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
        self.length = fixed_length(length) if length is not None else None
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
        shown: tuple[str, ...] = ("the number of words",)
        if self.length is not None:
            # What is copied stands before the filling, and so shows where that begins.
            shorter = f"the number of words of texts shorter than {self.length}"
            shown = (shorter,) if self.policies.kept else ()
        bag = self.kind is ReleaseKind.BAG
        return self.mechanism.guarantee.lifted(
            Unit.BAG if bag else Unit.SEQUENCE,
            size=self.length,
            without=self.policies.without,
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
        kind = self.kind.value
        return f"{self.mechanism.spec} {kind} length={self.length} {self.policies.spec()}"

    def read(self, texts: Sequence[str]) -> Reading:
        """The texts as ids of words, cut or filled to `length`."""
        analyses = [self._analyst.read(text) for text in texts]
        ids = [self._fitted(analysis) for analysis in analyses]
        entering = tuple((part.tobytes(),) for part in ids)
        return Reading(tuple(map(len, ids)), entering, (analyses, ids))

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[str], Counter[str]]:
        """The released texts, and what became of every token."""
        analyses, ids = reading.state
        joined = np.concatenate([np.empty(0, dtype=np.int64), *ids])
        drawn = self.mechanism.replace(joined, JoinedRows(streams, reading.draws))
        words = [self.mechanism.vocabulary[i] for i in drawn.tolist()]
        ends = np.cumsum(reading.draws).tolist()
        texts = [
            self._written(analysis, words[end - size : end])
            for analysis, size, end in zip(analyses, reading.draws, ends, strict=True)
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
        """Whether each word stands where the true one stood."""
        return self.kind is ReleaseKind.SEQUENCE and self.length is None

    @property
    def plain(self) -> bool:
        """Whether all is as usual: what the risk of a strength was measured on, with lengths shown
        and hidden.
        """
        return self.kind is ReleaseKind.SEQUENCE and self.policies == TokenPolicies()

    def fates(self, text: str) -> list[tuple[Token, Treatment | None]]:
        """Each token of this text and what becomes of it; None of signs, which are no words."""
        return self._analyst.fates(text)

    def released(self, text: str) -> Analysis:
        """This text as it is released: its words cut or filled to `length`, and what is copied."""
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
        """The ids that would enter the mechanism, cut or filled to `length`: for distances."""
        return self._fitted(self._analyst.read(text))

    def _fitted(self, analysis: Analysis) -> Ids:
        ids = np.asarray(analysis.ids, dtype=np.int64)
        if self.length is None:
            return ids
        cut = ids[: self.length]
        return np.concatenate([cut, np.full(self.length - len(cut), NULL_ID, dtype=np.int64)])

    def _written(self, analysis: Analysis, words: list[str]) -> str:
        if self.kind is ReleaseKind.BAG:
            return " ".join(sorted(words))
        return assemble(self._slots(analysis), words)

    def _slots(self, analysis: Analysis) -> list[Slot]:
        return analysis.slots if self.length is None else _cut(analysis.slots, self.length)


def _cut(slots: list[Slot], length: int) -> list[Slot]:
    """The layout up to the last word that fits."""
    seen = 0
    for position, slot in enumerate(slots):
        if slot.copied is None:
            seen += 1
            if seen > length:
                return slots[:position]
    return slots
