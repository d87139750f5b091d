"""Risk: how many texts the strongest attack tried attributes to their author, above chance.

    risk = (accuracy - chance) / (1 - chance)

where every author counts alike and chance is guessing among them. It is the largest over the
attacks, static and adaptive, so it is a lower bound: a better attacker may come. Authors are
divided into two halves, whose texts are released and attacked apart. One half serves to choose a
setting and the other to judge it; an attack that needs weights (stacking) learns them on the half
that it does not attack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inkblur.documents.policies import Treatment
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.lengths import (
    SentenceLengths,
    TextLengths,
    with_sentences,
    with_text_lengths,
)
from inkblur.evaluation.attacks.likelihood import LengthLikelihood, Likelihood, TextLikelihood
from inkblur.evaluation.attacks.stacking import stacked, stacking_weights
from inkblur.evaluation.attacks.svm import LinearSvm, Words
from inkblur.evaluation.measures.intervals import (
    FEWEST,
    clopper_pearson,
    percentile_interval,
    resample_counts,
)
from inkblur.evaluation.results import ADAPTIVE, STATIC, above_chance
from inkblur.rng import Rng, seeded_rng
from inkblur.types import Array, Ids, Record, counted

Scores = dict[tuple[str, str], Array]  # (texts, suspects), by attack and kind
STACKED_LENGTHS = "stacked-lengths"  # hears those that look at lengths as well
# Attacks that look at how long texts and sentences are: whatever epsilon is, these show.
ON_LENGTHS = frozenset(
    {TextLengths.name, SentenceLengths.name, LengthLikelihood.name, STACKED_LENGTHS}
)
_STUDIED = 50  # released texts per author that the adaptive attacker studies, copies counted
_MOST_COPIES = 8
_RESAMPLES = 10_000  # with ten authors the interval ends at the 85th smallest and largest


@dataclass(frozen=True, slots=True)
class AuthorTexts:
    """Texts that an attacker knows the authors of, and texts to attribute."""

    known: tuple[str, ...]
    known_authors: Ids
    attacked: tuple[str, ...]
    attacked_authors: Ids  # each has a known text: nobody else can be named

    def __post_init__(self) -> None:
        strangers = np.setdiff1d(self.attacked_authors, self.known_authors)
        if len(strangers):
            none = counted(len(strangers), "attacked author has", "attacked authors have")
            raise ParameterError(
                f"{none} no known text, such as {strangers[0]}, so no attack can identify them: "
                "leave their texts out"
            )

    @property
    def suspects(self) -> Ids:
        """The authors, ascending."""
        return np.unique(self.known_authors)

    def of_authors(self, authors: ArrayLike) -> AuthorTexts:
        """The texts of these authors only."""
        known = np.flatnonzero(np.isin(self.known_authors, authors)).tolist()
        attacked = np.flatnonzero(np.isin(self.attacked_authors, authors)).tolist()
        return AuthorTexts(
            tuple(self.known[row] for row in known),
            self.known_authors[known],
            tuple(self.attacked[row] for row in attacked),
            self.attacked_authors[attacked],
        )

    def halves(self) -> tuple[AuthorTexts, AuthorTexts]:
        """Every second author each, in order of how many texts are attacked: halves of one size."""
        authors, times = np.unique(self.attacked_authors, return_counts=True)
        if len(authors) < 4:
            raise ParameterError(
                f"{counted(len(authors), 'author has', 'authors have')} texts to attack; 4 are "
                "needed, two to choose a setting on and two to judge it on"
            )
        order = authors[np.argsort(-times, kind="stable")]
        return self.of_authors(order[::2]), self.of_authors(order[1::2])


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attack on the texts of one half, once."""

    half: int
    attack: str
    kind: str  # static or adaptive
    words: int | None  # how many words of each text were shown; None: all
    suspects: int
    authors: Ids  # (texts,)
    correct: NDArray[np.bool_]  # (texts,)

    @property
    def by_author(self) -> Array:
        """Share of each author's texts that were attributed to them, (authors,)."""
        _, place = np.unique(self.authors, return_inverse=True)
        share: Array = np.bincount(place, weights=self.correct) / np.bincount(place)
        return share

    def to_json(self) -> dict[str, Any]:
        """As one JSON object."""
        correct = "".join("01"[hit] for hit in self.correct.astype(int))
        return {**asdict(self), "authors": self.authors.tolist(), "correct": correct}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Attempt:
        """What :meth:`to_json` wrote."""
        correct = np.array([hit == "1" for hit in body["correct"]], dtype=bool)
        authors = np.array(body["authors"], np.int64)
        return cls(**{**body, "authors": authors, "correct": correct})


