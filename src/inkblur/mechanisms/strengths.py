"""Choosing epsilon, and what the bound is worth: strengths, calibration, typical distances.

A strength (light, medium, strong) is a promise about attacks, not a proof: at most 50 %, 25 % or
10 % of whole texts were attributed to their author above chance by their words, by the strongest
attack tried, on the worst of several public collections. That is neither the largest risk nor that
of every text: what is printed beside a release is `inkblur.documents.risks`, whose shares are kept
here. A strength was measured for one table and one mechanism, the staircase over the bundled table,
so it exists only there (`tools/bundled/strengths.py` finds it). The guarantee never depends on it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.guarantees import factor
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import find, make_mechanism
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Metric, Strength, inner_fraction, positive

STAIRCASE = "staircase"  # the mechanism that has strengths
_STORED = "strengths.json"  # of the bundled table, written by tools/bundled/strengths.py
_SURVIVAL = (0.2, 0.5, 0.75)  # of the words, where no strength was measured
# Words drawn evenly from the vocabulary: the survival rate's standard error is at most 0.008.
SAMPLE = 4_000
_SEED = 20_260_000  # public: calibration looks at the public vocabulary alone
_MEASURED = 100  # words whose neighbors are looked at; public, so the sample may be seeded
_BLOCK = 8192  # vocabulary words compared at a time


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """How often an attack on public texts succeeded: a lower bound."""

    share: float
    low: float  # its interval, over texts or authors like these
    high: float
    guessing: float  # the share that guessing would reach

    def text(self) -> str:
        """As it is printed.

        >>> MeasuredShare(0.84, 0.77, 0.91, 0.01).text()
        '84% (77% to 91%; guessing: 1%)'
        """
        return (
            f"{self.share:.0%} ({self.low:.0%} to {self.high:.0%}; guessing: {self.guessing:.0%})"
        )


@dataclass(frozen=True, slots=True)
class MeasuredStrength:
    """The setting that a strength stands for, and what was measured of it."""

    epsilon: float
    parameters: Mapping[str, Any]  # of the mechanism as it was measured, epsilon among them
    risks: Mapping[str, Mapping[int, MeasuredShare]]  # by name and words of a text; often none


Strengths = dict[Strength, MeasuredStrength]


def measured_strengths(name: str, embedding: Embedding, **options: Any) -> Strengths:
    """The strengths that were measured for this mechanism and table; often none."""
    return {
        Strength(strength): MeasuredStrength(
            float(measured["epsilon"]),
            measured["parameters"],
            {
                risk: {int(words): MeasuredShare(**cell) for words, cell in cells.items()}
                for risk, cells in measured.get("risks", {}).items()
            },
        )
        for strength, measured in _stored(embedding).get(find(name).key(options), {}).items()
    }


def _stored(embedding: Embedding) -> dict[str, Any]:
    """What the package holds for this table, by the mechanism's key."""
    file = resources.files("inkblur.embeddings") / "data" / _STORED
    body = json.loads(file.read_text(encoding="utf-8"))
    found: dict[str, Any] = body["strengths"] if body["sha256"] == embedding.sha256 else {}
    return found


def epsilon_for(strength: Strength, name: str, embedding: Embedding, **options: Any) -> float:
    """The epsilon of a strength, or an error that says what to use in its place.

    >>> import inkblur
    >>> table = inkblur.load_embedding()
    >>> light = epsilon_for(Strength.LIGHT, "staircase", table)
    >>> epsilon_for(Strength.MEDIUM, "staircase", table) < light
    True
    """
    found = measured_strengths(name, embedding, **options)
    if strength not in found:
        raise ParameterError(
            f"`strength=` was measured for the staircase on the bundled word vectors, not for "
            f"{find(name).key(options)} on {embedding.name}: give `epsilon=`, or `level=` with "
            "`radius=`; `inkblur evaluate` measures what they leave to attackers"
        )
    return found[strength].epsilon


