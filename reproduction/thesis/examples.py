"""Thesis, Tables 4.1, 5.1, 5.2 and 5.5 and section 3.4.2: what it shows rather than measures."""

from __future__ import annotations

import math

import numpy as np

from inkblur import Embedding, ReleaseSpec
from reproduction.context import Context
from reproduction.corpora import Corpus
from reproduction.estimate import Estimate
from reproduction.result import Claim, Outcome, Passage, Reading
from reproduction.thesis.scales import NoiseScale, commonest, obfuscation
from reproduction.thesis.stop_words import content_words

LEAKAGE = "Section 3.4.2: the lower bound on leaked bits, k = 1, epsilon = 1"
LEAKED = {10_000: 4.2, 100_000: 5.5}  # bits by n, as printed
DATA = (
    "Table 5.1 (the thesis: Reuters 2,000 training and 500 test documents of 100 authors, fan "
    "fiction 102 and 102 of 100)"
)
# Table 4.1: the words nearest to a target by cosine.
NEAREST = {
    "car": "vehicle cars SUV minivan",
    "run": "runs running drive scamper",
    "understand": "comprehend explain know realize",
    "because": "but so Because anyway",
    "town": "village hamlet towns city",
}
# Table 5.5: bags of words, and what scale 0.5 made of them.
OBFUSCATED = {
    "began answered prince servants king": "wildly diverging Caisse populaire Widiyanto Hendro "
    "Cahyono",
    "dwarf beard tears puppy pretty heavily murmured": "evangelical Christians wield refit Hi "
    "Derryn linerboard mill toasted sandwich",
    "prank bed magical realised stared weapon": "Sengoku twins laser refractive fulcrum snowfall "
    "sports house",
}
SENTENCE = "The old bridge was closed last winter because the river had risen."  # ours
VOCABULARY = 30_000


def run(work: Context) -> Outcome:
    """Examples on our vectors beside the printed ones, sizes of the collections, the bound."""
    table = commonest(work, work.size(VOCABULARY, 4_000))
    near = work.step("nearest words by cosine", lambda: {w: nearest(table, w) for w in NEAREST})
    passages = (
        Passage(
            "Table 4.1: the words nearest by cosine (GloVe; in the thesis word2vec)",
            tuple((w, f"{', '.join(near[w])} (thesis: {NEAREST[w]})") for w in NEAREST),
        ),
        Passage(
            "Table 5.2: a text as raw text and as content words, by the thesis's stop words",
            (("raw", SENTENCE), ("content words", " ".join(content_words(SENTENCE)))),
        ),
        Passage(
            "Table 5.5: bags under scale 0.5 at the thesis's ratio of noise to signal",
            tuple(_obfuscated(work, table)),
        ),
    )
    shared = sum(len({*near[w]} & {*NEAREST[w].lower().split()}) for w in NEAREST)
    claim = Claim(
        "nearest-words-are-related",
        "Words nearest by cosine are related in meaning: those of the thesis are found here too.",
        "thesis, section 4.3.7, Table 4.1",
        "of the 20 words of the table, how many are among the four nearest in GloVe as well. "
        "Threshold ours: more than would be by chance, which is none",
        Estimate.exact(float(shared)),
        0.5,
    )
    readings = (*_sizes(work), *leakage())
    return Outcome(readings, (claim,), (), passages, _notes())


def nearest(table: Embedding, word: str) -> list[str]:
    """The four words nearest to one by cosine."""
    unit = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[table.id(word)]), kind="stable")
    return [table.words[i] for i in order[1:5]]


def leakage() -> list[Reading]:
    """I(S; U) >= (1 - exp(-k epsilon / 2)) log2(1 + n / k) - 1.

    >>> [round(reading.found.value, 1) for reading in leakage()]
    [4.2, 5.5]
    """
    return [
        Reading(
            LEAKAGE,
            {"n": n},
            "bits",
            Estimate.exact((1 - math.exp(-0.5)) * math.log2(1 + n) - 1),
            stated,
        )
        for n, stated in LEAKED.items()
    ]


def _obfuscated(work: Context, table: Embedding) -> list[tuple[str, str]]:
    setting: ReleaseSpec = obfuscation(table, 0.5, NoiseScale.EQUAL_RATIO)
    released = work.step(
        "bags under scale 0.5",
        lambda: list(work.release(setting, table, tuple(OBFUSCATED), "bags").texts),
    )
    return [
        (bag, f"{text} (thesis: {stated})")
        for (bag, stated), text in zip(OBFUSCATED.items(), released, strict=True)
    ]


def _sizes(work: Context) -> list[Reading]:
    """Texts and authors of the collections that stand for the thesis's."""
    counted = work.step("sizes of the collections", _counted, work)
    return [
        Reading(DATA, {"collection": name}, measure, Estimate.exact(count))
        for name, counts in counted.items()
        for measure, count in counts.items()
    ]


def _counted(work: Context) -> dict[str, dict[str, int]]:
    parts = {
        "20 Newsgroups": work.datasets.newsgroups,
        "Reuters C50": work.datasets.c50,
        "PAN 2018, problem 1": work.datasets.pan18(1),
        "PAN 2018, problem 2": work.datasets.pan18(2),
    }
    return {
        name: {
            "training": len(split.train),
            "test": len(split.test),
            "authors": len({int(a) for a in _authors(split.train) if a >= 0}),
        }
        for name, split in parts.items()
    }


def _authors(corpus: Corpus) -> list[int]:
    return [] if corpus.authors is None else corpus.authors.tolist()


def _notes() -> tuple[str, ...]:
    return (
        "Table 4.1's words come from 3 million, with capitals; here from GloVe's 30,000 commonest, "
        "all small. The four nearest are compared without case.",
        "Table 5.5 draws once; another draw gives other words. Words without a vector come out as "
        "some word.",
        "Section 3.4.2 quotes a lower bound on the bits that a differentially private count leaks "
        "of a secret of n bits and judges it tolerable; its two numbers are computed again.",
    )
