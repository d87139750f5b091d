"""The audit of whole releases, for the laws: two texts under a privatizer, told apart by the words
that really come out.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from inkblur.documents.analysis import Analyst, Slot
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors, pick
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.audit import DRAWS, Audit, Pair, Scores, measure_loss
from inkblur.evaluation.claimed_metric import ClaimedMetric
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, Record, ReleaseKind, Unit

SMOOTHING = 0.5  # added to every count: an output never seen is not impossible
MOST_EXACT = 10  # words of a bag whose likelihood is still summed over all orders
_BLOCK = 4096  # outputs scored at a time
_DOCUMENTS = 1024  # documents released at a time


def audit_documents(
    privatizer: Privatizer | SyntheticVectors,
    left: str,
    right: str,
    *,
    rng: Rng,
    draws: int = DRAWS,
    confidence: float = 0.99,
) -> Audit:
    """Audit what a privatizer really releases, between two texts."""
    stream = rng.child("audit", privatizer.spec, left, right)
    texts: Pair = (
        VectorPair(privatizer, left, right, stream)
        if isinstance(privatizer, SyntheticVectors)
        else DocumentPair(privatizer, left, right, stream)
    )
    return measure_loss(texts, draws=draws, confidence=confidence)


class DocumentPair:
    """Two texts under a privatizer: what it really releases is read back into words.

    The guarantee compares texts of one length that differ in nothing that is released as it is, so
    other pairs are refused: telling them apart is no attack.
    """

    def __init__(self, privatizer: Privatizer, left: str, right: str, rng: Rng) -> None:
        self._privatizer, self._rng, self._drawn = privatizer, rng, 0
        self._texts = (left, right)
        analyst = Analyst(privatizer.mechanism.embedding, privatizer.policies)
        layouts = [_layout(analyst.read(text).slots) for text in self._texts]
        self._left, self._right = (_entering(privatizer, analyst, t) for t in self._texts)
        if len(self._left) != len(self._right) or not len(self._left):
            raise ParameterError(
                f"the texts have {len(self._left)} and {len(self._right)} words; the guarantee "
                "compares texts of one length above 0 (give the privatizer a fixed length=)"
            )
        bag = privatizer.kind is ReleaseKind.BAG
        if not bag and layouts[0] != layouts[1]:
            raise ParameterError(
                "the texts differ in what the release shows as it is (sentence ends, or tokens "
                "that are kept), which the guarantee names as not protected; compare texts that "
                "agree there"
            )
        self._unit = Unit.BAG if bag else Unit.SEQUENCE
        self.subject = f"two texts of {len(self._left)} words, released as a {self._unit.value}"
        self.bound = document_bound(privatizer.mechanism, self._unit, self._left, self._right)

    def draw(self, right: bool, draws: int) -> Ids:
        """One released text a trial, as the ids of its words, (trials, words)."""
        out = np.full((draws, len(self._left)), NULL_ID, dtype=np.int64)
        embedding = self._privatizer.mechanism.embedding
        for start in range(0, draws, _DOCUMENTS):
            records = _records(self._texts[right], self._drawn, min(_DOCUMENTS, draws - start))
            self._drawn += len(records)
            for i, text in enumerate(self._privatizer.release_batch(records, self._rng).texts):
                ids = read_back(embedding, text)
                if len(ids) == out.shape[1]:  # otherwise the attacker sees nothing of it
                    out[start + i] = ids
        return out

    def learn(self, draws: int) -> Scores:
        """The attacker of this pair."""
        mechanism, stream = self._privatizer.mechanism, self._rng.child("lessons")
        known = mechanism, self._left, self._right, self._unit, draws, stream
        return DocumentAttacker(*known).scores


class DocumentAttacker:
    """Knows the mechanism and both inputs, and scores an output by its log-likelihood ratio.

    Word probabilities are estimated from `draws` draws of every input word. Sequences: the sum of
    log-ratios over positions. Bags of at most MOST_EXACT words: the likelihood of a multiset is
    the permanent of the matrix P(output j | input i), summed over subsets; larger bags take each
    word from the mean of the inputs' distributions, which is a weaker attacker. A bound measured
    by any attacker is valid.
    """

    def __init__(
        self, mechanism: WordMechanism, left: Ids, right: Ids, unit: Unit, draws: int, rng: Rng
    ) -> None:
        if unit is Unit.SEQUENCE:  # positions with the same word say nothing
            self._positions = np.flatnonzero(left != right)
            left, right = left[self._positions], right[self._positions]
        self._left, self._right, self._unit = left.tolist(), right.tolist(), unit
        self._tables: dict[int, Array] = {}
        for id in sorted({*self._left, *self._right}):
            self._tables[id] = log_frequencies(mechanism, id, draws, rng)

    def scores(self, outputs: Ids) -> Array:
        """log P(output | left) - log P(output | right), estimated, one a row; above 0: left."""
        scores = np.empty(len(outputs))
        for start in range(0, len(outputs), _BLOCK):
            block = outputs[start : start + _BLOCK]
            scored = self._sequences(block) if self._unit is Unit.SEQUENCE else self._bags(block)
            scores[start : start + _BLOCK] = np.where((block == NULL_ID).any(axis=1), 0.0, scored)
        return scores

    def _sequences(self, outputs: Ids) -> Array:
        scores = np.zeros(len(outputs))
        for position, left, right in zip(self._positions, self._left, self._right, strict=True):
            out = outputs[:, position]
            scores += self._tables[left][out] - self._tables[right][out]
        return scores

    def _bags(self, outputs: Ids) -> Array:
        left = self._bag_likelihood(outputs, self._left)
        return left - self._bag_likelihood(outputs, self._right)

    def _bag_likelihood(self, outputs: Ids, inputs: list[int]) -> Array:
        logs = np.stack([self._tables[id][outputs] for id in inputs], axis=2)  # (n, out, in)
        tops = logs.max(axis=2, keepdims=True)
        scaled = np.exp(logs - tops)
        if len(inputs) > MOST_EXACT:
            mixed: Array = (np.log(scaled.mean(axis=2)) + tops[:, :, 0]).sum(axis=1)
            return mixed
        exact: Array = np.log(permanents(scaled)) + tops[:, :, 0].sum(axis=1)
        return exact


def permanents(matrices: Array) -> Array:
    """Permanents of (n, N, N) non-negative matrices, by subsets: 2^N N products, no cancellation.

    >>> permanents(np.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [10.0]
    """
    size = matrices.shape[1]
    sums = [np.ones(len(matrices))]
    for subset in range(1, 1 << size):
        row = subset.bit_count() - 1
        total = np.zeros(len(matrices))
        for column in range(size):
            if subset >> column & 1:
                total += matrices[:, row, column] * sums[subset ^ (1 << column)]
        sums.append(total)
    return sums[-1]


def read_back(embedding: Embedding, text: str) -> list[int]:
    """The ids of a released text's words; full stops that the release added are set aside."""
    ids = []
    for piece in text.split():
        for form in (piece, piece.rstrip("."), piece.lower(), piece.lower().rstrip(".")):
            found = embedding.id(form)
            if found != NULL_ID:
                ids.append(found)
                break
        else:
            if piece.strip("."):
                ids.append(NULL_ID)
    return ids


def document_bound(mechanism: WordMechanism, unit: Unit, left: Ids, right: Ids) -> float:
    """The claimed bound between two documents of one size, given as ids.

    Sequences: epsilon times the sum of distances over positions. Bags: epsilon N times Earth
    Mover's distance, which for bags of one size N is the cheapest assignment's sum divided by N.
    """
    if len(left) != len(right):
        raise ParameterError(f"texts of {len(left)} and {len(right)} words have no common bound")
    if unit is Unit.SEQUENCE:
        return float(word_bounds(mechanism, left, right).sum())
    if unit is Unit.BAG:
        rows, columns = np.repeat(left, len(right)), np.tile(right, len(left))
        losses = word_bounds(mechanism, rows, columns).reshape(len(left), len(right))
        # An assignment cannot weigh infinities; where nothing is claimed, equal bags still cost 0.
        finite = np.where(np.isfinite(losses), losses, 1e300)
        total = float(finite[linear_sum_assignment(finite)].sum())
        return total if total < 1e300 else math.inf
    raise ParameterError(f"a {unit.value} has no bound between two documents of words")


class VectorPair:
    """Two texts, whatever they say: the guarantee makes any two documents adjacent.

    The bound is n times the mechanism's loss for vectors of n terms (SynTF, Theorem 3.3).
    """

    def __init__(self, synthetic: SyntheticVectors, left: str, right: str, rng: Rng) -> None:
        self._synthetic, self._rng, self._drawn = synthetic, rng, 0
        self._texts = (left, right)
        self.subject = f"two texts, released as vectors of {synthetic.length} terms"
        self.bound = synthetic.guarantee.loss(0.0)

    def draw(self, right: bool, draws: int) -> Ids:
        """One released vector a trial, written out as ids, (trials, length)."""
        out = np.empty((draws, self._synthetic.length), dtype=np.int64)
        for start in range(0, draws, _DOCUMENTS):
            records = _records(self._texts[right], self._drawn, min(_DOCUMENTS, draws - start))
            self._drawn += len(records)
            counts = self._synthetic.vectors(records, self._rng).vectors
            terms = np.repeat(counts.indices, counts.data)
            out[start : start + _DOCUMENTS] = terms.reshape(len(records), -1)
        return out

    def learn(self, draws: int) -> Scores:
        """The attacker of this pair."""
        stream = self._rng.child("lessons")
        return VectorAttacker(self._synthetic, self._texts, draws, stream).scores


class VectorAttacker:
    """Scores a vector by its log-likelihood ratio: terms are independent draws from one law.

    A document's law is the mean of its terms' distributions, weighted by their shares; it is
    estimated from `draws` draws.
    """

    def __init__(
        self, synthetic: SyntheticVectors, texts: tuple[str, str], draws: int, rng: Rng
    ) -> None:
        logs = []
        for side, text in zip(("left", "right"), texts, strict=True):
            stream = rng.child("vector attacker", side)
            ids, shares = synthetic.vectorizer.composition(text)
            terms = pick(ids, shares, stream.rows(draws, 1)[:, 0])
            out = synthetic.mechanism.replace(terms, stream.child("mechanism"))
            counts = np.bincount(out, minlength=len(synthetic.mechanism.vocabulary))
            logs.append(np.log((counts + SMOOTHING) / draws))
        self._ratios: Array = logs[0] - logs[1]

    def scores(self, outputs: Ids) -> Array:
        """log P(vector | left) - log P(vector | right), estimated, one a row; above 0: left."""
        scores: Array = self._ratios[outputs].sum(axis=1)
        return scores


def word_bounds(mechanism: WordMechanism, left: Ids, right: Ids) -> Array:
    """The claimed bound on the privacy loss between words, pair by pair."""
    distances = ClaimedMetric(mechanism).between(left, right)
    if not mechanism.guarantee.private:
        return np.where(distances == 0, 0.0, math.inf)
    return mechanism.guarantee.epsilon * distances


def log_frequencies(mechanism: WordMechanism, id: int, draws: int, rng: Rng) -> Array:
    """How often each word comes out for this one, estimated from `draws` draws, as logarithms."""
    stream = rng.child("attacker", str(id))
    out = mechanism.replace(np.full(draws, id, dtype=np.int64), stream)
    counts = np.bincount(out, minlength=len(mechanism.vocabulary))
    return np.log((counts + SMOOTHING) / draws)


def _records(text: str, first: int, count: int) -> list[Record]:
    """The same text under ids of their own, so that every draw is another one."""
    return [Record(str(first + i), text) for i in range(count)]


def _entering(privatizer: Privatizer, analyst: Analyst, text: str) -> Ids:
    ids = np.asarray(analyst.read(text).ids, dtype=np.int64)
    if privatizer.length is None:
        return ids
    padding = np.full(max(0, privatizer.length - len(ids)), NULL_ID, dtype=np.int64)
    return np.concatenate([ids[: privatizer.length], padding])


def _layout(slots: list[Slot]) -> list[tuple[str, str | None]]:
    return [(slot.gap, slot.copied) for slot in slots]