def strength_of(mechanism: WordMechanism) -> tuple[Strength, MeasuredStrength] | None:
    """The strength whose setting this is, however it was described; None of any other."""
    for strength, measured in measured_strengths(STAIRCASE, mechanism.embedding).items():
        if mechanism.name == STAIRCASE and measured.parameters == mechanism.parameters:
            return strength, measured
    return None


def usual_epsilons(name: str, embedding: Embedding, **options: Any) -> list[float]:
    """Epsilons to compare, smallest first: the strengths, or else three by survival of words."""
    measured = measured_strengths(name, embedding, **options)
    if measured:
        return sorted({found.epsilon for found in measured.values()})
    found: set[float] = set()  # the staircase's survival leaps: two shares can have one epsilon
    for survival in _SURVIVAL:
        with suppress(Unreachable):  # an angle cut off at 90 degrees keeps more than 20 %
            found.add(calibrate(name, embedding, survival=survival, **options))
    if not found:
        raise ParameterError(
            f"no epsilon lets one word in five survive {find(name).key(options)}, so there are no "
            "usual ones: give `epsilon=`"
        )
    return sorted(found)


def epsilon_from_level(level: float, radius: float) -> float:
    """l-privacy within radius r: epsilon = l / r (thesis, section 4.2).

    >>> epsilon_from_level(level=2.0, radius=4.0)
    0.5
    """
    return positive(level, "level") / positive(radius, "radius")


