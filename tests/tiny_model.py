"""A causal language model with random weights, small enough to be made in a test."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def save_tiny_model(
    folder: Path, texts: Sequence[str], tokens: int = 290, spread: float = 0.02
) -> None:
    """A model of two layers, and a tokenizer learned from `texts`.

    With weights of the usual `spread` it expects every token nearly alike, whatever it has read.
    """
    library: Any = importlib.import_module("transformers")
    tokenizers: Any = importlib.import_module("tokenizers")
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(texts, vocab_size=tokens, special_tokens=["<s>"])
    library.PreTrainedTokenizerFast(
        tokenizer_object=made._tokenizer, bos_token="<s>"
    ).save_pretrained(folder)
    library.set_seed(1)
    config = library.LlamaConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=1024,
        initializer_range=spread,
    )
    library.LlamaForCausalLM(config).save_pretrained(folder)
