"""A causal language model as the next word's expectation: the one file that runs transformers.

A token is expected in proportion to P^trust f^(1 - trust): P is the model's probability of it after
the prompt and the words so far, f the public frequency of the words that begin with it. A word is
scored by its first token, whose share is divided among the words that begin with it, in proportion
to their frequencies. With trust 1, a word of one token that no other word
begins with has the model's own probability; other words need no further pass. Inside a
sentence each word has one form, decided once: with a capital if the model expects it so after a few
neutral beginnings, as it does for names.

The model takes one token of each text at a time. A word of several tokens, or a punctuation mark,
keeps its own text busy for several steps while the others move on, so nothing is ever padded.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.mechanisms.staircase.expectation import SCALE, Expected
from inkblur.mechanisms.staircase.model_files import BUNDLED, OpenedModel, open_model
from inkblur.types import Ids

if TYPE_CHECKING:
    import torch

# Chosen by benchmarks/fluent_search.py, on public sentences apart from those that are judged.
TRUST = 0.65
PROMPT = (
    "The company said on Monday that it would sell part of its business. Officials in the capital "
    "did not comment on the report. The old man had lived there for years. Nobody knew what he "
    "wanted, and he never said. It was late when the others came back from the city."
)

_MARKS = (".", ",", "?", "!", ";", ":")
_ENDS = (".", "?", "!")
# What may be followed by almost any word: the model says after these which words have a capital.
_NEUTRAL = ("They talked about", "We heard that the", "This was sent by", "She went to see")
_NAME = 4.0  # a word is a name if its capitalized form is 4 times as likely as the other
# Tokens that the model looks back on at most, and half of it at least. What is kept of them for as
# many texts as advance together takes most of the memory, which stays under 2 GB on a CPU.
_CONTEXT = 192
# Tokens of each text that are read at a time when it starts again: more take more memory.
_SLICE = 16
# Texts that advance together.
_TOGETHER = {"cpu": 56, "cuda": 1024}
_FAINT = -100.0  # the logarithm of a frequency that counts as none
_CHECKED = 8  # tokens by which a network is seen to look back
_APART = 4  # words between two marks at least: else one short sentence asks for the next
_ENDED = 4  # rows of ended texts are dropped once they are one in 4


class CausalModel:
    """A model over the words of a table; `place` is a folder, a .gguf file or :data:`BUNDLED`."""

    trust: float  # in (0, 1]: the power of the model's probabilities, as against frequency
    prompt: str  # public words that every text begins with; not released

    def __init__(self, embedding: Embedding, place: str = BUNDLED) -> None:
        opened = open_model(place)
        import torch

        self.name = place
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.together = _TOGETHER[self.device]
        self.network = opened.network.to(self.device)
        self.words = embedding.words
        self.start = opened.start
        self.tokens, self._begun = opened.tokens, opened.begun
        self._sha256 = opened.sha256
        self.capitals = [word[:1].upper() + word[1:] for word in embedding.words]
        capital, small = opened.tokens(self.capitals), opened.tokens(self.words)
        self.names = self._names(opened, capital, small, embedding)
        forms = zip(self.names.tolist(), capital, small, strict=True)
        inside = [large if name else little for name, large, little in forms]
        signs = [tokens[0] for tokens in opened.tokens(list(_MARKS), space="")]
        firsts = {tokens[0] for tokens in (*capital, *inside)}
        # Tokens that may come next: those that begin a word, and marks. Others are not scored.
        self.next_tokens = sorted(firsts.union(signs))
        self.beginning = WrittenForm(capital, embedding, self.next_tokens, self.device)
        self.inside = WrittenForm(inside, embedding, self.next_tokens, self.device)
        self.marks = {
            self.next_tokens.index(token): (token, mark)
            for token, mark in zip(signs, _MARKS, strict=True)
        }
        self.reading_network = _narrowed(self.network, self.next_tokens)
        try:
            self._expect(TRUST, PROMPT)
            looks_back = self._looks_back()
        except (AttributeError, IndexError, TypeError):  # recurrent networks keep something else
            looks_back = False
        if not looks_back:
            raise InputError(
                f"{place} holds a {type(self.network).__name__}, which cannot be read token by "
                "token: name a causal transformer that attends to all earlier tokens"
            )

    def expecting(self, *, trust: float = TRUST, prompt: str = PROMPT) -> CausalModel:
        """The same network, trusted so far and after this prompt."""
        if not 0 < trust <= 1:
            raise ParameterError(f"trust must lie above 0 and not above 1, got {trust}")
        other = copy.copy(self)
        other._expect(trust, prompt)
        return other

    def _expect(self, trust: float, prompt: str) -> None:
        self.trust, self.prompt = trust, prompt
        self.prefix = [self.start, *(self._begun(prompt) if prompt else [])]
        self._read_prefix = self.nothing_read()
        if len(self.prefix) > 1:
            self.read([self.prefix[:-1]], self._read_prefix)
        how = f"first token {SCALE} context {_CONTEXT} trust {trust!r}"
        self.fingerprint = f"{self._sha256} {how} prompt {prompt!r}"

    def nothing_read(self, old: Any = None) -> Any:
        """The network's state before it reads anything; it takes the memory of an `old` one."""
        from inkblur.mechanisms.staircase.roomy_cache import roomy_cache

        return roomy_cache(self.reading_network.config, max(_CONTEXT, len(self.prefix)), old)

    def after_prefix(self, texts: int) -> Any:
        """The network's state after the prefix without its last token, for this many texts."""
        past = copy.deepcopy(self._read_prefix)
        past.batch_repeat_interleave(texts)
        return past

    def read(self, tokens: list[list[int]], past: Any) -> torch.Tensor:
        """Logits of what comes after these tokens, which are added to `past`, (texts, tokens)."""
        import torch

        every = torch.tensor(tokens, device=self.device)
        with torch.inference_mode():
            for some in torch.split(every, _SLICE, dim=1):
                out = self.reading_network(
                    some, past_key_values=past, use_cache=True, logits_to_keep=1
                )
        logits: torch.Tensor = out.logits[:, -1].float()
        return logits

    def _looks_back(self) -> bool:
        """Whether tokens read one after the other count as much as if they are read at once."""
        import torch

        *before, last = self.prefix[:_CHECKED]
        past = self.nothing_read()
        self.read([before], past)
        past.batch_repeat_interleave(2)
        kept = self.read([[last], [last]], past)
        with torch.inference_mode():
            tokens = torch.tensor([[*before, last]], device=self.device)
            whole = self.reading_network(tokens).logits[:, -1].float()
        return bool((kept - whole).abs().max() < whole.std() / 4)

    @property
    def circumstances(self) -> dict[str, str | float]:
        """What it expects by, and what may change the last bits of its floats."""
        import torch
        import transformers

        device = torch.cuda.get_device_name() if self.device == "cuda" else "cpu"
        return {
            "model_sha256": self._sha256,
            "device": device,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "texts_together": self.together,
            "context_tokens": _CONTEXT,
            "trust": self.trust,
            "prompt": self.prompt,
        }

    def _names(
        self,
        opened: OpenedModel,
        capital: list[list[int]],
        small: list[list[int]],
        embedding: Embedding,
    ) -> NDArray[np.bool_]:
        """Which words are written with a capital inside a sentence, (words,)."""
        import torch

        every = range(len(self.network.get_output_embeddings().weight))
        forms = [WrittenForm(tokens, embedding, every, self.device) for tokens in (capital, small)]
        likely = np.zeros((2, len(self.words)))
        for text in _NEUTRAL:
            with torch.inference_mode():
                tokens = torch.tensor([[self.start, *opened.begun(text)]], device=self.device)
                logits = self.network(tokens).logits[:, -1].float().softmax(-1)
            likely += np.stack([form.likely(logits)[0].cpu().numpy() for form in forms])
        # First tokens say little of long words. But a tokenizer has fewer tokens for the form that
        # it met more often.
        capitals, smalls = (np.array([len(own) for own in form]) for form in (capital, small))
        shorter = (capitals < smalls) | (capitals * smalls == 1)
        names: NDArray[np.bool_] = (likely[0] > _NAME * likely[1]) & shorter
        return names

    def begin(self, texts: int) -> TokenReading:
        """Start this many texts."""
        return TokenReading(self, texts)


