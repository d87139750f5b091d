"""Judges of fluency that had no part in a release, and an encoder of sentences."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from inkblur.evaluation import NULL_ID, Array, Ids, Trigrams, open_model

_WORDS = 20_000  # the commonest words of a table; the network knows the others as one
_STATE = 512
_SPAN = 64  # words that the network learns from in one go
_READ = 8  # texts that a causal model reads at a time


def trigram_logs(model: Trigrams, text: Ids) -> Array:
    """Log-probabilities of the words of a text, one after the other."""
    ids = np.where(text == NULL_ID, model.size, text)
    first = model.prior[ids[:1]]
    second = model.after_one(ids[:1], ids[1:2])
    rest = model.after_two(ids[:-2], ids[1:-1], ids[2:])
    logs: Array = np.log(np.concatenate([first, second, rest]))
    return logs


class RecurrentJudge:
    """A recurrent network (LSTM) over words, trained here on public texts for some seconds."""

    def __init__(self, texts: Sequence[Ids], size: int, *, seconds: float, seed: int = 1) -> None:
        import torch

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._unknown = min(_WORDS, size)  # one id for all words beyond
        self._start = self._unknown + 1
        torch.manual_seed(seed)
        words = self._start + 1
        self._parts: Any = torch.nn.ModuleDict(
            {
                "words": torch.nn.Embedding(words, _STATE),
                "state": torch.nn.LSTM(_STATE, _STATE, batch_first=True),
                "drop": torch.nn.Dropout(0.3),
                "out": torch.nn.Linear(_STATE, words),
            }
        ).to(self._device)
        self._parts["out"].weight = self._parts["words"].weight
        stream = np.concatenate([np.append(self._start, self._known(text)) for text in texts])
        rows = torch.from_numpy(stream[: len(stream) // _SPAN * _SPAN].reshape(-1, _SPAN))
        steps = torch.optim.AdamW(self._parts.parameters(), lr=2e-3)
        began = time.monotonic()
        self._parts.train()
        while time.monotonic() - began < seconds:
            some = rows[torch.randint(len(rows), (64,))].to(self._device)
            logits = self._logits(some[:, :-1])
            loss: Any = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), some[:, 1:].flatten()
            )
            steps.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._parts.parameters(), 1.0)
            steps.step()
        self._parts.eval()

    def _known(self, text: Ids) -> Ids:
        return np.where((text == NULL_ID) | (text >= self._unknown), self._unknown, text)

    def _logits(self, ids: Any) -> Any:
        parts = self._parts
        states, _ = parts["state"](parts["drop"](parts["words"](ids)))
        return parts["out"](parts["drop"](states))

    def logs(self, texts: Sequence[Ids]) -> list[Array]:
        """Log-probabilities of the words of each text that the network knows."""
        import torch

        out = []
        for text in texts:
            ids = torch.from_numpy(np.append(self._start, self._known(text)))[None].to(self._device)
            with torch.inference_mode():
                logs = self._logits(ids[:, :-1]).log_softmax(-1)
                own = logs.gather(2, ids[:, 1:, None])[0, :, 0].double().cpu().numpy()
            out.append(own[self._known(text) != self._unknown])
        return out


class CausalJudge:
    """A causal language model that had no part in the release; `place` is its folder or file."""

    def __init__(self, place: str) -> None:
        import torch

        self._opened = open_model(place)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network = self._opened.network.to(self._device)

    def logs(self, texts: Sequence[str]) -> list[Array]:
        """Log-probabilities of the words of each text: sums over their tokens."""
        import torch

        out = []
        for first in range(0, len(texts), _READ):
            words = [self._opened.tokens(text.split()) for text in texts[first : first + _READ]]
            rows = [[token for word in own for token in word] for own in words]
            width = max(map(len, rows))
            # A causal model does not see what stands on the right.
            padded = [[self._opened.start, *row, *[0] * (width - len(row))] for row in rows]
            ids = torch.tensor(padded, device=self._device)
            with torch.inference_mode():
                logits = self._network(ids[:, :-1]).logits.float()
                logs = logits.gather(2, ids[:, 1:, None])[:, :, 0] - logits.logsumexp(-1)
            for row, own, read in zip(logs.double().cpu().numpy(), words, rows, strict=True):
                starts = np.cumsum([0, *map(len, own)])[:-1]
                out.append(np.add.reduceat(row[: len(read)], starts))
        return out


class SentenceEncoder:
    """The sentence model all-MiniLM-L6-v2, from a folder."""

    def __init__(self, folder: str) -> None:
        import torch
        import transformers

        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.float().eval().to(self._device)

    def encoded(self, texts: Sequence[str]) -> Array:
        """Unit vectors, (texts, 384): means of token states."""
        import torch

        vectors = []
        for text in texts:
            with torch.inference_mode():
                tokens = self._tokenizer(text, return_tensors="pt", truncation=True)
                states = self._model(**tokens.to(self._device)).last_hidden_state
            vectors.append(states.mean(dim=1)[0].double().cpu().numpy())
        table = np.stack(vectors)
        normalized: Array = table / np.linalg.norm(table, axis=1, keepdims=True)
        return normalized
