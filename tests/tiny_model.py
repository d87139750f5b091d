"""A causal language model with random weights, small enough to be made in a test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def save_tiny_model(folder: Path, texts: Sequence[str], tokens: int = 290) -> None:
    """A model of two layers, and a tokenizer learned from `texts`."""
    import tokenizers
    import transformers

    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(texts, vocab_size=tokens, special_tokens=["<s>"])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made._tokenizer, bos_token="<s>"
    ).save_pretrained(folder)
    transformers.set_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=1024,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
