"""The reading attack by a causal language model: which true text fits the release and reads best?

A beam search goes through a passage from left to right. A hypothesis is a true text so far; it is
scored by what the model expects of its words times the public channel, and the best `beams` go on.
The model has then seen nothing to the right. So every candidate of every place is put into the best
hypothesis in turn, the passages so made are scored as wholes, all tokens counted, and

    belief(c at t)  ~  P_model(best text with c at t) P(o_t | c),

which also gives words to which the search never came a second chance.

Signs and sentence ends of the true text are not known to the reader, so hypotheses have none. The
null word (a number, a word outside the vocabulary) is read as a stand-in; its chance is a fixed
share of what the model leaves to words at that place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
_ROWS = {"cpu": 16, "cuda": 512}  # hypotheses, or passages, at a time
_OWN, _NULL, _NOT = 0, 1, 2  # a token counts as itself, as the null word, or not at all
_FAINT = 1e-3  # candidates this much less likely than the best are not tried again


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
        self.model = causal_model(embedding, place)
        self.beams = whole(beams, "beams")
        self.null = len(embedding)
        form = self.model.inside
        self._tokens = [*form.tokens, *self.model.tokens([_STAND_IN])]
        self._first = form.first
        self._log_share = form.share.log()
        self._begins = np.unique([tokens[0] for tokens in form.tokens])  # tokens that begin a word

    def guessed(self, found: Sequence[Candidates]) -> list[Guesses]:
        """The likeliest word at each place of each text, and how likely the reader holds it."""
        pieces = [
            (text, slice(start, start + PASSAGE))
            for text, each in enumerate(found)
            for start in range(0, len(each.words), PASSAGE)
        ]
        passages = [
            _Passage(
                found[text].words[part], np.log(np.maximum(found[text].likelihood[part], 1e-30))
            )
            for text, part in pieces
        ]
        out = [
            Guesses(np.empty(len(each.words), np.int64), np.empty(len(each.words)))
            for each in found
        ]
        chosen = self.best_texts(passages)
        for (text, part), passage, belief in zip(
            pieces, passages, self._beliefs(passages, chosen), strict=True
        ):
            best = belief.argmax(axis=1)
            rows = np.arange(len(passage))
            out[text].words[part] = passage.words[rows, best]
            out[text].belief[part] = belief[rows, best] * (1.0 - found[text].rest[part])
        return out

    def best_texts(self, passages: Sequence[_Passage]) -> list[Ids]:
        """The columns of the candidates that the best hypothesis of each passage chose."""
        chosen: list[Ids] = [np.empty(0, np.int64)] * len(passages)
        order = sorted(range(len(passages)), key=lambda i: -len(passages[i]))
        together = max(1, _ROWS[self.model.device] // self.beams)
        for start in range(0, len(order), together):
            some = order[start : start + together]
            for place, columns in zip(some, self._beam([passages[i] for i in some]), strict=True):
                chosen[place] = columns
        return chosen

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
            hypotheses.read([self._tokens[word] for word in chosen.ravel().tolist()])
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
        """How likely each candidate is in the best text, (places, kept) a passage."""
        tried: list[list[int]] = []
        where: list[tuple[int, int, int]] = []
        for number, (passage, columns) in enumerate(zip(passages, chosen, strict=True)):
            best = passage.words[np.arange(len(passage)), columns].tolist()
            likely = passage.channel >= passage.channel.max(axis=1, keepdims=True) + np.log(_FAINT)
            likely[np.arange(len(passage)), columns] = True
            for place, column in np.argwhere(likely).tolist():
                tried.append([*best[:place], int(passage.words[place, column]), *best[place + 1 :]])
                where.append((number, place, column))
        scores = self.scores(tried)
        beliefs = [np.full(passage.words.shape, -np.inf) for passage in passages]
        for (number, place, column), score in zip(where, scores.tolist(), strict=True):
            beliefs[number][place, column] = score + passages[number].channel[place, column]
        for belief in beliefs:
            belief -= belief.max(axis=1, keepdims=True)
            shares = np.exp(belief)
            yield shares / shares.sum(axis=1, keepdims=True)

    def scores(self, texts: Sequence[Sequence[int]]) -> Array:
        """Log-probabilities of texts of words by the model, all tokens counted."""
        import torch

        model = self.model
        rows = []  # tokens, and how each counts
        for text in texts:
            tokens: list[int] = []
            counts: list[int] = []
            for word in text:
                own = self._tokens[word]
                tokens += own
                known = word != self.null
                counts += [_OWN] * len(own) if known else [_NULL, *[_NOT] * (len(own) - 1)]
            rows.append((tokens, counts))
        order = sorted(range(len(rows)), key=lambda row: len(rows[row][0]))
        out = np.empty(len(rows))
        for start in range(0, len(order), _ROWS[model.device]):
            some = order[start : start + _ROWS[model.device]]
            width = max(len(rows[row][0]) for row in some)
            # What is padded stands on the right, where a causal model does not see it.
            padded = np.full((len(some), width + 1), model.start)
            counted = np.full((len(some), width), _NOT)
            for place, row in enumerate(some):
                tokens, counts = rows[row]
                padded[place, 1 : 1 + len(tokens)] = tokens
                counted[place, : len(counts)] = counts
            with torch.inference_mode():
                inputs = torch.from_numpy(padded).to(model.device)
                kind = torch.from_numpy(counted).to(model.device)
                logits = model.network(inputs[:, :-1]).logits
                total = logits.logsumexp(-1)
                own = logits.gather(2, inputs[:, 1:, None])[:, :, 0]
                words = logits[:, :, self._begins].logsumexp(-1) + float(np.log(UNKNOWN_SHARE))
                logs = torch.where(kind == _OWN, own, words) - total
                sums = (logs * (kind != _NOT)).double().sum(1)
            out[some] = sums.cpu().numpy()
        return out


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
