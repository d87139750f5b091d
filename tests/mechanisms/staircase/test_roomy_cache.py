"""What a network keeps of the tokens it has read: as transformers' own cache, without the copies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers
from transformers.cache_utils import DynamicLayer

from inkblur.mechanisms.staircase.roomy_cache import RoomyLayer, roomy_cache

ROOM = 40
operations = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.integers(1, 3)),
        st.tuples(st.just("repeat"), st.integers(1, 3)),
        st.tuples(st.just("select"), st.lists(st.integers(0, 9), min_size=1, max_size=4)),
    ),
    max_size=10,
)


@settings(deadline=None)
@given(operations)
def test_it_keeps_what_concatenation_keeps(steps: list[tuple[str, Any]]) -> None:
    texts = 2
    plain: Any = DynamicLayer
    layers = (RoomyLayer(ROOM, []), plain())
    for what, how in [*steps, ("update", 1)]:
        if what == "update":
            keys, values = torch.randn(2, texts, 3, how, 4)
            ours, theirs = (layer.update(keys, values) for layer in layers)
            assert all(map(torch.equal, ours, theirs))
        elif layers[1].get_seq_length():
            rows = [row % texts for row in how] if what == "select" else []
            for layer in layers:
                if what == "select":
                    layer.batch_select_indices(torch.tensor(rows))
                else:
                    layer.batch_repeat_interleave(how)
            texts = len(rows) or texts * how
        assert layers[0].get_seq_length() == layers[1].get_seq_length()


def test_a_token_moves_no_other() -> None:
    layer = RoomyLayer(ROOM, [])
    token = torch.randn(5, 3, 1, 4)
    for _ in range(3):
        layer.update(token, token)
        layer.batch_select_indices(torch.tensor([0, 0, 1]))  # the room is not lost by this
        token = token[:3]
        places = {tuple(kept.data_ptr() for kept in layer.update(token, token)) for _ in range(3)}
        assert len(places) == 1


def test_a_new_cache_takes_the_memory_of_the_old() -> None:
    config = transformers.LlamaConfig(num_hidden_layers=2)
    token = torch.randn(5, 3, 1, 4)
    old = roomy_cache(config, ROOM)
    places = [kept.data_ptr() for kept in old.update(token, token, 0)]
    for _ in range(2):
        old = roomy_cache(config, ROOM, old)
        assert old.get_seq_length() == 0
        keys, values = old.update(2 * token, token, 0)
        assert [keys.data_ptr(), values.data_ptr()] == places
        assert torch.equal(keys, 2 * token)


def test_layers_that_keep_something_else_stay_as_they_are() -> None:
    sliding = transformers.MistralConfig(num_hidden_layers=2, sliding_window=8)
    own = [type(layer) for layer in transformers.DynamicCache(config=sliding).layers]
    assert [type(layer) for layer in roomy_cache(sliding, ROOM).layers] == own
    plain = transformers.LlamaConfig(num_hidden_layers=2)
    assert [type(layer) for layer in roomy_cache(plain, ROOM).layers] == [RoomyLayer] * 2