@dataclass(frozen=True, slots=True)
class AttackRisk:
    """What the strongest of several attacks reached: shares of texts, every author alike."""

    attack: str
    kind: str
    accuracy: float
    chance: float
    risk: float  # above chance
    low: float  # of the risk: interval over authors like these
    high: float

    def to_json(self) -> dict[str, Any]:
        """As one JSON object, rounded."""
        body = asdict(self)
        return {k: round(v, 4) if isinstance(v, float) else v for k, v in body.items()}


def strongest(
    attempts: Iterable[Attempt], *, confidence: float = 0.95, seed: int = 1
) -> AttackRisk:
    """The largest risk among attacks; attempts of one attack (repetitions) are averaged.

    Every author counts alike, however many of their texts are attacked. Otherwise an attack that
    answers one prolific author to everything would be far above chance without knowing anything.
    The interval is over authors, for the attack that was strongest (`measures.intervals`); where
    all authors have one share, or are fewer than six, it is Clopper and Pearson's.
    """
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        groups.setdefault((attempt.attack, attempt.kind), []).append(attempt)
    if not groups:
        raise ParameterError("no attack was tried")
    by_author = {
        name: np.mean([a.by_author for a in same], axis=0) for name, same in groups.items()
    }
    name = max(by_author, key=lambda name: float(by_author[name].mean()))
    shares, chance = by_author[name], 1.0 / groups[name][0].suspects
    count, accuracy = len(shares), float(shares.mean())
    if count < FEWEST or np.ptp(shares) == 0:
        low, high = clopper_pearson(shares.sum(), count, confidence)
    else:
        times = resample_counts(_RESAMPLES, count, seeded_rng(seed).child("authors"))
        low, high = percentile_interval(times @ shares / count, confidence, units=count)
    risks = (max(0.0, above_chance(share, chance)) for share in (accuracy, low, high))
    return AttackRisk(*name, accuracy, chance, *risks)


def attempts(
    texts: AuthorTexts,
    blur: Privatizer | None,
    embedding: Embedding,
    rng: Rng,
    *,
    seed: int = 1,
    lengths: Sequence[int] = (),
    draws: int = 1,
) -> list[Attempt]:
    """Release the texts of both halves, `draws` times, and attack each release in every way.

    `blur` None attacks the texts as they are. `lengths` also attacks the first so many words of
    each text: a released word depends on no other, so the first words of a release are the release
    of the first words. The adaptive attacker studies at least 50 released texts per author, copies
    with fresh noise where fewer texts are known (at most eight of each).
    """
    halves = texts.halves()
    shown = (None, *lengths)
    found: list[list[Scores]] = []  # by half and draw
    for number, half in enumerate(halves):
        stream = rng.child(f"half {number}")
        streams = [stream, *(stream.child(f"draw {draw}") for draw in range(1, draws))]
        releases = [released_texts(half.attacked, blur, each.child("attacked")) for each in streams]
        cuts = [[_beginning(text, words) for words in shown for text in each] for each in releases]
        # True texts are studied once for all draws, released ones for each.
        static = static_scores(half, list(chain(*cuts)), blur, embedding, stream, seed)
        parts = {name: np.split(scores, draws) for name, scores in static.items()}
        by_draw = [{name: each[draw] for name, each in parts.items()} for draw in range(draws)]
        if blur is not None:
            each = len(half.known) / len(half.suspects)
            copies = min(_MOST_COPIES, max(1, math.ceil(_STUDIED / each)))
            for scores, whole, cut, own in zip(by_draw, releases, cuts, streams, strict=True):
                scores |= adaptive_scores(half, cut, blur, own, seed, copies)
                words = scores[TextLikelihood.name, STATIC][: len(whole)]
                scores |= length_scores(half, whole, blur, embedding, words)
        found.append(by_draw)
    return [said for pair in zip(*found, strict=True) for said in answers(halves, pair, shown)]


