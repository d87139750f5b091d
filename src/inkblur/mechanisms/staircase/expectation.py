"""What a public language model offers the staircase: which words it expects after released ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Ids

Small = NDArray[np.int32]  # words, or their parts: there may be millions

# The model's probabilities are rounded to whole parts of this. Finer ones differ more often between
# machines; a word that gets no part is still within reach, by its frequency.
SCALE = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The words that a model expects next in several texts, with whole parts of :data:`SCALE`.

    Each text has at least one word; words without a part are left out.

    >>> expected = Expected(np.array([1, 2, 0]), np.array([3, 1, 2]), ends=np.array([2, 3]))
    >>> [(words.tolist(), parts.tolist()) for words, parts in expected]
    [([1, 2], [3, 1]), ([0], [2])]
    """

    words: Small  # of all texts, one text after the other, ascending within a text
    parts: Small
    ends: Ids  # (texts,): where each text's words end

    def __len__(self) -> int:
        """How many texts."""
        return len(self.ends)

    def __iter__(self) -> Iterator[tuple[Small, Small]]:
        """The words and parts of each text."""
        start = 0
        for end in self.ends.tolist():
            yield self.words[start:end], self.parts[start:end]
            start = end

    def some(self, texts: slice) -> Expected:
        """What is expected in these texts, which follow each other."""
        ends = self.ends[texts]
        first, stop = int(self.ends[texts.start - 1]) if texts.start else 0, int(ends[-1])
        return Expected(self.words[first:stop], self.parts[first:stop], ends - first)

    def digests(self) -> list[bytes]:
        """Of each text's words and parts: equal for equal expectations only."""
        out = []
        for words, parts in self:
            digest = hashlib.blake2b(words.astype("<i4", copy=False).data, digest_size=32)
            # As many as words, so no length is needed.
            digest.update(parts.astype("<i4", copy=False).data)
            out.append(digest.digest())
        return out


class ModelReading(Protocol):
    """A language model part of the way through some texts, which are numbered from 0.

    Its only inputs are how many texts there are, released words, and that a text has ended.
    """

    def waiting(self) -> Ids:
        """Texts whose next word the model is ready to expect; none when all have ended.

        Each of them is then added to or ended before this is asked again.
        """

    def expected(self, texts: Ids) -> Expected:
        """What comes next in these texts, all of them waiting."""

    def add(self, texts: Ids, words: Ids) -> list[str]:
        """Read the next released word of these texts; how each is written, with what precedes it.

        Punctuation and capitals follow from released words.
        """

    def end(self, texts: Ids) -> None:
        """These texts have no more words."""


class NextWords(Protocol):
    """A public language model over the words of one table."""

    name: str
    fingerprint: str  # of its weights, and of how it scores words
    device: str  # where it runs: cpu, or cuda
    together: int  # texts that advance together at most

    @property
    def circumstances(self) -> dict[str, str | float]:
        """What it expects by, and what may change the last bits of its floats."""

    def begin(self, texts: int) -> ModelReading:
        """Start this many texts."""
