"""Two inputs that an attacker must tell apart, and the attacker who knows everything else."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import Analyst, Slot
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.audit.claimed_metric import document_bound
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, Record, ReleaseKind, Unit

MOST_EXACT = 10  # words of a bag whose likelihood is still summed over all orders
SMOOTHING = 0.5  # added to every count: an output never seen is not impossible
_BLOCK = 4096  # outputs scored at a time
_DOCUMENTS = 1024  # documents released at a time

BoolArray = NDArray[np.bool_]


class Scorer(Protocol):
    """An attacker: says for each output how much likelier it is from the left input."""

    def scores(self, outputs: Ids) -> Array:
        """Log-likelihood ratios, one a row of outputs; above 0: left."""
        ...


class Pair(Protocol):
    """Two inputs under one release, and what is claimed about them."""

    subject: str
    bound: float  # claimed bound on the privacy loss; infinite where nothing is claimed

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """Independent outputs as ids, (trials, words); `right` says which input each comes from."""
        ...

    def learn(self, draws: int, rng: Rng) -> Scorer:
        """The attacker, taught by `draws` draws of every word involved."""
        ...


class WordPair:
    """Two words under a word mechanism."""

    def __init__(self, mechanism: WordMechanism, left: str, right: str) -> None:
        self._mechanism = mechanism
        self._left, self._right = (known(mechanism, word) for word in (left, right))
        if self._left == self._right:
            raise ParameterError(f"{left!r} twice is not a pair; give two different words")
        self.subject = f"the words {left!r} and {right!r}"
        ends = np.array([self._left]), np.array([self._right])
        self.bound = document_bound(mechanism, Unit.SEQUENCE, *ends)

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """One output word a trial, (trials, 1)."""
        ids = np.where(right, self._right, self._left).astype(np.int64)
        return self._mechanism.replace(ids, rng)[:, None]

    def learn(self, draws: int, rng: Rng) -> Attacker:
        """The attacker of this pair."""
        ends = np.array([self._left]), np.array([self._right])
        return Attacker(self._mechanism, *ends, Unit.SEQUENCE, draws, rng)


class DocumentPair:
    """Two texts under a privatizer: what it really releases is read back into words.

    The guarantee compares texts of one length that differ in nothing that is released as it is, so
    other pairs are refused: telling them apart is no attack.
    """

    def __init__(self, privatizer: Privatizer, left: str, right: str) -> None:
        self._privatizer = privatizer
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

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """One released text a trial, as the ids of its words, (trials, words)."""
        out = np.full((len(right), len(self._left)), NULL_ID, dtype=np.int64)
        embedding = self._privatizer.mechanism.embedding
        for start in range(0, len(right), _DOCUMENTS):
            records = [
                Record(str(start + i), self._texts[int(side)])
                for i, side in enumerate(right[start : start + _DOCUMENTS])
            ]
            for i, text in enumerate(self._privatizer.release_batch(records, rng).texts):
                ids = read_back(embedding, text)
                if len(ids) == out.shape[1]:  # otherwise the attacker sees nothing of it
                    out[start + i] = ids
        return out

    def learn(self, draws: int, rng: Rng) -> Attacker:
        """The attacker of this pair."""
        mechanism = self._privatizer.mechanism
        return Attacker(mechanism, self._left, self._right, self._unit, draws, rng)


class Attacker:
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
            stream = rng.child("attacker", str(id))
            out = mechanism.replace(np.full(draws, id, dtype=np.int64), stream)
            counts = np.bincount(out, minlength=len(mechanism.vocabulary))
            self._tables[id] = np.log((counts + SMOOTHING) / draws)

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


def known(mechanism: WordMechanism, word: str) -> int:
    """The word's id, or an error that names the vocabulary."""
    found = mechanism.embedding.id(word)
    if found == NULL_ID:
        raise ParameterError(
            f"the word {word!r} is not among the {len(mechanism.embedding):,} words of "
            f"{mechanism.embedding.name}"
        )
    return found


def accuracy_bound(loss: float) -> float:
    """What no attacker can exceed: e^L / (1 + e^L), guessing between two equally likely inputs.

    >>> accuracy_bound(0.0)
    0.5
    """
    return 1 / (1 + math.exp(-loss))


def _entering(privatizer: Privatizer, analyst: Analyst, text: str) -> Ids:
    ids = np.asarray(analyst.read(text).ids, dtype=np.int64)
    if privatizer.length is None:
        return ids
    padding = np.full(max(0, privatizer.length - len(ids)), NULL_ID, dtype=np.int64)
    return np.concatenate([ids[: privatizer.length], padding])


def _layout(slots: list[Slot]) -> list[tuple[str, str | None, str]]:
    return [(slot.gap, slot.copied, slot.capitals) for slot in slots]
