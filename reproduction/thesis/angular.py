"""Thesis, section 5.3.1: mechanism 1, which it could not run, beside mechanism 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from inkblur import Embedding, ReleaseSpec
from inkblur.errors import Unreachable
from inkblur.evaluation import calibrate, privacy_statistics
from reproduction.arrays import NULL_ID, Array, Ids
from reproduction.context import Context
from reproduction.estimate import Estimate
from reproduction.result import Claim, Drawing, Outcome, Reading
from reproduction.thesis import relative_change
from reproduction.thesis.postings import Postings
from reproduction.thesis.suspects import (
    LEARNED,
    NEWSGROUPS,
    Cases,
    SuspectAttack,
    newsgroup_suspects,
)

TABLE = "Beyond the paper: both mechanisms at equal survival in the texts"
ONE, TWO = "angular-laplace", "component-laplace"
SURVIVALS: tuple[float, ...] = (0.8, 0.5)
JUDGED = 0.5  # the level of the claims: half of the words of a text change
VOCABULARY = 10_000  # mechanism 1 compares each word with all of them
FORM = "content"
RUNS = 100  # a word

AngularValues = dict[str, Any]


def run(work: Context) -> Outcome:
    """Words: how many stand in for one, and how near. Texts: the suspects of 20 Newsgroups."""
    study = _AngularStudy(work)
    attack = study.attack
    plain = work.step(f"{LEARNED}, plain", lambda: dict(attack.hits(attack.case.asked.texts)))
    readings = _success({"survival": 1.0, "mechanism": "none"}, [plain])
    tokens = np.array(work.step("tokens of the known postings", study.tokens), np.int64)
    judged: dict[str, AngularValues] = {}
    for survival in work.size(SURVIVALS, (JUDGED,)):
        for setting in study.settings(survival, tokens):
            name = f"{setting.name} at {survival:g}"
            words = work.step(f"{name} of the tokens, words", study.words, setting, tokens)
            texts = [
                work.step(
                    f"{name} of the tokens, texts, {LEARNED}, run {n}", study.texts, setting, n
                )
                for n in range(work.size(3, 1))
            ]
            where: dict[str, Any] = {"survival": survival, "mechanism": setting.family}
            readings += _word_readings(where, words) + _success(where, texts)
            unchanged = relative_change.unchanged(TABLE, where, texts)
            if unchanged is not None:
                readings.append(unchanged)
            if survival == JUDGED:
                judged[setting.family] = {
                    "cosine": words["cosine"],
                    **{
                        key: relative_change.by_text([t[key] for t in texts])
                        for key in ("author", "topic")
                    },
                }
    drawing = Drawing(
        "Topic over author at equal survival",
        TABLE,
        "topic accuracy",
        "author accuracy",
        "mechanism",
    )
    both = ONE in judged and TWO in judged  # else mechanism 1 cannot let so few words survive
    claims = _claims(judged[ONE], judged[TWO]) if both else ()
    return Outcome(tuple(readings), claims, (drawing,), notes=_notes(work))


class _AngularStudy:
    """What the steps share, loaded when the first of them runs."""

    def __init__(self, work: Context) -> None:
        self.work = work
        self.postings = Postings(
            work,
            train=work.size(100, 8),
            test=0,
            vocabulary=work.size(VOCABULARY, 800),
            suspects=newsgroup_suspects(work),
        )
        self.attack = SuspectAttack(
            work, self.postings, NEWSGROUPS, Cases(work, self.postings), FORM
        )

    def tokens(self) -> list[int]:
        """Words of the postings that the attacker knows as they come, in random order, as ids."""
        words = [word for text in self.attack.case.known.texts for word in text.split()]
        order = self.work.rng("tokens").permutation(len(words))
        chosen = [words[place] for place in order[: self.work.size(4_000, 400)]]
        ids = self.postings.embedding.ids(chosen)
        known: list[int] = ids[ids != NULL_ID].tolist()
        return known

    def settings(self, survival: float, tokens: Ids) -> list[ReleaseSpec]:
        """Both mechanisms, each with the epsilon at which a word of the texts survives with this
        probability; one that lets more survive at every epsilon is left out.
        """
        found = []
        for name, options in ((ONE, {"accept_no_guarantee": True}), (TWO, {})):
            step = f"calibrate {name} to {survival:g} of the words as they come"
            epsilon = self.work.step(step, self._calibrated, name, survival, tokens, options)
            if epsilon is not None:
                found.append(ReleaseSpec(name, epsilon, parameters=options))
        return found

    def _calibrated(
        self, name: str, survival: float, tokens: Ids, options: dict[str, bool]
    ) -> float | None:
        sample = self.work.size(2_000, 200)
        table, words = self.postings.embedding, tokens[:sample]
        try:
            return calibrate(name, table, survival=survival, sample=sample, words=words, **options)
        except Unreachable:
            return None

    def words(self, setting: ReleaseSpec, tokens: Ids) -> AngularValues:
        """N_w and S_w of words of the vocabulary, and the mean cosine of words of the texts with
        what replaced them.
        """
        mechanism, rng = setting.mechanism_on(self.postings.embedding), self.work.rng("words")
        count = self.work.size(300, 30)
        found = privacy_statistics(mechanism, rng=rng, words=count, runs=RUNS)
        ids = np.repeat(tokens[:count], 20)
        out = mechanism.replace(ids, rng.child("nearness", setting.name))
        return {
            "survived": list(found.survived),
            "distinct": list(found.distinct),
            "cosine": nearness(self.postings.embedding, ids, out, 20),
        }

    def texts(self, setting: ReleaseSpec, number: int) -> AngularValues:
        """Who and what is recognized in released postings."""
        texts = self.attack.case.asked.texts
        released = self.work.release(setting, self.postings.embedding, texts, f"run {number}")
        return {**self.attack.hits(released.texts), **relative_change.counted(released, texts)}


def nearness(embedding: Embedding, ids: Ids, out: Ids, draws: int) -> list[float | None]:
    """Mean cosine between a word and its replacements, for words in runs of `draws` draws; None
    for a word that was never replaced.
    """
    left, right = embedding.centers(ids), embedding.centers(out)
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = ((left * right).sum(axis=1) / norms).reshape(-1, draws)
    changed = (ids != out).reshape(-1, draws)
    return [
        float(row[held].mean()) if held.any() else None
        for row, held in zip(cosines, changed, strict=True)
    ]


def _word_readings(where: dict[str, Any], words: AngularValues) -> list[Reading]:
    near = [cosine for cosine in words["cosine"] if cosine is not None]
    made = [
        Reading(TABLE, where, "mean N_w", Estimate.of_units(words["survived"])),
        Reading(TABLE, where, "mean S_w", Estimate.of_units(words["distinct"])),
    ]
    if near:
        made.append(Reading(TABLE, where, "cosine of replacements", Estimate.of_units(near)))
    return made


def _success(where: dict[str, Any], runs: list[AngularValues]) -> list[Reading]:
    return [
        Reading(TABLE, where, measure, relative_change.success([one[key] for one in runs]))
        for key, measure in (("topic", "topic accuracy"), ("author", "author accuracy"))
    ]


def _claims(one: AngularValues, two: AngularValues) -> tuple[Claim, ...]:
    """The thesis holds mechanism 1 to be the better one; each claim is a paired difference."""
    pairs = zip(one["cosine"], two["cosine"], strict=True)
    near = [a - b for a, b in pairs if a is not None and b is not None]
    topic: Array = one["topic"] - two["topic"]
    author: Array = two["author"] - one["author"]
    rows = (
        (
            "mechanism-1-gives-closer-words",
            "Angular noise (mechanism 1) replaces words with closer ones than component-wise noise "
            "(mechanism 2).",
            "mean cosine between a word of the texts and its replacements, mechanism 1 minus "
            "mechanism 2",
            near,
        ),
        (
            "mechanism-1-keeps-more-topic",
            "Angular noise keeps more of the topic than component-wise noise.",
            "accuracy of topics, mechanism 1 minus mechanism 2, on the same postings",
            topic,
        ),
        (
            "mechanism-1-hides-more-authors",
            "Angular noise hides the author better than component-wise noise.",
            "author success, mechanism 2 minus mechanism 1, on the same postings",
            author,
        ),
    )
    return tuple(
        Claim(
            name,
            text,
            "thesis, sections 5.3.1 and 5.4.3 (expected there, not measured)",
            f"{statistic}; at survival {JUDGED:g} of the words of the texts",
            Estimate.of_units(units),
            0.0,
        )
        for name, text, statistic, units in rows
    )


def _notes(work: Context) -> tuple[str, ...]:
    return (
        "A new result: the thesis could not run mechanism 1. Equal survival: each mechanism has "
        "the epsilon at which a word of the texts comes out unchanged with the stated probability, "
        f"found on {work.size(2_000, 200):,} tokens of the postings that the attacker knows, as "
        "they come. The attacked postings are others; what survives of them is in the column of "
        "words unchanged. Words without a vector are left out of the texts.",
        f"Vocabulary: the {work.size(VOCABULARY, 800):,} commonest words of GloVe 6B, 300 "
        "dimensions.",
        "Mechanism 1 cuts its angle off at 90 degrees, so even without a limit on the noise some "
        "of the words survive: survival 0.2 is out of its "
        "reach. It has no guarantee.",
        "Equal survival in the texts is not equal survival over the vocabulary: N_w and S_w are of "
        "words drawn evenly from the vocabulary, as in the Mahalanobis paper, and differ between "
        "mechanisms. The cosine of replacements is of words of the texts.",
        f"Texts: postings of {work.size(20, 5)} suspects of 20 Newsgroups as content words; "
        "Koppel's attack and naive Bayes learn from texts that are not obfuscated, as in "
        "thesis/authors.",
        "Mechanism 1 has no claims where it cannot reach the survival they are judged at.",
        "Intervals are over words, or over postings, each averaged over its runs.",
    )
