"""Attacker against analyst under one release: who wrote these texts, what are those about?

The attacker and the analyst work on collections of their own, as the papers' measurements do. All
texts are reduced to their content words first. The attackers:

- Koppel's (cosine, two weightings of the n-grams) and two linear SVMs (on words, and on words and
  character n-grams), each static (studied true texts) and adaptive (studied texts released by the
  same mechanism);
- `likelihood` and `likelihood-texts`, which send the words of true texts through the public
  channel, and `svm-undone`, which reads released words back through it: static;
- `stacked`, which weighs the SVMs and likelihoods by what they earned on other authors: adaptive.

The best of each kind counts. The analyst is a linear SVM that learned from true texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from inkblur import Embedding, ReleaseSpec
from inkblur.evaluation import (
    CHANNEL_ATTACKS,
    NULL_ID,
    Array,
    Attack,
    ContentWords,
    Ids,
    Koppel,
    Likelihood,
    LinearSvm,
    NgramWeighting,
    Words,
    among,
    channel_of,
    fingerprints,
    releaser,
    stacked_across,
    words_of,
)
from reproduction.context import Context, StepJob, with_names
from reproduction.corpora import Corpus, Split
from reproduction.newsgroups import bare
from reproduction.resampled_texts import mean_f1, share, times_drawn

WEIGHTINGS = (NgramWeighting.SHARE, NgramWeighting.LOG_TF_IDF)
# What draws the words is compared; the lengths of texts show alike whatever does.
_INFORMED = tuple(name for name in CHANNEL_ATTACKS if name != "likelihood-lengths")
# In the names of steps.
_ATTACKERS = "/".join(
    [
        *(weighting.value for weighting in WEIGHTINGS),
        *("svm-words", "svm", *_INFORMED, "stacked"),
    ]
)

MeasuredColumns = Mapping[
    str, Array
]  # static, adaptive, utility, unchanged: columns, see `resampled_texts`


@dataclass(frozen=True, slots=True)
class SampleSizes:
    """How much of the collections takes part."""

    studied: int  # texts an author that the static attacker studies
    known: int  # of those, texts that the adaptive attacker releases and studies
    unknown: int  # texts an author that are attacked
    taught: int  # labeled texts that the analyst learns from, at most
    asked: int  # texts whose label is asked for, at most

    def __str__(self) -> str:
        counts = (self.studied, self.known, self.unknown, self.taught, self.asked)
        return "/".join(str(count) for count in counts)

    @property
    def attackers(self) -> str:
        """What each attacker studied, as a sentence."""
        fewer = (
            " With as many texts as the static one it would name more authors (adapted/frontier "
            "gives it as many), so the stronger attack is understated here."
        )
        return (
            "Attackers: Koppel (cosine, two weightings), linear SVMs on words and on words and "
            "character 4-grams, three who know the channel (likelihood, likelihood-texts and "
            "svm-undone, static), and SVMs and likelihoods stacked "
            "(adaptive); the best counts for each kind. The static one "
            f"studied {self.studied} true texts an author, the adaptive one {self.known} texts an "
            f"author released in the same way; {self.unknown} texts an author are attacked."
            f"{fewer if self.known < self.studied else ''}"
        )


class FacedChannel:
    """The channel of the release that is attacked now; attackers study before there is one."""

    def __init__(self, size: int) -> None:
        self.size, self.error = size, 0.0

    def face(self, channel: Any) -> None:
        """From now on it is this one."""
        self._channel, self.error = channel, channel.error

    def likelihood(self, ids: Ids, outs: Ids) -> Any:
        """P(out | word), (ids, outs)."""
        return self._channel.likelihood(ids, outs)


class AttackVsLabel:
    """Two collections; what was learned from true texts is learned once."""

    def __init__(
        self,
        name: str,
        work: Context,
        authors: Split,
        labels: Split,
        sizes: SampleSizes,
        *,
        score: str = "accuracy",  # of labels, or "f1": the mean over labels, where one is common
    ) -> None:
        self.name, self.work, self.sizes, self._score = name, work, sizes, score
        self._last_informed: tuple[Embedding, FacedChannel, list[Attack]] | None = None
        self._studied = _content(authors.train.first_of_each_author(sizes.studied))
        self._known = self._studied.first_of_each_author(sizes.known)
        self._unknown = _content(authors.test.first_of_each_author(sizes.unknown))
        self.taught = labels.train.rows(self._chosen(sizes.taught, len(labels.train), "taught"))
        self._taught = _content(self.taught)
        # A text that also stands in the teaching part would be refused by a metric learned there.
        fresh = np.flatnonzero(~among(labels.test.texts, fingerprints(self.taught.texts))).tolist()
        places = self._chosen(sizes.asked, len(fresh), "asked")
        self._asked = _content(labels.test.rows([fresh[place] for place in places]))

    def _chosen(self, count: int, of: int, part: str) -> list[int]:
        return self.work.sample(min(count, of), of, self.name, part)

    def words(self, embedding: Embedding, count: int) -> Ids:
        """`count` tokens of the texts that attackers study, as they come; known words only."""
        tokens = [word for text in self._studied.texts for word in text.split()]
        chosen = self.work.sample(min(8 * count, len(tokens)), len(tokens), self.name, "tokens")
        ids = embedding.ids([tokens[place] for place in chosen])
        known: Ids = ids[ids != NULL_ID]
        order = self.work.rng(self.name, "order").permutation(len(known))
        return known[order][:count]

    def before(self) -> MeasuredColumns:
        """Attack and utility on the true texts."""
        return self._measured(
            self.work.step(
                f"{self.name}, true texts, {_ATTACKERS} by text, {self.sizes}",
                lambda: {
                    "static": self._named(self._static, self._unknown.texts),
                    "adaptive": self._named(self._fitted(self._known), self._unknown.texts),
                    "labels": self._labels_right(self._asked.texts),
                },
            )
        )

    def after(self, setting: ReleaseSpec, embedding: Embedding, run: int) -> MeasuredColumns:
        """The same under a release; `run` numbers the repetition."""
        return self._measured(self.work.step(*self._job(setting, embedding, run)))

    def runs(
        self, settings: Sequence[ReleaseSpec], embedding: Embedding, count: int
    ) -> list[list[MeasuredColumns]]:
        """`count` runs of each setting, several at the same time where there are workers."""
        jobs = [self._job(setting, embedding, run) for setting in settings for run in range(count)]
        steps = self.work.steps(
            jobs, prepare=lambda: (self._static, self._analyst, self._informed(embedding))
        )
        found = [self._measured(one) for one in steps]
        return [found[start : start + count] for start in range(0, len(found), count)]

    def _job(self, setting: ReleaseSpec, embedding: Embedding, run: int) -> StepJob:
        where = f"{self.name}, {setting.name} on {embedding.sha256[:16]}"
        key = f"{where}, {_ATTACKERS} by text, {self.sizes}, run {run}"
        return key, self._after, setting, embedding, str(run)

    def _after(self, setting: ReleaseSpec, embedding: Embedding, run: str) -> dict[str, Any]:
        made = releaser(with_names(setting), embedding)
        rng = self.work.rng(self.name, setting.name, embedding.name, run)

        def released(corpus: Corpus, part: str) -> Corpus:
            out = made.release(corpus.texts, rng.child(part))
            return replace(corpus, texts=out.texts)

        unknown = made.release(self._unknown.texts, rng.child("unknown"))
        known = released(self._known, "known")
        mechanism = setting.mechanism_on(embedding)
        faced, informed = self._informed(mechanism.embedding)
        faced.face(channel_of(mechanism, rng.child("channel")))
        static, adaptive = [*self._static, *informed], self._fitted(known)
        scores: list[Array] = []  # of every attack that gives some
        return {
            "static": self._named(static, unknown.texts, scores),
            "adaptive": [*self._named(adaptive, unknown.texts, scores), *self._stacked(scores)],
            "labels": self._labels_right(released(self._asked, "asked").texts),
            "unchanged": unknown.unchanged or 0.0,
        }

    def _measured(self, found: Mapping[str, Any]) -> MeasuredColumns:
        """Measures of the answers that a step kept."""
        attacked, asked = self._times
        best = {
            who: np.max([share(attacked, [int(c) for c in right]) for right in found[who]], axis=0)
            for who in ("static", "adaptive")
        }
        answers = np.array(found["labels"], dtype=np.int64)
        if self._score == "f1":
            utility = mean_f1(asked, self._truth, answers)
        else:
            utility = share(asked, (answers == self._truth).tolist())
        return {**best, "utility": utility, "unchanged": np.array([found.get("unchanged", 1.0)])}

    @cached_property
    def _times(self) -> tuple[Array, Array]:
        """How often each attacked text, and each one that is asked about, is drawn."""
        rng = self.work.rng(self.name, "redrawn")
        return (
            times_drawn(len(self._unknown), rng.child("unknown")),
            times_drawn(len(self._asked), rng.child("asked")),
        )

    @cached_property
    def _labels(self) -> dict[str, int]:
        names = {*(self._taught.labels or ()), *(self._asked.labels or ())}
        return {name: number for number, name in enumerate(sorted(names))}

    @cached_property
    def _truth(self) -> Ids:
        return np.array([self._labels[name] for name in self._asked.labels or ()], dtype=np.int64)

    @cached_property
    def _static(self) -> list[Attack]:
        return self._fitted(self._studied)

    def _informed(self, embedding: Embedding) -> tuple[FacedChannel, list[Attack]]:
        """The attackers who know the channel, and where it is put: they study true texts, so what
        they learn is the same for all releases over these words.
        """
        if self._last_informed is None or self._last_informed[0] is not embedding:
            faced = FacedChannel(len(embedding))
            attacks = [
                CHANNEL_ATTACKS[name](faced, embedding, None, self.work.seed, False).fit(
                    self._studied.texts, self._authors(self._studied)
                )
                for name in _INFORMED
            ]
            self._last_informed = embedding, faced, attacks
        return self._last_informed[1:]

    def _fitted(self, corpus: Corpus) -> list[Attack]:
        """The attackers, who studied these texts."""
        attacks: list[Attack] = [
            Koppel(seed=self.work.seed, similarity="cosine", weighting=weighting)
            for weighting in WEIGHTINGS
        ]
        attacks += [
            LinearSvm(seed=self.work.seed, view=Words(), name="svm-words"),
            LinearSvm(seed=self.work.seed),
        ]
        return [attack.fit(corpus.texts, self._authors(corpus)) for attack in attacks]

    def _authors(self, corpus: Corpus) -> Ids:
        assert corpus.authors is not None
        return corpus.authors

    def _named(
        self, attacks: Sequence[Attack], texts: Sequence[str], kept: list[Array] | None = None
    ) -> list[str]:
        """Whether each attacker names the author, text by text: 1 or 0. Scores of those that give
        some are added to `kept`.
        """
        named = []
        for attack in attacks:
            if kept is not None and isinstance(attack, LinearSvm | Likelihood):
                kept.append(attack.scores(texts))
                answers = attack.named(texts, kept[-1])
            else:
                answers = attack.predict(texts)
            named.append(_digits(answers == self._unknown.authors))
        return named

    def _stacked(self, scores: Sequence[Array]) -> list[str]:
        """The same for those scores weighed together; nobody where there are too few authors."""
        names = np.unique(self._authors(self._studied))
        truth = np.searchsorted(names, self._authors(self._unknown))
        found = stacked_across(scores, truth)
        return [] if found is None else [_digits(found.argmax(axis=1) == truth)]

    def _labels_right(self, texts: Sequence[str]) -> list[int]:
        """The label that the analyst gives each text, as a number."""
        return [self._labels[name] for name in self._analyst.predict(list(texts)).tolist()]

    @cached_property
    def _analyst(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        machine = LinearSVC(C=1.0, max_iter=20_000, random_state=self.work.seed)
        analyst = make_pipeline(TfidfVectorizer(analyzer=words_of), machine)
        return analyst.fit(list(self._taught.texts), list(self._taught.labels or ()))


def _digits(right: Any) -> str:
    return "".join("01"[int(one)] for one in right)


def _content(corpus: Corpus) -> Corpus:
    return replace(corpus, texts=tuple(ContentWords().transform(corpus.texts)))


def c50_and_newsgroups(work: Context) -> tuple[Split, Split]:
    """Authors of Reuters C50 and topics of 20 Newsgroups; a quick look takes smaller collections.

    Postings are stripped of headers, quotes and signatures: the topic is in the words alone.
    """
    if work.quick:
        return work.datasets.pan18(2), halved(work, work.datasets.sms, 0.3)
    topics = work.datasets.newsgroups
    return work.datasets.c50, Split(bare(topics.train), bare(topics.test))


def halved(work: Context, corpus: Corpus, share: float) -> Split:
    """A collection without parts of its own: `share` of it is asked about, the rest teaches."""
    asked = set(work.sample(round(share * len(corpus)), len(corpus), corpus.name))
    rows = range(len(corpus))
    return Split(corpus.rows([row for row in rows if row not in asked]), corpus.rows(sorted(asked)))


def at_attack(attacks: Sequence[Array], utilities: Sequence[Array], level: float) -> Array | None:
    """Utility where the attack succeeds with probability `level`, by linear interpolation.

    None where no measurement on the real texts lies below the level, or none above it: nothing is
    known there. A redrawn collection whose curve ends before the level counts with its end.

    >>> low, high = np.array([0.1, 0.2]), np.array([0.3, 0.4])  # real texts, one collection redrawn
    >>> at_attack([low, high], [low + 0.3, high + 0.3], 0.2).round(6).tolist()
    [0.5, 0.5]
    >>> at_attack([low, high], [low + 0.3, high + 0.3], 0.4) is None
    True
    """
    found = np.array(attacks)
    if not found[:, 0].min() <= level <= found[:, 0].max():
        return None
    order = found.argsort(axis=0)
    across = np.take_along_axis(found, order, axis=0).T
    up = np.take_along_axis(np.array(utilities), order, axis=0).T
    return np.array([np.interp(level, x, y) for x, y in zip(across, up, strict=True)])
