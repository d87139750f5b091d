"""A sentence transformer as a pool's encoder (extra `encoder`), from a folder on this machine.

The mean of the last layer over a text's pieces of words, as models such as all-MiniLM-L6-v2 were
trained to be used. Weights are read from safetensors alone: a pickle could run code.

Its floats differ a little between machines and versions of torch, and a release that is repeated
elsewhere may see a text at another point. Draws are bound to that point, so this costs nothing but
the repetition: it is a second release, and the ledger counts it as one. Texts are encoded one at a
time, because what stands beside a text in a batch changes its last bits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inkblur.errors import InputError, needs
from inkblur.pools.cleaning import MASKED
from inkblur.pools.encoder import Whole
from inkblur.types import Vectors

_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_PIECES = 256  # of words, at the beginning of a text
_FINE = 1 << 20  # 1 as a whole number
_LETTERS = re.compile(r"\w")


class TransformerEncoder:
    """Encodes texts by the transformer in `folder`."""

    exact = False

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        missing = [name for name in _FILES if not (self.folder / name).is_file()]
        if missing:
            raise InputError(
                f"{folder} holds no sentence transformer: {', '.join(missing)} is missing; give "
                "the folder with config.json, tokenizer.json and model.safetensors"
            )

    @cached_property
    def name(self) -> str:
        """What a pool was encoded with: rule and files."""
        digest = hashlib.sha256()
        for name in _FILES:
            with (self.folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"transformer 1 {digest.hexdigest()}"

    @property
    def dimension(self) -> int:
        """Of a point."""
        return int(self._model.config.hidden_size)

    @cached_property
    def _model(self) -> Any:
        with needs("a sentence transformer needs transformers", "encoder"):
            import torch
            from transformers import AutoModel

        with self._read():
            model = AutoModel.from_pretrained(
                self.folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
        return model.eval()

    @contextmanager
    def _read(self) -> Iterator[None]:
        """What the libraries raise on a damaged file, in one line."""
        try:
            yield
        except Exception as error:  # tokenizers and safetensors have exceptions of their own
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"no sentence transformer can be read from {self.folder}: {reason}"
            ) from None

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with self._read():
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        positions = getattr(self._model.config, "max_position_embeddings", _PIECES)
        tokenizer.enable_truncation(min(_PIECES, positions))
        tokenizer.no_padding()  # it would count as words
        return tokenizer

    def sums(self, texts: Sequence[str]) -> Whole:
        """Directions as whole numbers, (texts, dimension); 0 for a text without a letter."""
        return np.rint(self.directions(texts).astype(np.float64) * _FINE).astype(np.int64)

    def directions(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, (texts, dimension); 0 for a text without a letter."""
        import torch

        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        with torch.inference_mode(), _one_thread():
            for row, text in enumerate(texts):
                whole = text.encode(errors="replace").decode()  # no lone surrogates
                plain = MASKED.sub(" ", whole)
                if not _LETTERS.search(plain):
                    continue
                pieces = torch.tensor([self._tokenizer.encode(plain).ids])
                last = self._model(pieces).last_hidden_state[0]
                out[row] = torch.nn.functional.normalize(last.mean(dim=0), dim=0).numpy()
        return out


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread while inside: the last bits of a sum depend on how many there are.

    Torch keeps the number for each thread that calls it, so it is set wherever texts are encoded.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
