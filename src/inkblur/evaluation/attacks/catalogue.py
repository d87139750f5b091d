"""The attacks on the author that `evaluate` and `tune` can try, by name."""

from __future__ import annotations

from collections.abc import Callable

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import Attack
from inkblur.evaluation.attacks.channel import Channel
from inkblur.evaluation.attacks.entering import Entering
from inkblur.evaluation.attacks.koppel import Koppel
from inkblur.evaluation.attacks.lengths import SentenceLengths, TextLengths
from inkblur.evaluation.attacks.likelihood import LengthLikelihood, Likelihood, TextLikelihood
from inkblur.evaluation.attacks.svm import ExpectedWords, LinearSvm, Words
from inkblur.evaluation.attacks.writeprints import WritePrints

ATTACKS: dict[str, Callable[[Embedding, int], Attack]] = {
    "svm": lambda table, seed: LinearSvm(seed=seed),
    "svm-words": lambda table, seed: LinearSvm(seed=seed, view=Words(), name="svm-words"),
    "koppel": lambda table, seed: Koppel(seed=seed),
    "koppel-cosine": lambda table, seed: Koppel(seed=seed, similarity="cosine"),
    "writeprints": lambda table, seed: WritePrints(),
    "writeprints-naive-bayes": lambda table, seed: WritePrints(classifier="naive-bayes"),
    "sentence-lengths": lambda table, seed: SentenceLengths(table),
    "text-lengths": lambda table, seed: TextLengths(table),
}
# Those that know the channel P(out | word) and what enters it (None: every word) as well; the last
# argument says whether the texts they study are released ones.
CHANNEL_ATTACKS: dict[str, Callable[[Channel, Embedding, Entering | None, int, bool], Attack]] = {
    "likelihood": lambda channel, table, enter, seed, released: Likelihood(channel, table, enter),
    "likelihood-texts": lambda channel, table, enter, seed, released: TextLikelihood(
        channel, table, enter
    ),
    "likelihood-lengths": lambda channel, table, enter, seed, released: LengthLikelihood(
        channel, table, enter
    ),
    "svm-undone": lambda channel, table, enter, seed, released: LinearSvm(
        seed=seed,
        view=ExpectedWords(channel, table, enter, known_released=released),
        name="svm-undone",
    ),
}
# These send true words through the channel themselves.
STATIC_ALONE = frozenset({"likelihood", "likelihood-texts", "likelihood-lengths"})
STACKED = "stacked"  # what several of the others say, weighed: see `stacking`
NAMES = (*CHANNEL_ATTACKS, *ATTACKS, STACKED)
USUAL = (
    "likelihood",
    "likelihood-lengths",
    "text-lengths",
    "sentence-lengths",
    "svm",
    "svm-words",
    "koppel",
    STACKED,
)
