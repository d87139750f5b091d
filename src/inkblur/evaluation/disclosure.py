"""What a release discloses besides its author: words, originals, links and secrets.

Every measure is taken on the first repetition's release, with an interval over texts. An attack
that cannot be tried on a release says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import Attack, joined_by_author
from inkblur.evaluation.attacks.channel import Channel, CopyingChannel
from inkblur.evaluation.attacks.entering import (
    WORD_CLASSES,
    Flags,
    channel_around,
    entering,
    numbered,
    places,
)
from inkblur.evaluation.attacks.inference import infer
from inkblur.evaluation.attacks.language import Trigrams, entering_ids, unigram
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.linking import MOST_TEXTS, linking
from inkblur.evaluation.attacks.pool_likelihood import PoolLikelihood
from inkblur.evaluation.attacks.reading import Guesses, Reader, guessed
from inkblur.evaluation.attacks.repetition import Repeated, repeated_words
from inkblur.evaluation.attacks.singling_out import single_out, single_out_by_channel
from inkblur.evaluation.author_attacks import informed, uninformed
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.bootstrap import over_texts, share_over_texts
from inkblur.evaluation.measures.recovered import Recovered, TrueWords, recovered, true_words
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import (
    PoolReleaser,
    Released,
    Releaser,
    TextReleaser,
    VectorReleaser,
)
from inkblur.evaluation.results import ADAPTIVE, STATIC, Interval, Measurement
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import Rng
from inkblur.types import Ids, ReleaseKind

RELEASES = (2, 5, 10)  # how often one text is released afresh
_RELEASED_AGAIN = 10  # texts
_NO_AUTHORS, _ONE_TEXT = "no text has an author", "fewer than 2 test texts with a word"
_COMPARED = 500  # texts that are linked and singled out
_TRACED = 100  # texts that are singled out by the channel, and words of each that it reads


Standing = tuple[Ids, Flags]  # a text's places by number, and which are copied
Known = Channel | PoolStaircase | str  # the chances of what comes out, or why nobody knows them


@dataclass(frozen=True, slots=True)
class Disclosing:
    """The texts that a release is tried on, and what the attacker has besides it."""

    data: Dataset
    train: Sequence[str]  # in the form that is released
    test: Sequence[str]
    order: Sequence[int]  # rows of the test part that are not blank, by chance: samples come first
    public: Sequence[str]  # texts to learn which words follow which; may be empty
    embedding: Embedding
    plan: Plan

    def disclosed(
        self, releaser: Releaser, train: Released, test: Released, rng: Rng
    ) -> Iterator[Measurement]:
        """What each attack finds in this release, or why it was not tried."""
        known = _known(releaser, rng.child("simulated"))
        yield from self._reading(releaser, known, rng)
        yield from self._repetition(test)
        yield from self._singling_out(releaser, known, test, rng.child("traced"))
        yield self._linking(test)
        yield from self._inference(releaser, known, train, test)

    def _reading(self, releaser: Releaser, known: Known, rng: Rng) -> Iterator[Measurement]:
        others: dict[str, int] = {}
        truth = self._readable(releaser, known, others)
        if isinstance(truth, str):
            yield Measurement("reading", "", "words recovered", reason=truth)
            yield Measurement(
                "repetition", "", "words recovered from several releases", reason=truth
            )
            return
        assert isinstance(releaser, TextReleaser)
        assert not isinstance(known, PoolStaircase | str)
        blur = releaser.blur
        standing = [(words.ids, words.copied) for words in truth]
        channel = _with_copies(known, standing, len(others))
        outs = _drawn(blur, standing, 1, rng.child("read"))
        texts = [entering_ids(text, self.embedding) for text in self.public]
        prior = unigram(self.embedding, texts)
        unknown = np.full(len(others) + 1, prior[-1] / (len(others) + 1))
        prior = np.concatenate([prior[:-1], unknown])
        reader = Reader(channel, prior)
        candidates = reader.candidates(outs)
        readers = {"unigram": [guessed(found) for found in candidates]}
        if texts:
            trigrams = Trigrams(texts, prior)
            readers["trigram"] = [guessed(found, trigrams) for found in candidates]
        else:
            reason = "no public texts to learn from"
            yield Measurement("reading", "trigram", "words recovered", reason=reason)
        shown = [out[:, 0] for out in outs]
        ends = "; told where a text ends" if blur.length is not None else ""
        ends += "; copied words count" if WORD_CLASSES & {*blur.policies.kept} else ""
        for name, said in readers.items():
            found = self._recovered(name, truth, shown, said)
            yield from _read(found, reader.channel.error, ends)
        again = truth[:_RELEASED_AGAIN]
        many = _drawn(blur, standing[: len(again)], max(RELEASES), rng.child("again"))
        for releases in RELEASES:
            said = reader.read([out[:, :releases] for out in many])
            hits = self._recovered("", again, [out[:, 0] for out in many], said)
            yield Measurement(
                "repetition",
                "",
                f"words recovered from {releases} releases with fresh noise (a repeat under the "
                "same key is identical and shows nothing more)",
                value=hits.recovered,
                chance=hits.as_it_stands.mean,
                by_chance="the first release, taken at face value",
            )

    def _readable(
        self, releaser: Releaser, known: Known, others: dict[str, int]
    ) -> list[TrueWords] | str:
        """Texts to read, or why none is."""
        if isinstance(releaser, PoolReleaser | VectorReleaser) or _is_bag(releaser):
            return "no released word stands in the place of a true one"
        if isinstance(known, str):
            return known
        assert isinstance(releaser, TextReleaser)
        if not self.plan.read_texts:
            return "no text was to be read"
        texts = [self.test[row] for row in self.order[: self.plan.read_texts]]
        truth = [true_words(text, releaser.blur, others) for text in texts]
        return [words for words in truth if len(words.ids)] or "no word enters the mechanism"

    def _recovered(
        self, reader: str, truth: Sequence[TrueWords], outs: Sequence[Ids], said: Sequence[Guesses]
    ) -> Recovered:
        return recovered(
            reader, truth, outs, said, confidence=self.plan.confidence, seed=self.plan.seed
        )

    def _repetition(self, test: Released) -> Iterator[Measurement]:
        yield self._repeated(
            "content words released twice in a text: share that the original text contains",
            repeated_words(self.test, test.texts, authors=self.data.test.authors.tolist()),
        )
        measure = "content words released 3 times in an author's texts: share that the author wrote"
        if not self.data.has_authors:
            yield Measurement("repetition", "", measure, reason=_NO_AUTHORS)
            return
        authors = self.data.test.authors
        together = (joined_by_author(texts, authors) for texts in (self.test, test.texts))
        yield self._repeated(measure, repeated_words(*together, times=3))

    def _repeated(self, measure: str, found: Repeated) -> Measurement:
        share = self._share(found.true, found.found)
        if share is None:
            return Measurement("repetition", "", measure, reason="no word comes out that often")
        return Measurement(
            "repetition",
            "",
            measure,
            value=share,
            chance=found.chance,
            by_chance="in another's text",
        )

    def _singling_out(
        self, releaser: Releaser, known: Known, test: Released, rng: Rng
    ) -> Iterator[Measurement]:
        yield self._traced(releaser, known, test, rng)
        rows = sorted(self.order[:_COMPARED])
        measure = f"released texts traced to their original among {len(rows)}, by words"
        lengths = "the same, by words and length"
        if len(rows) < 2:
            yield Measurement("singling out", "", measure, reason=_ONE_TEXT)
            yield Measurement("singling out", "", lengths, reason=_ONE_TEXT)
            return
        originals = [self.test[row] for row in rows]
        blur = releaser.blur if isinstance(releaser, TextReleaser) else None
        shown = None if blur is None else [blur.shown_words(text) for text in originals]
        traced = single_out(originals, [test.texts[row] for row in rows], shown)
        yield self._singled_out(measure, traced.by_words)
        if traced.by_both is not None:
            yield self._singled_out(lengths, traced.by_both)
        else:
            reason = "the release does not show how many words an original has"
            yield Measurement("singling out", "", lengths, reason=reason)

    def _traced(self, releaser: Releaser, known: Known, test: Released, rng: Rng) -> Measurement:
        """Tracing by one who knows the channel: where words stand in places, place by place."""
        measure = "released texts traced to their original among {}, by the channel and "
        in_places = isinstance(releaser, TextReleaser) and not _is_bag(releaser)
        measure += f"their first {_TRACED} words" if in_places else "all their words"
        if isinstance(known, str):
            return Measurement("singling out", "", measure.format("others"), reason=known)
        if isinstance(releaser, TextReleaser) and in_places:
            assert not isinstance(known, PoolStaircase)
            hits = self._traced_in_places(releaser.blur, known, rng)
        else:
            hits = self._traced_as_authors(releaser, known, test)
        if hits is None:
            return Measurement("singling out", "", measure.format("others"), reason=_ONE_TEXT)
        return self._singled_out(measure.format(len(hits)), hits)

    def _traced_in_places(
        self, blur: Privatizer, channel: Channel, rng: Rng
    ) -> NDArray[np.bool_] | None:
        table, others = blur.mechanism.embedding, dict[str, int]()
        released = (places(blur.released(self.test[row]), signs=True) for row in self.order)
        first = islice(filter(None, released), _TRACED)
        standing = [numbered(each[:_TRACED], table, others) for each in first]
        if len(standing) < 2:
            return None
        outs = [out[:, 0] for out in _drawn(blur, standing, 1, rng)]
        around = _with_copies(channel, standing, len(others))
        return single_out_by_channel(around, [ids for ids, _ in standing], outs)

    def _traced_as_authors(
        self, releaser: Releaser, known: Channel | PoolStaircase, test: Released
    ) -> NDArray[np.bool_] | None:
        """Where no word has a place of its own: each original is an author of one text."""
        rows = list(self.order[:_TRACED])
        if len(rows) < 2:
            return None
        attack = _likelihood(releaser, known, cut=True)
        scores = attack.fit([self.test[row] for row in rows], np.arange(len(rows))).scores(
            [test.texts[row] for row in rows]
        )
        hits: NDArray[np.bool_] = (scores >= np.diagonal(scores)[:, None]).sum(axis=1) == 1
        return hits

    def _linking(self, test: Released) -> Measurement:
        measure = "area under the curve: pairs of texts by one author against pairs by two"
        if not self.data.has_authors:
            return Measurement("linking", "", measure, reason=_NO_AUTHORS)
        authors = self.data.test.authors
        known = [row for row in self.order if authors[row] >= 0 and test.texts[row]]
        known = sorted(known[: min(_COMPARED, MOST_TEXTS)])
        try:
            area = linking(
                [test.texts[row] for row in known],
                authors[known],
                confidence=self.plan.confidence,
                seed=self.plan.seed,
            )
        except ParameterError:
            return Measurement(
                "linking", "", measure, reason="too few texts of one author with words"
            )
        return Measurement("linking", "", measure, value=area, chance=0.5)

    def _inference(
        self, releaser: Releaser, known: Known, train: Released, test: Released
    ) -> Iterator[Measurement]:
        if not self.data.has_secrets:
            yield Measurement(
                "inference", "", "secret labels guessed", reason="no text has a secret label"
            )
            return
        yield self._inferred(ADAPTIVE, train.texts, test)
        yield self._inferred(STATIC, self.train, test)
        if isinstance(known, str):
            measure = "secret labels guessed, by the channel"
            yield Measurement("inference", "", measure, reason=known)
        else:
            attack = _likelihood(releaser, known)
            yield self._inferred("by the channel", self.train, test, attack)

    def _inferred(
        self, kind: str, known: Sequence[str], test: Released, attack: Attack | None = None
    ) -> Measurement:
        said = infer(
            known,
            self.data.train.secrets,
            test.texts,
            self.data.test.secrets,
            seed=self.plan.seed,
            attack=attack,
        )
        spread = over_texts(
            said.truth, said.answers, confidence=self.plan.confidence, seed=self.plan.seed
        )
        return Measurement(
            "inference",
            "",
            f"secret labels guessed, {kind}",
            value=spread["accuracy"],
            chance=said.chance,
            by_chance="the commonest label",
        )

    def _singled_out(self, measure: str, hits: NDArray[np.bool_]) -> Measurement:
        share = self._share(hits.astype(np.int64), np.ones(len(hits), np.int64))
        assert share is not None
        return Measurement("singling out", "", measure, value=share, chance=1 / len(hits))

    def _share(self, hits: Ids, totals: Ids) -> Interval | None:
        return share_over_texts(hits, totals, confidence=self.plan.confidence, seed=self.plan.seed)


def _known(releaser: Releaser, rng: Rng) -> Known:
    """What an attacker knows of a release's chances, or why that is nothing."""
    if isinstance(releaser, TextReleaser | VectorReleaser):
        return channel_around(releaser.blur, rng)
    if isinstance(releaser, PoolReleaser) and PoolLikelihood.name in informed(releaser):
        return releaser.blur.mechanism
    return uninformed(releaser)