class WrittenForm:
    """One way of writing every word: its tokens, and its share of its first token.

    Tokens are numbered by their place among `scored`, which ascend.
    """

    def __init__(
        self, tokens: list[list[int]], embedding: Embedding, scored: Sequence[int], device: str
    ) -> None:
        import torch

        self.tokens = tokens
        first = np.searchsorted(np.array(scored), [word[0] for word in tokens])
        counts = embedding.counts
        weight = np.ones(len(first)) if counts is None else np.maximum(counts, 0.5)
        by_token = np.bincount(first, weights=weight, minlength=len(scored))
        self.first = torch.from_numpy(first).to(device)
        share = weight / by_token[first]
        self.share = torch.from_numpy(share).to(device)
        # The words of each token stand together, those with the largest shares first.
        order = np.lexsort((-share, first))
        self._words = torch.from_numpy(order).to(device)
        self._ranks = torch.from_numpy(first[order] - share[order]).to(device)  # ascending
        sizes = np.bincount(first, minlength=len(scored))
        self._starts = torch.from_numpy(np.cumsum(sizes) - sizes).to(device)
        self._begins = torch.from_numpy(sizes > 0).to(device)
        with np.errstate(divide="ignore"):  # tokens that begin no word
            self._frequency = torch.from_numpy(np.log(by_token / weight.sum())).to(device).float()

    def likely(self, tokens: torch.Tensor) -> torch.Tensor:
        """Probabilities of words, (texts, words), from those of tokens."""
        return tokens.double()[:, self.first] * self.share

    def parts(
        self, logits: torch.Tensor, trust: float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rows, words and their parts of SCALE, from the logits of tokens, (texts, tokens)."""
        import torch

        logits = trust * logits + (1 - trust) * self._frequency.clamp(min=_FAINT)
        logits = logits.masked_fill(~self._begins, -torch.inf)
        tokens = logits.softmax(-1)  # shares of a token sum to 1, so those of all words do
        row, token = (tokens * SCALE >= 0.5).nonzero(as_tuple=True)
        whole = tokens[row, token].double()
        # Of its words, those whose share of it may round to a part: few, where many begin with it.
        least = 0.499 / (SCALE * whole)
        sizes = torch.searchsorted(self._ranks, token - least, right=True) - self._starts[token]
        ends = sizes.cumsum(0)
        every = torch.arange(int(ends[-1]) if len(ends) else 0, device=logits.device)
        nth = every - (ends - sizes).repeat_interleave(sizes)  # of its token's words
        word = self._words[self._starts[token].repeat_interleave(sizes) + nth]
        likely = whole.repeat_interleave(sizes) * self.share[word]
        parts = (likely * SCALE).round().long()
        some = parts > 0
        return row.repeat_interleave(sizes)[some], word[some], parts[some]


def _narrowed(network: Any, tokens: Sequence[int]) -> Any:
    """The same network with logits of these tokens alone: its last layer is a fifth of its work."""
    import torch

    head = network.get_output_embeddings()
    small = torch.nn.Linear(head.in_features, len(tokens), bias=head.bias is not None)
    rows = torch.tensor(tokens, device=head.weight.device)
    small.weight = torch.nn.Parameter(head.weight.detach()[rows], requires_grad=False)
    if head.bias is not None:
        small.bias = torch.nn.Parameter(head.bias.detach()[rows], requires_grad=False)
    narrow = copy.copy(network)
    narrow._modules = dict(network._modules)  # its own list of the same layers
    narrow.set_output_embeddings(small)
    return narrow


class TokenReading:
    """The model part of the way through some texts; it keeps what it computed of earlier tokens."""

    def __init__(self, model: CausalModel, texts: int) -> None:
        self._model = model
        self._rows = list(range(texts))  # the text of each row of the batch
        self._ended = [False] * texts
        self._unread = [deque(model.prefix[-1:]) for _ in range(texts)]
        self._history = [model.prefix[:-1] for _ in range(texts)]
        self._written = [0] * texts  # words
        self._unmarked = [0] * texts  # words since the last mark
        self._mark = [""] * texts  # that precedes the next word
        self._past = model.after_prefix(texts)
        self._logits: torch.Tensor

    def waiting(self) -> Ids:
        """Texts whose next word is expected."""
        while not all(self._ended):
            found = [t for t in self._rows if not self._ended[t] and not self._unread[t]]
            if found:
                return np.array(found, dtype=np.int64)
            self._step()
        self._past = None  # of no more use, and large
        return np.empty(0, dtype=np.int64)

    def expected(self, texts: Ids) -> Expected:
        """What the model expects next, by word."""
        import torch

        model = self._model
        place = {text: row for row, text in enumerate(self._rows)}
        rows = torch.tensor([place[text] for text in texts.tolist()], device=model.device)
        begins = np.array([self._begins(text) for text in texts.tolist()])
        found = []
        with torch.inference_mode():
            for form, some in (
                (model.beginning, np.flatnonzero(begins)),
                (model.inside, np.flatnonzero(~begins)),
            ):
                where = torch.from_numpy(some).to(model.device)
                row, *what = form.parts(self._logits[rows[where]], model.trust)
                found.append((where[row], *what))
            text, word, part = (torch.cat(each) for each in zip(*found, strict=True))
            # Where rounding leaves nothing, the first word has one part.
            none = (text.bincount(minlength=len(texts)) == 0).nonzero()[:, 0]
            text, part = torch.cat([text, none]), torch.cat([part, torch.ones_like(none)])
            word = torch.cat([word, torch.zeros_like(none)])
            # By text, then by word. Sorted where the model runs: these may be millions.
            order = (text * len(model.words) + word).argsort()
            ends = text.bincount(minlength=len(texts)).cumsum(0)
            words, parts = (each[order].int().cpu().numpy() for each in (word, part))
        return Expected(words, parts, ends.cpu().numpy())

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
            self._unmarked[text] += 1
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
        """One more token of every text; then a mark where it is expected before any word."""
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
            self._past = model.nothing_read(self._past)
        self._logits = model.read(tokens, self._past)
        best = self._logits.argmax(-1).tolist()
        for text, token in zip(self._rows, best, strict=True):
            idle = not self._ended[text] and not self._unread[text]
            if idle and token in model.marks and self._unmarked[text] >= _APART:
                sign, self._mark[text] = model.marks[token]
                self._unread[text].append(sign)
                self._unmarked[text] = 0

    def _drop_ended(self) -> None:
        import torch

        going = [row for row, text in enumerate(self._rows) if not self._ended[text]]
        if (len(self._rows) - len(going)) * _ENDED < len(self._rows):
            return
        self._rows = [self._rows[row] for row in going]
        with torch.inference_mode():
            self._past.batch_select_indices(torch.tensor(going, device=self._model.device))