def answers(
    halves: Sequence[AuthorTexts], found: Sequence[Scores], shown: Sequence[int | None]
) -> Iterator[Attempt]:
    """Whom each attack names by its scores, and whom stacking does that learned on the other half.

    Rows of the scores are the texts, once for each length in `shown`. Attacks on lengths have rows
    for the first alone, whole texts: they are not stacked with the others, but once more with all.
    """
    for number, (half, scores) in enumerate(zip(halves, found, strict=True)):
        truth = np.searchsorted(half.suspects, half.attacked_authors)
        other = halves[1 - number]
        other_truth = np.searchsorted(other.suspects, other.attacked_authors)
        for place, words in enumerate(shown):
            rows = slice(place * len(truth), (place + 1) * len(truth))
            parts = {name: each[rows] for name, each in scores.items() if len(each) > rows.start}
            there = slice(place * len(other_truth), (place + 1) * len(other_truth))
            words_alone = [name for name in parts if name[0] not in ON_LENGTHS]
            heard = {"stacked": words_alone}
            if len(words_alone) < len(parts):
                heard[STACKED_LENGTHS] = list(parts)
            for stack, names in heard.items():
                if len(names) > 1:
                    learned = [found[1 - number][name][there] for name in names]
                    weights = stacking_weights(learned, other_truth)
                    parts[stack, "both"] = stacked([parts[name] for name in names], weights)
            for (attack, kind), part in parts.items():
                correct = part.argmax(axis=1) == truth
                count = len(half.suspects)
                yield Attempt(number, attack, kind, words, count, half.attacked_authors, correct)


def static_scores(
    half: AuthorTexts,
    released: Sequence[str],
    blur: Privatizer | None,
    embedding: Embedding,
    stream: Rng,
    seed: int,
) -> Scores:
    """What attackers who studied true texts make of released ones."""
    scores = _svm_scores(half, half.known, half.known_authors, released, STATIC, seed)
    if blur is not None:
        channel = channel_of(blur.mechanism, stream.child("channel"))
        for attack in (Likelihood, TextLikelihood):
            bayes = attack(channel, embedding, entering(blur))
            bayes.fit(half.known, half.known_authors)
            scores[bayes.name, STATIC] = bayes.scores(released)
    return scores


def adaptive_scores(
    half: AuthorTexts,
    released: Sequence[str],
    blur: Privatizer,
    stream: Rng,
    seed: int,
    copies: int,
) -> Scores:
    """The same for attackers who studied that many releases of each known text."""
    studied: list[str] = []
    for copy in range(copies):
        studied += released_texts(half.known, blur, stream.child(f"known {copy}"))
    authors = np.tile(half.known_authors, copies)
    return _svm_scores(half, studied, authors, released, ADAPTIVE, seed)


def length_scores(
    half: AuthorTexts,
    released: Sequence[str],
    blur: Privatizer,
    embedding: Embedding,
    words: Array,
) -> Scores:
    """What those make of whole texts who studied how long true texts and sentences are, where these
    lengths show. `words` are the scores of `likelihood-texts`, to join them with.
    """
    scores: Scores = {}
    joined = words
    if blur.length is None:
        texts = TextLengths(embedding, entering(blur)).fit(half.known, half.known_authors)
        scores[texts.name, STATIC] = found = texts.scores(released)
        joined = with_text_lengths(joined, found)
    if Treatment.KEEP in (blur.policies.sentence_ends, blur.policies.punctuation):
        sentences = SentenceLengths(embedding, entering(blur)).fit(half.known, half.known_authors)
        scores[sentences.name, STATIC] = found = sentences.scores(released)
        joined = with_sentences(joined, found)
    if scores:
        scores[LengthLikelihood.name, STATIC] = joined
    return scores


def _svm_scores(
    half: AuthorTexts,
    studied: Sequence[str],
    authors: Ids,
    released: Sequence[str],
    kind: str,
    seed: int,
) -> Scores:
    scores: Scores = {}
    for view, name in ((None, "svm"), (Words(), "svm-words")):
        attack = LinearSvm(seed=seed, view=view, name=name).fit(studied, authors)
        found = attack.scores(released)
        # Nobody names a suspect whose known texts are all empty, as signs are once released.
        every = np.repeat(found.min(axis=1, keepdims=True), len(half.suspects), axis=1)
        every[:, np.searchsorted(half.suspects, attack.suspects)] = found
        scores[name, kind] = every
    return scores


def _beginning(text: str, words: int | None) -> str:
    return text if words is None else " ".join(text.split()[:words])


def released_texts(texts: Sequence[str], blur: Privatizer | None, rng: Rng) -> list[str]:
    """The texts after the release, or (None) as they are."""
    if blur is None:
        return list(texts)
    records = [Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, rng).texts)