def _likelihood(
    releaser: Releaser, known: Channel | PoolStaircase, *, cut: bool = False
) -> Likelihood | PoolLikelihood:
    """The attack through the channel; `cut`: it knows the texts that were released, as they were
    cut and filled, and not other texts by their authors.
    """
    if isinstance(known, PoolStaircase):
        return PoolLikelihood(known)
    assert isinstance(releaser, TextReleaser | VectorReleaser)
    blur = releaser.blur
    table = blur.mechanism.embedding
    if not cut:
        return Likelihood(known, table, entering(blur))
    enter = blur.ids if isinstance(blur, Privatizer) else entering(blur)
    return Likelihood(known, table, enter, smoothing=0.0)


def _is_bag(releaser: Releaser) -> bool:
    return isinstance(releaser, TextReleaser) and releaser.blur.kind is ReleaseKind.BAG


def _with_copies(channel: Channel, texts: Sequence[Standing], others: int) -> Channel:
    """The channel where these texts' copied words come out as they stand."""
    if not isinstance(channel, CopyingChannel):
        return channel
    seen = np.concatenate([ids[copied] for ids, copied in texts])
    return channel.with_copies(seen[seen < channel.size], others)


def _drawn(blur: Privatizer, texts: Sequence[Standing], releases: int, rng: Rng) -> list[Ids]:
    """What comes out, (places, releases) per text."""
    ids, copied = (np.concatenate(part) for part in zip(*texts, strict=True))
    outs = np.tile(ids[:, None], releases)
    for release in range(releases):
        drawn = blur.mechanism.replace(ids[~copied], rng.child(str(release)))
        outs[~copied, release] = drawn
    return np.split(outs, np.cumsum([len(text) for text, _ in texts])[:-1])


def _read(found: Recovered, error: float, ends: str = "") -> Iterator[Measurement]:
    how = (f"; channel estimated, off by {error:.2f}" if error else "") + ends
    stands = found.as_it_stands.mean, "the text, taken at face value"
    for what, value, (chance, by_chance) in (
        (f"words recovered{how}", found.recovered, stands),
        ("content words recovered", found.content, (None, "")),
        ("names recovered", found.names, (None, "")),
        ("numbers recovered", found.numbers, (None, "")),
        ("words that the reader is at least 90 % sure of", found.sure, (None, "")),
        ("of those, right", found.sure_and_right, (None, "")),
    ):
        if value is not None:
            yield Measurement(
                "reading", found.reader, what, value=value, chance=chance, by_chance=by_chance
            )