def calibrate(
    name: str,
    embedding: Embedding,
    *,
    survival: float,
    sample: int = SAMPLE,
    words: Ids | None = None,
    **options: Any,
) -> float:
    """The largest epsilon at which a word survives with probability `survival` at most: one drawn
    evenly from the vocabulary, or one of the `words` (public ids, in random order).

    The staircase's near sets shrink in steps as epsilon grows, and survival leaps at each of them:
    from 0.49 to 0.66 at epsilon 13.9 over the bundled table. Then the epsilon before the leap is
    given, which lets fewer words through.

    Words of the texts that a table was adapted to survive far more often than words drawn evenly
    from its vocabulary: give them as `words`.

    For vector noise the same uniforms serve every epsilon tried. A word's cell of nearest points is
    convex and holds its vector, so a draw that survives at one epsilon survives at every larger
    one: the measured rate rises with epsilon and bisection is exact for the sample.
    """
    inner_fraction(survival, "survival")
    ids = _sampled_ids(len(embedding), sample) if words is None else words

    def rate(epsilon: float, size: int) -> float:
        mechanism = make_mechanism(name, embedding, epsilon=epsilon, **options)
        return survival_rate(mechanism, ids[:size])

    most = make_mechanism(name, embedding, epsilon=1.0, **options).most_epsilon
    sizes = min(len(ids), max(400, len(ids) // 10)), len(ids)
    low = high = 1.0
    # A tenth of the sample finds the neighborhood, all of it the value.
    for size, precision in zip(sizes, (1.1, 1.002), strict=True):
        low, high = low / precision, min(high * precision, most)
        while rate(high, size) < survival:
            if high >= most:
                raise Unreachable(
                    f"no epsilon up to {most:g} lets {100 * survival:g}% of the words survive"
                )
            low, high = high, min(high * 1.5, most)
        while rate(low, size) > survival:
            low, high = low / 1.5, low
            if low < 1e-9:
                raise Unreachable(f"no epsilon down to 1e-9 lets only {100 * survival:g}% survive")
        while high / low > precision:
            middle = math.sqrt(low * high)
            if rate(middle, size) < survival:
                low = middle
            else:
                high = middle
    digit = 10.0 ** (math.floor(math.log10(low)) - 3)  # rounded down to 4 digits
    return float(f"{math.floor(low / digit) * digit:.4g}")


def survival_rate(mechanism: WordMechanism, words: Ids | None = None) -> float:
    """The chance that one of these words (default: an even public sample) comes out unchanged."""
    ids = _sampled_ids(len(mechanism.vocabulary), SAMPLE) if words is None else words
    return mechanism.survival(ids, seeded_rng(_SEED).child("calibrate"))


def _sampled_ids(vocabulary: int, sample: int) -> Ids:
    """An even sample of the vocabulary, in random order, so that a part of it is even too."""
    return seeded_rng(_SEED).child("sample").permutation(vocabulary)[:sample]


@dataclass(frozen=True, slots=True)
class TypicalLoss:
    """The bound for changing one word of a text, at two distances measured on the vocabulary."""

    nearest_distance: float  # median over words of the distance to the nearest other word
    pair_distance: float  # median over pairs of words
    nearest_loss: float  # epsilon times the distance: bound on the log of the likelihood ratio
    pair_loss: float
    sample: int  # words measured
    adapted: bool = False  # measured over the words that the corpus of an adapted embedding has
    discrete: bool = False  # every two words are at distance 1

    def sentences(self) -> list[str]:
        """The same in plain words."""
        if self.discrete:
            found = (
                "Changing one word to any other, similar or not, makes any output at most "
                f"{factor(self.pair_loss)} times as likely."
            )
        else:
            over = ", measured over words in the corpus" if self.adapted else ""
            found = (
                "Changing one word to its nearest neighbor (typical distance "
                f"{self.nearest_distance:.3g}{over}) makes any output at most "
                f"{factor(self.nearest_loss)} times as likely; to an unrelated word "
                f"({self.pair_distance:.3g}), at most {factor(self.pair_loss)} times."
            )
        if self.pair_loss <= 1:
            verdict = "That is strong protection for any word."
        elif self.discrete and self.pair_loss <= 5:
            verdict = "That is moderate protection for any word."
        elif self.discrete:
            verdict = (
                "At such a factor, a single word can still be guessed if the rest of the text "
                "gives it away. `inkblur evaluate` measures what attackers achieve."
            )
        elif self.nearest_loss <= 1:
            verdict = (
                "That is strong protection between similar words, less between unrelated ones."
            )
        elif self.nearest_loss <= 5:
            verdict = "That is moderate protection between similar words, little between others."
        else:
            verdict = (
                "Bounds this large promise almost nothing, even between similar words. Rely on the "
                "measured risk instead: `inkblur evaluate` measures it."
            )
        return [found, verdict]


def typical_loss(mechanism: WordMechanism) -> TypicalLoss:
    """Measure an even sample of the vocabulary in the guarantee's own metric.

    Of an adapted embedding, only words that its corpus has: the others have profile zero and crowd
    near each other, so that with them the distances between words of texts would be understated.
    """
    words = profiled_words(mechanism.embedding)
    count = len(mechanism.vocabulary)
    adapted = len(words) < count
    order = seeded_rng(7).child("typical").permutation(count)
    sample = order[np.isin(order, words)][:_MEASURED]
    nearest = np.full(len(sample), np.inf)
    for start in range(0, len(words), _BLOCK):
        ids = words[start : start + _BLOCK]
        distances = mechanism.pairwise(sample, ids)
        distances[sample[:, None] == ids[None, :]] = np.inf
        np.minimum(nearest, distances.min(axis=1), out=nearest)
    pairs = mechanism.pairwise(sample, sample)[np.triu_indices(len(sample), 1)]
    near, pair = float(np.median(nearest)), float(np.median(pairs))
    word = mechanism.guarantee
    discrete = word.metric is Metric.DISCRETE
    return TypicalLoss(near, pair, word.loss(near), word.loss(pair), len(sample), adapted, discrete)


def profiled_words(embedding: Embedding) -> Ids:
    """Words with a label profile other than zero; all words where fewer than two have one."""
    columns = [column for each in embedding.adaptations for column in each.columns]
    profiles = embedding.vectors[:, embedding.dimension - sum(c.dimensions for c in columns) :]
    found = np.flatnonzero(profiles.any(axis=1)).astype(np.int64)
    return found if len(found) > 1 else np.arange(len(embedding), dtype=np.int64)
