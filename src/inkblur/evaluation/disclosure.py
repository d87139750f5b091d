"""What a release discloses besides its author: words, originals, links and secrets.

Every measure is taken on the first repetition's release, with an interval over texts. Reading needs
to know the channel, so it is measured for sequences whose every word goes through the mechanism.
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
from inkblur.evaluation.attacks.channel import Channel, channel_of
from inkblur.evaluation.attacks.entering import WORD_CLASSES, entering
from inkblur.evaluation.attacks.inference import infer
from inkblur.evaluation.attacks.language import Trigrams, entering_ids, unigram
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.linking import MOST_TEXTS, linking
from inkblur.evaluation.attacks.reading import Guesses, Reader, guessed
from inkblur.evaluation.attacks.repetition import Repeated, repeated_words
from inkblur.evaluation.attacks.singling_out import single_out, single_out_by_channel
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.bootstrap import over_texts, share_over_texts
from inkblur.evaluation.measures.recovered import Recovered, TrueWords, recovered, true_words
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Released, Releaser, TextReleaser
from inkblur.evaluation.results import ADAPTIVE, STATIC, Disclosure, Interval
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import Ids, ReleaseKind

RELEASES = (2, 5, 10)  # how often one text is released afresh
_RELEASED_AGAIN = 10  # texts
_COMPARED = 500  # texts that are linked and singled out
_TRACED = 100  # texts that are singled out by the channel, and words of each that it reads


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
    ) -> tuple[Disclosure, ...]:
        """All that can be measured about this release."""
        found = [*self._repetition(test), *self._originals(releaser, test)]
        if self.data.has_secrets:
            found.append(self._inferred(ADAPTIVE, train.texts, test))
            found.append(self._inferred(STATIC, self.train, test))
        if isinstance(releaser, TextReleaser) and _every_word_blurred(releaser):
            blur = releaser.blur
            channel = channel_of(blur.mechanism, rng.child("simulated"))
            found = [*self._reading(blur, channel, rng), *found]
            if self.data.has_secrets:
                attack = Likelihood(channel, self.embedding, entering(blur))
                found.append(self._inferred("by the channel", self.train, test, attack))
            if not releaser.spec.consistent:  # whose words are not drawn one by one
                found += self._traced(blur, channel, rng.child("traced"))
        return tuple(found)

    def _reading(self, blur: Privatizer, channel: Channel, rng: Rng) -> Iterator[Disclosure]:
        read = [self.test[row] for row in self.order[: self.plan.read_texts]]
        truth = [true_words(text, blur.ids(text)) for text in read]
        truth = [words for words in truth if len(words.ids)]
        if not truth:
            return
        outs = _drawn(blur.mechanism, truth, 1, rng.child("read"))
        texts = [entering_ids(text, self.embedding) for text in self.public]
        prior = unigram(self.embedding, texts)
        reader = Reader(channel, prior)
        candidates = reader.candidates(outs)
        readers = {"unigram": [guessed(found) for found in candidates]}
        if texts:
            trigrams = Trigrams(texts, prior)
            readers["trigram"] = [guessed(found, trigrams) for found in candidates]
        shown = [out[:, 0] for out in outs]
        for name, said in readers.items():
            yield from _read(self._recovered(name, truth, shown, said), reader.channel.error)
        again = truth[:_RELEASED_AGAIN]
        many = _drawn(blur.mechanism, again, max(RELEASES), rng.child("again"))
        for releases in RELEASES:
            said = reader.read([out[:, :releases] for out in many])
            hits = self._recovered("", again, [out[:, 0] for out in many], said)
            yield Disclosure(
                "repetition",
                f"words recovered from {releases} releases with fresh noise (a repeat under the "
                "same key is identical and shows nothing more)",
                hits.recovered,
                hits.as_it_stands.mean,
                "the first release, taken at face value",
            )

    def _recovered(
        self, reader: str, truth: Sequence[TrueWords], outs: Sequence[Ids], said: Sequence[Guesses]
    ) -> Recovered:
        return recovered(
            reader, truth, outs, said, confidence=self.plan.confidence, seed=self.plan.seed
        )

    def _repetition(self, test: Released) -> Iterator[Disclosure]:
        yield from self._repeated(
            "content words released twice in a text: share that the original text contains",
            repeated_words(self.test, test.texts, authors=self.data.test.authors.tolist()),
        )
        if self.data.has_authors:
            authors = self.data.test.authors
            yield from self._repeated(
                "content words released 3 times in an author's texts: share that the author wrote",
                repeated_words(
                    joined_by_author(self.test, authors),
                    joined_by_author(test.texts, authors),
                    times=3,
                ),
            )

    def _repeated(self, measure: str, found: Repeated) -> Iterator[Disclosure]:
        share = self._share(found.true, found.found)
        if share is not None:
            yield Disclosure("repetition", measure, share, found.chance, "in another's text")

    def _originals(self, releaser: Releaser, test: Released) -> Iterator[Disclosure]:
        rows = sorted(self.order[:_COMPARED])
        released = [test.texts[row] for row in rows]
        if len(rows) > 1:
            originals = [self.test[row] for row in rows]
            shown = None
            if isinstance(releaser, TextReleaser) and not (
                {*WORD_CLASSES, "punctuation"} & {*releaser.blur.policies.kept}
            ):
                shown = releaser.blur.read(originals).draws
            traced = single_out(originals, released, shown)
            measure = f"released texts traced to their original among {len(rows)}, by words"
            yield self._singled_out(measure, traced.by_words)
            if traced.by_both is not None:
                yield self._singled_out("the same, by words and length", traced.by_both)
        authors = self.data.test.authors
        known = [row for row in self.order if authors[row] >= 0 and test.texts[row]]
        known = sorted(known[: min(_COMPARED, MOST_TEXTS)])
        if known:
            try:
                area = linking(
                    [test.texts[row] for row in known],
                    authors[known],
                    confidence=self.plan.confidence,
                    seed=self.plan.seed,
                )
            except ParameterError:  # too few texts of one author, or no word in them
                return
            measure = "area under the curve: pairs of texts by one author against pairs by two"
            yield Disclosure("linking", measure, area, 0.5, "guessing")

    def _traced(self, blur: Privatizer, channel: Channel, rng: Rng) -> Iterator[Disclosure]:
        texts = (self.test[row] for row in self.order)
        words = (true_words(text, blur.ids(text)) for text in texts)
        first = (TrueWords(w.ids[:_TRACED], w.kinds[:_TRACED]) for w in words if len(w.ids))
        truth = list(islice(first, _TRACED))
        if len(truth) > 1:
            outs = [out[:, 0] for out in _drawn(blur.mechanism, truth, 1, rng)]
            hits = single_out_by_channel(channel, [text.ids for text in truth], outs)
            yield self._singled_out(
                f"released texts traced to their original among {len(truth)}, by the channel and "
                f"their first {_TRACED} words",
                hits,
            )

    def _inferred(
        self, kind: str, known: Sequence[str], test: Released, attack: Attack | None = None
    ) -> Disclosure:
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
        return Disclosure(
            "inference",
            f"secret labels guessed, {kind}",
            spread["accuracy"],
            said.chance,
            "the commonest label",
        )

    def _singled_out(self, measure: str, hits: NDArray[np.bool_]) -> Disclosure:
        share = self._share(hits.astype(np.int64), np.ones(len(hits), np.int64))
        assert share is not None
        return Disclosure("singling out", measure, share, 1 / len(hits), "guessing")

    def _share(self, hits: Ids, totals: Ids) -> Interval | None:
        return share_over_texts(hits, totals, confidence=self.plan.confidence, seed=self.plan.seed)


def _every_word_blurred(releaser: TextReleaser) -> bool:
    """Whether the reader's model of the release is right: a sequence with every word in it."""
    spec, blur = releaser.spec, releaser.blur
    gone = {*spec.drop} - {"punctuation", "sentence-ends"}  # which are gone anyway
    copied = {*blur.policies.kept} - {"sentence_ends"}  # full stops, which are no words
    plain = not (gone or copied) and spec.length is None
    return plain and blur.kind is ReleaseKind.SEQUENCE


def _drawn(
    mechanism: WordMechanism, truth: Sequence[TrueWords], releases: int, rng: Rng
) -> list[Ids]:
    """What comes out, (places, releases) per text."""
    ids = np.concatenate([words.ids for words in truth])
    outs = np.stack(
        [mechanism.replace(ids, rng.child(str(release))) for release in range(releases)], axis=1
    )
    return np.split(outs, np.cumsum([len(words.ids) for words in truth])[:-1])


def _read(found: Recovered, error: float) -> Iterator[Disclosure]:
    attack = f"reading ({found.reader})"
    stands = (found.as_it_stands.mean, "the text, taken at face value")
    how = f"; channel estimated, off by {error:.2f}" if error else ""
    yield Disclosure(attack, f"words recovered{how}", found.recovered, *stands)
    yield Disclosure(attack, "content words recovered", found.content, None, "")
    for kind, value in (("names", found.names), ("numbers", found.numbers)):
        if value is not None:
            yield Disclosure(attack, f"{kind} recovered", value, None, "")
    yield Disclosure(attack, "words that the reader is at least 90 % sure of", found.sure, None, "")
    if found.sure_and_right is not None:
        yield Disclosure(attack, "of those, right", found.sure_and_right, None, "")
