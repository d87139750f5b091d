"""A causal language model as the next word's expectation: the one file that runs transformers.

A word is scored by its first token: the probability of a token is divided among the words that
begin with it, in proportion to their public frequencies. For a word of one token that no other word
begins with, this is the model's own probability; other words need no further pass. Inside a
sentence each word has one form, decided once: with a capital if the model expects it so after a few
neutral beginnings, as it does for names.

The model takes one token of each text at a time. A word of several tokens, or a punctuation mark,
keeps its own text busy for so many steps while the others move on, so nothing is ever padded.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.staircase.expectation import SCALE, Expected
from inkblur.mechanisms.staircase.model_files import BUNDLED, OpenedModel, open_model
from inkblur.types import Ids

if TYPE_CHECKING:
    import torch

_MARKS = (".", ",", "?", "!", ";", ":")
_ENDS = (".", "?", "!")
# What may be followed by almost any word: the model says after these which words have a capital.
_NEUTRAL = ("They talked about", "We heard that the", "This was sent by", "She went to see")
_NAME = 4.0  # a word is a name if its capital form is so many times as likely as the other
_CONTEXT = 256  # tokens that the model looks back on at most, and half of it at least
# Texts that advance together: on a CPU more would pass 2 GB of memory and gain nothing.
_TOGETHER = {"cpu": 32, "cuda": 1024}
_ENDED = 4  # rows of ended texts are given up when they are one in so many


class CausalModel:
    """A model over the words of a table; `place` is a folder, a .gguf file or :data:`BUNDLED`."""

    def __init__(self, embedding: Embedding, place: str = BUNDLED) -> None:
        opened = open_model(place)
        import torch

        self.name = place
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.together = _TOGETHER[self.device]
        self.network = opened.network.to(self.device)
        self.words = embedding.words
        self.start = opened.start
        self.fingerprint = f"{opened.sha256} first token {SCALE} context {_CONTEXT}"
        self.capitals = [_capital(word) for word in embedding.words]
        self.beginning = _Form(opened.tokens(self.capitals), embedding, self.network)
        plain = _Form(opened.tokens(self.words), embedding, self.network)
        self.names = self._names(opened, plain)
        forms = zip(self.names.tolist(), self.beginning.tokens, plain.tokens, strict=True)
        inside = [capital if name else small for name, capital, small in forms]
        self.inside = _Form(inside, embedding, self.network)
        self.tokens = opened.tokens
        marks = opened.tokens(list(_MARKS), space="")
        self.marks = {tokens[0]: mark for mark, tokens in zip(_MARKS, marks, strict=True)}

    @property
    def circumstances(self) -> dict[str, str | int]:
        """What may change the last bits of its floats."""
        import torch
        import transformers

        device = torch.cuda.get_device_name() if self.device == "cuda" else "cpu"
        return {
            "model_sha256": self.fingerprint.split()[0],
            "device": device,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "texts_together": self.together,
            "context_tokens": _CONTEXT,
        }

    def _names(self, opened: OpenedModel, plain: _Form) -> NDArray[np.bool_]:
        """Which words are written with a capital inside a sentence, (words,)."""
        import torch

        small = torch.zeros(len(self.words), device=self.device)
        capital = small.clone()
        for text in opened.tokens(_NEUTRAL, space=""):
            with torch.inference_mode():
                tokens = torch.tensor([[self.start, *text]], device=self.device)
                likely = self.network(tokens).logits[:, -1].float().softmax(-1)
            small += plain.likely(likely)[0]
            capital += self.beginning.likely(likely)[0]
        likelier: NDArray[np.bool_] = (capital > _NAME * small).cpu().numpy()
        # First tokens say little of long words. But a tokenizer has fewer tokens for the form that
        # it met more often.
        capitals, smalls = (
            np.array([len(tokens) for tokens in form.tokens]) for form in (self.beginning, plain)
        )
        names: NDArray[np.bool_] = likelier & ((capitals < smalls) | (capitals * smalls == 1))
        return names

    def begin(self, texts: int) -> TokenReading:
        """Start so many texts."""
        return TokenReading(self, texts)


class _Form:
    """One way of writing every word: its tokens, and its share of its first token."""

    def __init__(self, tokens: list[list[int]], embedding: Embedding, network: Any) -> None:
        import torch

        self.tokens = tokens
        first = np.array([word[0] for word in tokens])
        counts = embedding.counts
        weight = np.ones(len(first)) if counts is None else np.maximum(counts, 0.5)
        by_token = np.bincount(first, weights=weight, minlength=network.config.vocab_size)
        self.first = torch.from_numpy(first).to(network.device)
        self.share = torch.from_numpy(weight / by_token[first]).float().to(network.device)

    def likely(self, tokens: torch.Tensor) -> torch.Tensor:
        """Probabilities of words, (texts, words), from those of tokens."""
        return tokens[:, self.first] * self.share


class TokenReading:
    """The model part of the way through some texts; it keeps what it computed of earlier tokens."""

    def __init__(self, model: CausalModel, texts: int) -> None:
        self._model = model
        self._rows = list(range(texts))  # the text of each row of the batch
        self._ended = [False] * texts
        self._unread = [deque([model.start]) for _ in range(texts)]
        self._history: list[list[int]] = [[] for _ in range(texts)]
        self._written = [0] * texts  # words
        self._mark = [""] * texts  # that precedes the next word
        self._past: Any = None
        self._logits: torch.Tensor

    def waiting(self) -> Ids:
        """Texts whose next word is expected."""
        while not all(self._ended):
            found = [t for t in self._rows if not self._ended[t] and not self._unread[t]]
            if found:
                return np.array(found, dtype=np.int64)
            self._step()
        return np.empty(0, dtype=np.int64)

    def expected(self, texts: Ids) -> Expected:
        """What the model expects next, by word."""
        import torch

        model = self._model
        place = {text: row for row, text in enumerate(self._rows)}
        rows = torch.tensor([place[text] for text in texts.tolist()], device=model.device)
        begins = torch.tensor([self._begins(text) for text in texts.tolist()], device=model.device)
        with torch.inference_mode():
            tokens = self._logits[rows].softmax(-1)
            likely = model.inside.likely(tokens)
            likely[begins] = model.beginning.likely(tokens[begins])
            likely = likely.double()
            parts = (likely / likely.sum(-1, keepdim=True) * SCALE).round().long()
            parts[:, 0] += (parts.sum(-1) == 0).long()
            row, word = parts.nonzero(as_tuple=True)
            sizes = torch.bincount(row, minlength=len(rows))
            small = (word.int(), parts[row, word].int(), sizes.cumsum(0))
            found = [each.cpu().numpy() for each in small]
        return Expected(*found)

    def add(self, texts: Ids, words: Ids) -> list[str]:
        """Read released words: each as it is written, after its punctuation mark."""
        model = self._model
        out = []
        for text, word in zip(texts.tolist(), words.tolist(), strict=True):
            begins, mark, first = self._begins(text), self._mark[text], not self._written[text]
            form = model.beginning if begins else model.inside
            self._unread[text].extend(form.tokens[word])
            self._mark[text] = ""
            self._written[text] += 1
            shown = model.capitals[word] if begins or model.names[word] else model.words[word]
            out.append(shown if first else f"{mark} {shown}")
        return out

    def _begins(self, text: int) -> bool:
        """Whether the next word begins a sentence."""
        return not self._written[text] or self._mark[text] in _ENDS

    def end(self, texts: Ids) -> None:
        """These texts have no more words."""
        for text in texts.tolist():
            self._ended[text] = True

    def _step(self) -> None:
        """One more token of every text; then a mark where the model expects it before all else."""
        import torch

        model = self._model
        self._drop_ended()
        tokens = []
        full = len(self._history[self._rows[0]]) >= _CONTEXT
        for text in self._rows:
            history = self._history[text]
            if full:  # start again from the last half, the same for all texts of the batch
                del history[: -_CONTEXT // 2]
            history.append(self._unread[text].popleft() if self._unread[text] else model.start)
            tokens.append(list(history) if full else history[-1:])
        if full:
            self._past = None
        with torch.inference_mode():
            out = model.network(
                torch.tensor(tokens, device=model.device),
                past_key_values=self._past,
                use_cache=True,
                logits_to_keep=1,
            )
            self._past = out.past_key_values
            self._logits = out.logits[:, -1].float()
            best = self._logits.argmax(-1).tolist()
        for text, token in zip(self._rows, best, strict=True):
            idle = not self._ended[text] and not self._unread[text]
            if idle and token in model.marks and self._written[text] and not self._mark[text]:
                self._mark[text] = model.marks[token]
                self._unread[text].append(token)

    def _drop_ended(self) -> None:
        import torch

        going = [row for row, text in enumerate(self._rows) if not self._ended[text]]
        if (len(self._rows) - len(going)) * _ENDED < len(self._rows):
            return
        self._rows = [self._rows[row] for row in going]
        if self._past is not None:
            self._past.batch_select_indices(torch.tensor(going, device=self._model.device))


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
