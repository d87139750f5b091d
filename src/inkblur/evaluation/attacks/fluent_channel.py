"""The channel of a staircase with a language model: P(out | word) at one place of one text.

What came out before a place is public, and so is the model: whoever reads a release computes the
same base q_t and with it how likely each word was to come out as it did. That is a question of how
many units are nearer to w than what came out, o:

    (those of frequencies, the same everywhere)  +  (those of the words that are expected).

The model's words are looked at only where the first sum leaves room: elsewhere o is not near w,
whatever is expected there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inkblur.mechanisms.staircase.expectation import Small
from inkblur.mechanisms.staircase.fluent import FluentStaircase
from inkblur.types import NULL_ID, Array, Ids

if TYPE_CHECKING:
    import torch

_WORDS = {"cpu": 128, "cuda": 1024}  # true words at a time
_PLACES = {"cpu": 64, "cuda": 512}  # places at a time
_FIRST = 4096  # nearest words that are looked at first
_ELEMENTS = {"cpu": 1 << 21, "cuda": 1 << 26}  # expected words at a time


@dataclass(frozen=True, slots=True, eq=False)
class _ReleasedWord:
    """A released word, and what the model expected where it stands."""

    out: int
    words: Small
    parts: Small


class FluentChannel:
    """P(out | word), place by place: exact, up to the rounding of floats.

    Whoever looks at words without their places has :meth:`likelihood`, which is that of the same
    staircase over frequencies alone: an approximation.
    """

    error = 0.0

    def __init__(self, mechanism: FluentStaircase) -> None:
        self.mechanism = mechanism
        self.size = len(mechanism.embedding)

    def likelihood(self, ids: Ids, outs: Ids) -> Array:
        """P(out | word) without regard to places, (ids, outs): approximate."""
        table: Array = self.mechanism.fixed.probabilities(ids)[:, outs]
        return table

    def by_place(self, texts: Sequence[Ids], words: Ids) -> list[Array]:
        """P(out | word) of released texts, one table (places, words) per text.

        NULL_ID among the words is the null word.
        """
        places = self._places(texts)
        table = np.empty((len(places), len(words)))
        for some, likely in self._blocks(places, words):
            table[:, some] = likely.cpu().numpy()
        return np.split(table, np.cumsum([len(text) for text in texts])[:-1])

    def mixed(self, texts: Sequence[Ids], words: Ids, shares: Array) -> list[Array]:
        """P(out) under each of several mixtures of words, one table (places, mixtures) per text.

        `shares` is (mixtures, words).
        """
        import torch

        places = self._places(texts)
        table = np.zeros((len(places), len(shares)))
        for some, likely in self._blocks(places, words):
            table += (likely @ torch.from_numpy(shares[:, some].T).to(likely.device)).cpu().numpy()
        return np.split(table, np.cumsum([len(text) for text in texts])[:-1])

    def _places(self, texts: Sequence[Ids]) -> list[_ReleasedWord]:
        expected = self.mechanism.expectations(texts)
        return [
            _ReleasedWord(int(out), *row)
            for text, rows in zip(texts, expected, strict=True)
            for out, row in zip(text, rows, strict=True)
        ]

    def _blocks(
        self, places: Sequence[_ReleasedWord], words: Ids
    ) -> Iterator[tuple[Ids, torch.Tensor]]:
        """Columns of `words`, and P(out | word) there, (places, columns)."""
        import torch

        steps, device = self.mechanism.steps, self.mechanism.model.device
        expected = _Expectations(self.mechanism, places)
        owned = expected.owned[:, None]  # c(o)
        null = np.flatnonzero(words == NULL_ID)
        if len(null):
            yield null, (owned.double() / steps.units).expand(-1, len(null))
        true = np.flatnonzero(words != NULL_ID)
        for start in range(0, len(true), _WORDS[device]):
            some = true[start : start + _WORDS[device]]
            with torch.inference_mode():
                nearer = expected.nearer(words[some]).T
                near = torch.minimum((steps.near - nearer).clamp(min=0), owned)
                likely = steps.low * owned.double() + steps.step * near.double()
                yield some, likely * 2.0**-steps.bits


class _Expectations:
    """What a model expected at some places, beside what came out there."""

    def __init__(self, mechanism: FluentStaircase, places: Sequence[_ReleasedWord]) -> None:
        import torch

        self._draws, self._near = mechanism.many_draws, mechanism.steps.near
        device = self._draws.device
        outs = [place.out for place in places]  # none, where no text has a word
        self._outs = torch.tensor(outs, dtype=torch.long, device=device)
        self._own = torch.zeros(len(places), dtype=torch.long, device=device)  # parts of o
        self._groups = []
        model_units = torch.zeros(len(places), dtype=torch.long, device=device)
        # Places of about as many expected words together: the rest of a row is padding.
        order = np.argsort([len(place.words) for place in places], kind="stable")
        for start in range(0, len(order), _PLACES[device]):
            rows = order[start : start + _PLACES[device]]
            group = self._group([places[row] for row in rows.tolist()], rows)
            mine = group.words == self._outs[group.rows, None]
            self._own[group.rows] = (group.parts * mine).sum(1)
            model_units[group.rows] = (group.units * mine).sum(1)
            self._groups.append(group)
        self.owned = self._draws.frequencies[self._outs] + model_units

    def _group(self, places: Sequence[_ReleasedWord], rows: Ids) -> _PaddedPlaces:
        import torch

        def padded(rows: Sequence[Small]) -> torch.Tensor:
            tensors = [torch.from_numpy(row.astype(np.int64)) for row in rows]
            return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True).to(device)

        device = self._draws.device
        parts = padded([place.parts for place in places])
        units = parts * (self._draws.followed // parts.sum(1, keepdim=True))
        words = padded([place.words for place in places])
        return _PaddedPlaces(torch.from_numpy(rows).to(device), words, parts, units)

    def _nearest(self, ranked: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The nearest words, as many as have T units of frequencies, and the sums of these."""
        count, words = min(_FIRST, ranked.shape[1]), ranked.shape[1]
        while True:
            nearest, order = ranked.topk(count, dim=1)
            reached = self._draws.frequencies[order].cumsum(1)
            if count == words or bool((reached[:, -1] >= self._near).all()):
                return nearest, reached
            count = min(4 * count, words)

    def nearer(self, words: Ids) -> torch.Tensor:
        """Units that are nearer to each word than what came out, (words, places).

        Where they are too many for what came out to be near, a smaller number that is too large.
        """
        import torch

        draws = self._draws
        ranked = draws.ranked(words)
        edge = ranked[:, self._outs] + draws.lifts[self._own]
        nearest, reached = self._nearest(ranked)
        count = torch.searchsorted(-nearest, -edge)  # how many of them are nearer
        nearer = reached.gather(1, (count - 1).clamp(min=0)) * (count > 0)
        for group in self._groups:
            word, row = (nearer[:, group.rows] < self._near).nonzero(as_tuple=True)
            most = max(1, _ELEMENTS[draws.device] // group.words.shape[1])
            for start in range(0, len(word), most):
                w, r = word[start : start + most], row[start : start + most]
                at = group.rows[r]
                own = ranked.flatten()[w[:, None] * ranked.shape[1] + group.words[r]]
                cut = edge[w, at][:, None]
                lifted = own + draws.lifts[group.parts[r]] > cut
                found = (group.units[r] * lifted).sum(1)
                # Frequencies' units of words that passed what came out by being lifted.
                passed = lifted & (own <= cut)
                found += (draws.frequencies[group.words[r]] * passed).sum(1)
                nearer[w, at] += found
        return nearer


@dataclass(frozen=True, slots=True, eq=False)
class _PaddedPlaces:
    """Places and the words expected there, padded with word 0 and no parts."""

    rows: torch.Tensor  # (places,): among all places
    words: torch.Tensor  # (places, width)
    parts: torch.Tensor
    units: torch.Tensor  # that follow the model
