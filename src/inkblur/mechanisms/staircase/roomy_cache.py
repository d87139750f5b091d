"""What a network keeps of the tokens it has read, with room for those to come.

The cache of transformers grows by concatenation, so each token copies all that came before it. On a
CPU that took a quarter of the time of a release, and left its memory in pieces of every size.
"""

# transformers is typed in part, and not installed everywhere.
# mypy: disable-error-code="misc, no-untyped-call"

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer


def roomy_cache(config: Any, room: int, old: DynamicCache | None = None) -> DynamicCache:
    """An empty cache for a network of this configuration, for `room` tokens of each text at most.

    It takes the memory of an `old` one, which is of no more use then. Layers that do not keep all
    tokens, such as those with a sliding window, stay as they are.
    """
    cache = DynamicCache(config=config)
    for place, layer in enumerate(cache.layers):
        if type(layer) is DynamicLayer:
            before = None if old is None else old.layers[place]
            buffers = before.buffers if isinstance(before, RoomyLayer) else []
            cache.layers[place] = RoomyLayer(room, buffers)
    return cache


class RoomyLayer(DynamicLayer):
    """Keys and values of one layer, (texts, heads, tokens, numbers): the front of two buffers."""

    is_initialized: bool

    def __init__(self, room: int, buffers: list[torch.Tensor]) -> None:
        super().__init__()
        self._room = room
        self.buffers = buffers

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new tokens behind the others; then those of all tokens."""
        new, start = (key_states, value_states), self.get_seq_length()
        if not self.is_initialized:
            self.dtype, self.device = key_states.dtype, key_states.device
            self.is_initialized = True
            self._make_room(len(key_states), *new)
        end = start + key_states.shape[-2]
        for buffer, each in zip(self.buffers, new, strict=True):
            buffer[:, :, start:end] = each
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
        return self.keys, self.values

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Take each text so many times."""
        if self.keys is None or self.values is None:
            return  # nothing was read yet
        kept, tokens = (self.keys, self.values), self.get_seq_length()
        texts = len(self.keys)
        self._make_room(texts * repeats, *kept)
        for buffer, each in zip(self.buffers, kept, strict=True):
            # Straight into the buffer: a copy between the two would leave a hole in the memory.
            buffer.unflatten(0, (texts, repeats))[:, :, :, :tokens] = each[:, None]
        self.keys, self.values = (buffer[:, :, :tokens] for buffer in self.buffers)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep these texts alone."""
        if self.keys is None or self.values is None:
            return  # nothing was read yet
        kept, tokens = (self.keys, self.values), self.get_seq_length()
        self._make_room(len(indices), *kept)
        for buffer, each in zip(self.buffers, kept, strict=True):
            buffer[:, :, :tokens] = each[indices]
        self.keys, self.values = (buffer[:, :, :tokens] for buffer in self.buffers)

    def _make_room(self, texts: int, *like: torch.Tensor) -> None:
        """Buffers for so many texts: new ones only if there are more than before."""
        if not self.buffers or len(self.buffers[0]) < texts:
            self.buffers = [
                each.new_empty((texts, each.shape[1], self._room, each.shape[3])) for each in like
            ]
        self.buffers = [buffer[:texts] for buffer in self.buffers]
