"""The channel of a staircase with a language model: P(out | word) at one place of one text.

What came out before a place is public, and so is the model: whoever reads a release computes the
same base q_t and with it how likely each word was to come out as it did. The base is frequencies,
the same at every place, and the few words that the model expects. Where a word o stands in the
order around w is public too, so the units that are nearer to w than o are

    (those of frequencies, summed once for every w and o)  +  (the model's words that are nearer).
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
_PLACES = {"cpu": 64, "cuda": 128}  # places at a time


@dataclass(frozen=True, slots=True, eq=False)
class _Setting:
    """One released word, and what the model expected there."""

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
        """P(out | word) of released texts, one table (places, words) a text.

        NULL_ID among the words is the null word.
        """
        places = self._places(texts)
        table = np.empty((len(places), len(words)))
        for some, likely in self._blocks(places, words):
            table[:, some] = likely.cpu().numpy()
        return np.split(table, np.cumsum([len(text) for text in texts])[:-1])

    def mixed(self, texts: Sequence[Ids], words: Ids, shares: Array) -> list[Array]:
        """P(out) under each of several mixtures of words, one table (places, mixtures) a text.

        `shares` is (mixtures, words).
        """
        import torch

        places = self._places(texts)
        table = np.zeros((len(places), len(shares)))
        for some, likely in self._blocks(places, words):
            table += (likely @ torch.from_numpy(shares[:, some].T).to(likely.device)).cpu().numpy()
        return np.split(table, np.cumsum([len(text) for text in texts])[:-1])

    def _places(self, texts: Sequence[Ids]) -> list[_Setting]:
        expected = self.mechanism.expectations(texts)
        return [
            _Setting(int(out), *row)
            for text, rows in zip(texts, expected, strict=True)
            for out, row in zip(text, rows, strict=True)
        ]

    def _blocks(self, places: Sequence[_Setting], words: Ids) -> Iterator[tuple[Ids, torch.Tensor]]:
        """Columns of `words`, and P(out | word) there, (places, columns)."""
        import torch

        steps, device = self.mechanism.steps, self.mechanism.model.device
        outs = np.array([place.out for place in places], dtype=np.int64)
        units = np.array([self._units(place) for place in places], dtype=np.float64)
        owned = torch.from_numpy(units).to(device)[:, None]  # c(o)
        null = np.flatnonzero(words == NULL_ID)
        if len(null):
            yield null, (owned / steps.units).expand(-1, len(null))
        true = np.flatnonzero(words != NULL_ID)
        for start in range(0, len(true), _WORDS[device]):
            some = true[start : start + _WORDS[device]]
            nearer = self._nearer(places, outs, words[some])
            near = torch.minimum((steps.near - nearer).clamp(min=0.0), owned)
            yield some, (steps.low * owned + steps.step * near) * 2.0**-steps.bits

    def _units(self, place: _Setting) -> int:
        """c(o) at this place."""
        own = place.parts[place.words == place.out]
        factor = self.mechanism.followed // int(place.parts.sum())
        common = int(self.mechanism.frequencies[place.out])
        return common + (int(own[0]) * factor if len(own) else 0)

    def _nearer(self, places: Sequence[_Setting], outs: Ids, words: Ids) -> torch.Tensor:
        """Units that are nearer to each word than what came out, (places, words)."""
        import torch

        device = self.mechanism.model.device
        with torch.inference_mode():
            rank, before = self._ordered(words)
            nearer = before[:, torch.from_numpy(outs).to(device)].T.double()
            # Places of about as many expected words together: the rest of a row is padding.
            order = np.argsort([len(place.words) for place in places], kind="stable")
            for start in range(0, len(order), _PLACES[device]):
                some = order[start : start + _PLACES[device]]
                nearer[torch.from_numpy(some).to(device)] += self._expected_nearer(
                    [places[i] for i in some.tolist()], rank
                )
        return nearer

    def _ordered(self, words: Ids) -> tuple[torch.Tensor, torch.Tensor]:
        """The rank of every word around each of these, and the frequencies' units before it."""
        import torch

        draws = self.mechanism.many_draws
        order = draws.ranked(words).argsort(1, descending=True)
        units = torch.from_numpy(self.mechanism.frequencies).to(draws.device)[order]
        ranks = torch.arange(order.shape[1], device=draws.device, dtype=torch.int32)
        rank = torch.empty_like(order, dtype=torch.int32)
        rank.scatter_(1, order, ranks.expand_as(order))
        before = torch.empty_like(order)
        before.scatter_(1, order, units.cumsum(1) - units)
        return rank, before

    def _expected_nearer(self, places: Sequence[_Setting], rank: torch.Tensor) -> torch.Tensor:
        """Of the units that follow the model, those nearer than what came out, (places, words)."""
        import torch

        width = max(len(place.words) for place in places)
        words = np.zeros((len(places), width), dtype=np.int64)
        parts = np.zeros((len(places), width), dtype=np.float32)
        for row, place in enumerate(places):
            words[row, : len(place.words)] = place.words
            parts[row, : len(place.parts)] = place.parts
        factors = [float(self.mechanism.followed // int(place.parts.sum())) for place in places]
        device = rank.device
        outs = torch.tensor([place.out for place in places], device=device)
        nearer = rank[:, torch.from_numpy(words).to(device)] < rank[:, outs][:, :, None]
        # Whole numbers up to SCALE: float32 sums them exactly.
        sums = torch.einsum("wpx,px->pw", nearer.float(), torch.from_numpy(parts).to(device))
        return sums.double() * torch.tensor(factors, dtype=torch.double, device=device)[:, None]
