"""The reading attack: which words stood in the text before it was blurred?

The reader knows the channel P(out | word) and has expectations about text: how common words are
(unigram), and, with a public file to learn from, which words follow which (trigrams). Bayes' rule
then says for every place of the released text how likely each true word is; no reader with these
expectations can do better (cf. Tong et al., "On the Vulnerability of Text Sanitization", 2025).

With trigrams the words of a text are read together, by the forward-backward algorithm over the
candidates of each place: the state is a pair of neighboring words, and

    f_t(b, c) = P(o_t | c) sum over a of f_{t-1}(a, b) p(c | a b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.candidates import Candidates, candidates
from inkblur.evaluation.attacks.channel import Channel
from inkblur.evaluation.attacks.language import Trigrams
from inkblur.types import Array, Ids

SURE = 0.9  # a reader who holds a word at least this likely is called sure of it


@dataclass(frozen=True, slots=True)
class Guesses:
    """What a reader takes each word of a text for, and how likely they hold that to be."""

    words: Ids  # (places,); the null word is the number of the vocabulary's words
    belief: Array  # (places,)


class Reader:
    """Reads releases of one channel.

    >>> from inkblur import Embedding, Exponential
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> channel = ExactChannel(Exponential(table, epsilon=4.0), 3)
    >>> reader = Reader(channel, np.array([0.5, 0.1, 0.35, 0.05]))
    >>> reader.read([np.array([[1], [2]])])[0].words.tolist()  # "dog" was rather a "cat"
    [0, 2]
    """

    def __init__(self, channel: Channel, prior: Array, *, kept: int = 12) -> None:
        if prior.shape != (channel.size + 1,):
            raise ParameterError(
                f"a prior over {channel.size} words and the null word is needed, got {prior.shape}"
            )
        self.channel, self.prior, self.kept = channel, prior, kept

    def candidates(self, texts: Sequence[Ids]) -> list[Candidates]:
        """What each place may have been. A text is (places, releases): the ids that came out."""
        if not texts:
            return []
        found = candidates(self.channel, self.prior, np.concatenate(texts), kept=self.kept)
        ends = np.cumsum([len(text) for text in texts])
        return [
            found.rows(np.arange(end - len(text), end))
            for end, text in zip(ends.tolist(), texts, strict=True)
        ]

    def read(self, texts: Sequence[Ids], trigrams: Trigrams | None = None) -> list[Guesses]:
        """The likeliest word at each place of each text, (places, releases)."""
        return [guessed(found, trigrams) for found in self.candidates(texts)]


def guessed(found: Candidates, trigrams: Trigrams | None = None) -> Guesses:
    """The likeliest candidates of one text: each by itself, or all together under trigrams.

    The mass of words that are no candidates stays with them: belief is not inflated by the cut.
    """
    belief = found.posterior
    if trigrams is not None and len(belief) > 2:
        belief = smoothed(found, trigrams) * (1.0 - found.rest)[:, None]
    best = belief.argmax(axis=1)[:, None]
    return Guesses(
        np.take_along_axis(found.words, best, axis=1)[:, 0],
        np.take_along_axis(belief, best, axis=1)[:, 0],
    )


def smoothed(found: Candidates, model: Trigrams) -> Array:
    """P(word | the released text), (places, kept), by forward-backward; rows sum to 1."""
    words, chance = found.words, found.likelihood
    first, second = words[0][:, None], words[1][None, :]
    forward = [
        _scaled(
            (model.prior[words[0]] * chance[0])[:, None]
            * model.after_one(first, second)
            * chance[1][None, :]
        )
    ]
    steps = model.after_two(
        words[:-2, :, None, None], words[1:-1, None, :, None], words[2:, None, None, :]
    )  # (places - 2, a, b, c)
    for step, likelihood in zip(steps, chance[2:], strict=True):
        forward.append(_scaled(np.einsum("ab,abc->bc", forward[-1], step) * likelihood))
    backward = np.ones_like(forward[0])
    belief = np.empty_like(chance)
    for place in range(len(steps), -1, -1):
        both = _scaled(forward[place] * backward)
        belief[place + 1] = both.sum(axis=0)
        if place == 0:
            belief[0] = both.sum(axis=1)
        else:
            ahead = backward * chance[place + 1]  # over (b, c)
            backward = _scaled(np.einsum("abc,bc->ab", steps[place - 1], ahead))
    return belief


def _scaled(table: Array) -> Array:
    total = table.sum()
    return table / total if total > 0 else np.full_like(table, 1.0 / table.size)
