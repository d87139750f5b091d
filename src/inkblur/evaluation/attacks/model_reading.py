"""The reading attack by a causal language model: which true text fits the release and reads best?

A beam search goes through a passage from left to right. A hypothesis is a true text so far; it is
scored by what the model expects of its words times the public channel, and the best `beams` go on.
The model has then seen nothing to the right. So the likeliest candidates of every place are put
into the best hypothesis in turn, what is so made is scored up to a few words beyond that place, all
tokens counted, and

    belief(c at t)  ~  P_model(best text with c at t) P(o_t | c),

which also gives words to which the search never came a second chance.

Signs and sentence ends of the true text are not known to the reader, so hypotheses have none. The
null word (a number, a word outside the vocabulary) is read as a stand-in; its chance is a fixed
share of what the model leaves to words at that place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.candidates import Candidates
from inkblur.evaluation.attacks.language import UNKNOWN_SHARE
from inkblur.evaluation.attacks.reading import Guesses
from inkblur.mechanisms.staircase.making import causal_model
from inkblur.mechanisms.staircase.model_files import BUNDLED
from inkblur.types import Array, Ids, whole

if TYPE_CHECKING:
    import torch

    from inkblur.mechanisms.staircase.causal_model import CausalModel

PASSAGE = 32  # words that are read together
BEAMS = 16
_STAND_IN = "someone"  # what the model reads for a null word
_ROWS = {"cpu": 16, "cuda": 256}  # hypotheses, or changes, at a time
_OWN, _NULL, _NOT = 0, 1, 2  # a token counts as itself, as the null word, or not at all
_FAINT = 1e-3  # candidates this much less likely than the best are not tried again
_TRIED = 8  # candidates of a place that are, at most; they stand best first
_AHEAD = 8  # words to the right that a candidate is judged by


@dataclass(frozen=True, slots=True, eq=False)
class _Passage:
    """Candidates of some places in a row: their words, and the channel's log-likelihoods."""

    words: Ids  # (places, kept)
    channel: Array  # (places, kept)

    def __len__(self) -> int:
        return len(self.words)


