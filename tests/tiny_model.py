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
    save_tokenizer(folder, made._tokenizer)
    library.set_seed(1)
    config = library.LlamaConfig(**sizes(made.get_vocab_size()), initializer_range=spread)
    library.LlamaForCausalLM(config).save_pretrained(folder)


def save_tokenizer(folder: Path, made: Any) -> None:
    """A tokenizer for the model of this folder."""
    library: Any = importlib.import_module("transformers")
    library.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>").save_pretrained(folder)


def sizes(tokens: int) -> dict[str, int]:
    """Of a tiny transformer."""
    return {
        "vocab_size": tokens,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 1024,
    }


def spacing_tokenizer(texts: Sequence[str], tokens: int) -> Any:
    """One that puts a space of its own before every text, as those of Llama 2 and Mistral do."""
    library: Any = importlib.import_module("tokenizers")
    made = library.Tokenizer(library.models.BPE(unk_token="<unk>"))
    cut = library.pre_tokenizers
    made.pre_tokenizer = cut.Sequence([cut.Metaspace(), cut.Punctuation()])
    trainer = library.trainers.BpeTrainer(vocab_size=tokens, special_tokens=["<unk>", "<s>"])
    made.train_from_iterator(texts, trainer)
    # What those have instead: every space is a sign like any other, and one stands in front.
    made.pre_tokenizer = None
    made.normalizer = library.normalizers.Sequence(
        [library.normalizers.Prepend("\u2581"), library.normalizers.Replace(" ", "\u2581")]
    )
    return made