class ModelReader:
    """Reads with a causal language model; `place` as for the mechanism's own model."""

    def __init__(self, embedding: Embedding, place: str = BUNDLED, *, beams: int = BEAMS) -> None:
        import torch

        self.model = causal_model(embedding, place)
        self.beams = whole(beams, "beams")
        self.null = len(embedding)
        form = self.model.inside
        self.tokens = [*form.tokens, *self.model.tokens([_STAND_IN])]
        first = np.array([tokens[0] for tokens in form.tokens])
        self._first = torch.from_numpy(first).to(self.model.device)
        self._log_share = form.share.log()
        self._begins = np.unique(first)  # tokens that begin a word

    def guessed(
        self, found: Sequence[Candidates], step: Callable[[str], None] = lambda what: None
    ) -> list[Guesses]:
        """The likeliest word at each place of each text, and how likely the reader holds it.

        `step` is called for each passage, before it is read.
        """
        pieces = [
            (text, slice(start, start + PASSAGE))
            for text, each in enumerate(found)
            for start in range(0, len(each.words), PASSAGE)
        ]
        # Passages of one length together, the longest first.
        pieces.sort(key=lambda piece: -len(found[piece[0]].words[piece[1]]))
        out = [
            Guesses(np.empty(len(each.words), np.int64), np.empty(len(each.words)))
            for each in found
        ]
        together = max(1, _ROWS[self.model.device] // self.beams)
        for start in range(0, len(pieces), together):
            some = pieces[start : start + together]
            for _ in some:
                step("reading with the language model")
            passages = [
                _Passage(
                    found[text].words[part], np.log(np.maximum(found[text].likelihood[part], 1e-30))
                )
                for text, part in some
            ]
            beliefs = self._beliefs(passages, self._beam(passages))
            for (text, part), passage, belief in zip(some, passages, beliefs, strict=True):
                best = belief.argmax(axis=1)
                rows = np.arange(len(passage))
                out[text].words[part] = passage.words[rows, best]
                out[text].belief[part] = belief[rows, best] * (1.0 - found[text].rest[part])
        return out

    def _beam(self, passages: Sequence[_Passage]) -> list[Ids]:
        """Beam search through passages at once, the longest first."""
        import torch

        device, beams = self.model.device, self.beams
        hypotheses = _Hypotheses(self.model, len(passages))  # one each: all begin alike
        scores = torch.zeros((len(passages), 1), dtype=torch.double, device=device)
        history = [np.empty((1, 0), np.int64) for _ in passages]
        done: list[Ids] = [np.empty(0, np.int64)] * len(passages)
        for place in range(len(passages[0])):
            going = sum(len(passage) > place for passage in passages)
            if going < len(history):
                for row in range(going, len(history)):
                    done[row] = history[row][int(scores[row].argmax())]
                history, scores = history[:going], scores[:going]
                width = scores.shape[1]
                hypotheses.select(torch.arange(going * width, device=device))
            words = np.stack([passage.words[place] for passage in passages[:going]])
            channel = torch.tensor(
                np.stack([passage.channel[place] for passage in passages[:going]]), device=device
            )
            prior = self._priors(hypotheses.logits, words)  # (going, width, kept)
            total = (scores[:, :, None] + prior + channel[:, None, :]).flatten(1)
            scores, best = total.topk(min(beams, total.shape[1]), dim=1)
            kept = words.shape[1]
            parents, columns = (best // kept).cpu().numpy(), (best % kept).cpu().numpy()
            width = prior.shape[1]
            rows = (np.arange(going)[:, None] * width + parents).ravel()
            hypotheses.select(torch.from_numpy(rows).to(device))
            chosen = np.take_along_axis(words, columns, axis=1)
            hypotheses.read([self.tokens[word] for word in chosen.ravel().tolist()])
            history = [
                np.hstack([past[parents[row]], columns[row][:, None]])
                for row, past in enumerate(history)
            ]
        for row, past in enumerate(history):
            done[row] = past[int(scores[row].argmax())]
        return done

    def _priors(self, logits: torch.Tensor, words: Ids) -> torch.Tensor:
        """What each hypothesis expects of each candidate, by first tokens."""
        import torch

        texts = len(words)
        logs = logits.double().log_softmax(-1).reshape(texts, -1, logits.shape[-1])
        null = torch.from_numpy(words == self.null).to(logits.device)
        real = torch.from_numpy(np.where(words == self.null, 0, words)).to(logits.device)
        first = self._first[real][:, None, :].expand(-1, logs.shape[1], -1)
        prior = logs.gather(2, first) + self._log_share[real][:, None, :]
        unknown = float(np.log(UNKNOWN_SHARE)) + logs[:, :, self._begins].logsumexp(-1)
        return torch.where(null[:, None, :], unknown[:, :, None], prior)

    def _beliefs(self, passages: Sequence[_Passage], chosen: Sequence[Ids]) -> Iterator[Array]:
        """How likely each candidate is in the best text, (places, kept) per passage."""
        best: list[list[int]] = []
        changes: list[_Change] = []
        columns: list[int] = []
        for number, (passage, own) in enumerate(zip(passages, chosen, strict=True)):
            rows = np.arange(len(passage))
            best.append(passage.words[rows, own].tolist())
            likely = passage.channel >= passage.channel.max(axis=1, keepdims=True) + np.log(_FAINT)
            likely[:, _TRIED:] = False
            likely[rows, own] = True
            for place, column in np.argwhere(likely).tolist():
                changes.append(_Change(number, place, int(passage.words[place, column])))
                columns.append(column)
        scores = self.scores(best, changes)
        beliefs = [np.full(passage.words.shape, -np.inf) for passage in passages]
        for change, column, score in zip(changes, columns, scores.tolist(), strict=True):
            channel = passages[change.text].channel[change.place, column]
            beliefs[change.text][change.place, column] = score + channel
        for belief in beliefs:
            belief -= belief.max(axis=1, keepdims=True)
            shares = np.exp(belief)
            yield shares / shares.sum(axis=1, keepdims=True)

    def scores(self, texts: Sequence[Sequence[int]], changes: Sequence[_Change]) -> Array:
        """Log-probability of each changed word and of the next ones, after what precedes it.

        Every text is read once. What the model then knows of the words before a change is taken
        from there, so that a change costs a few tokens, not a text.
        """
        import torch

        model = self.model
        written = [_Written(self, text) for text in texts]
        read = torch.tensor(_padded([each.tokens for each in written], model.start))
        with torch.inference_mode():
            known = model.network(
                read.to(model.device), use_cache=True, logits_to_keep=1
            ).past_key_values
        out = np.empty(len(changes))
        # Changes at about the same place together.
        order = sorted(range(len(changes)), key=lambda i: changes[i].place)
        for start in range(0, len(order), _ROWS[model.device]):
            some = order[start : start + _ROWS[model.device]]
            out[some] = self._scored(known, written, [changes[i] for i in some])
        return out

    def _scored(self, known: Any, written: Sequence[_Written], changes: Sequence[_Change]) -> Array:
        import torch
        import transformers

        model, rows = self.model, len(changes)
        # The token before the change is read again: what is expected after it is needed.
        kept = [written[each.text].starts[each.place] - 1 for each in changes]
        more = [written[each.text].changed(each) for each in changes]
        tokens = torch.tensor(_padded([own for own, _ in more], model.start)).to(model.device)
        kind = torch.tensor(_padded([counts for _, counts in more], _NOT)).to(model.device)
        length, width = max(kept), tokens.shape[1] - 1
        before = torch.tensor(kept, device=model.device)[:, None]
        past = transformers.DynamicCache()
        if length:
            texts = torch.tensor([each.text for each in changes], device=model.device)
            for number, layer in enumerate(known.layers):
                past.update(layer.keys[texts, :, :length], layer.values[texts, :, :length], number)
        seen = torch.arange(length, device=model.device) < before
        ones = torch.ones((rows, width), dtype=torch.bool, device=model.device)
        with torch.inference_mode():
            logits = model.network(
                tokens[:, :-1],
                attention_mask=torch.cat([seen, ones], dim=1).long(),
                position_ids=before + torch.arange(width, device=model.device),
                past_key_values=past,
                use_cache=True,
            ).logits
            total = logits.logsumexp(-1)
            own = logits.gather(2, tokens[:, 1:, None])[:, :, 0]
            words = logits[:, :, self._begins].logsumexp(-1) + float(np.log(UNKNOWN_SHARE))
            logs = torch.where(kind == _OWN, own, words) - total
            sums: Array = (logs * (kind != _NOT)).double().sum(1).cpu().numpy()
        return sums


@dataclass(frozen=True, slots=True)
class _Change:
    """Another word at one place of one text."""

    text: int
    place: int
    word: int


class _Written:
    """A text of words as tokens."""

    def __init__(self, reader: ModelReader, words: Sequence[int]) -> None:
        self._reader, self._words = reader, words
        self.tokens = [reader.model.start]
        self.starts = []  # where each word begins
        for word in words:
            self.starts.append(len(self.tokens))
            self.tokens += reader.tokens[word]

    def changed(self, change: _Change) -> tuple[list[int], list[int]]:
        """The token before the change, then those of the new word and of the next ones; how each
        counts but the first.
        """
        tokens, counts = [self.tokens[self.starts[change.place] - 1]], []
        for word in [change.word, *self._words[change.place + 1 :][:_AHEAD]]:
            own = self._reader.tokens[word]
            known = word != self._reader.null
            tokens += own
            counts += [_OWN] * len(own) if known else [_NULL, *[_NOT] * (len(own) - 1)]
        return tokens, counts


def _padded(rows: Sequence[Sequence[int]], filling: int) -> list[list[int]]:
    """Rows of one length. A causal model does not see what stands on the right."""
    width = max(map(len, rows))
    return [[*row, *[filling] * (width - len(row))] for row in rows]


class _Hypotheses:
    """True texts so far, in one batch, with what the model computed of them.

    Words have different numbers of tokens, so shorter ones are padded; what is padded is masked.
    """

    def __init__(self, model: CausalModel, rows: int) -> None:
        import torch

        self._model = model
        self._past: Any = None
        self._mask = torch.zeros((rows, 0), dtype=torch.long, device=model.device)
        self.logits: torch.Tensor
        self.read([[model.start]] * rows)

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows, some of them several times."""
        self._mask, self.logits = self._mask[rows], self.logits[rows]
        self._past.batch_select_indices(rows)

    def read(self, tokens: Sequence[Sequence[int]]) -> None:
        """The next word of every row."""
        import torch

        model = self._model
        width = max(map(len, tokens))
        padded = [[model.start] * (width - len(more)) + list(more) for more in tokens]
        real = [[0] * (width - len(more)) + [1] * len(more) for more in tokens]
        self._mask = torch.cat([self._mask, torch.tensor(real, device=model.device)], dim=1)
        places = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -width:]
        with torch.inference_mode():
            out = model.network(
                torch.tensor(padded, device=model.device),
                attention_mask=self._mask,
                position_ids=places,
                past_key_values=self._past,
                use_cache=True,
                logits_to_keep=1,
            )
        self._past, self.logits = out.past_key_values, out.logits[:, -1]
