"""Earth Mover's paper, Theorem 3: how surely does a noisy bag stay near the true one?

As printed: Algorithm 1 gives a bag within Earth Mover's distance D with probability at least

    1 - exp(-x) e_{n-1}(x) = P(Gamma(n, 1) <= x),    x = epsilon N D,    whenever x <= n / e.

The N displacements are independent Gamma(n, 1/epsilon), so their sum is Gamma(nN, 1/epsilon): with
n N in place of n the sentence is true, for every x.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammainc

from inkblur import Rng
from inkblur.evaluation import clopper_pearson, earth_movers
from inkblur.mechanisms.laplace import Laplace
from reproduction.arrays import Array
from reproduction.context import Context
from reproduction.earthmovers.bag_utility import chance_within
from reproduction.earthmovers.sampled_documents import plain_words, shortened
from reproduction.estimate import Estimate
from reproduction.result import Claim, Drawing, Outcome, Reading

INSIDE = "Theorem 3 at the edge of its condition: epsilon N distance = n / e"
OUTSIDE = "Distances that occur (in units of n / epsilon): words of GloVe"
SPHERE = "Definition 7: the density's integral over the sphere, which must be 1"
SOURCE = "Earth Mover's paper, section 4.2, Theorem 3"
PRINTED, CORRECTED, FOUND = "as printed", "corrected", "simulated"
DECODED = "simulated, words"
_DOUBT = 1e-3  # a setting contradicts a bound when a 99.9 % interval lies wholly below it
_BLOCK = 200_000
# n, N, bags drawn: enough to tell the printed chance from none. From n = 50 on it is below 1e-9,
# and no simulation could.
EDGES = (
    (2, 1, 100_000), (2, 2, 100_000), (2, 10, 100_000), (5, 1, 100_000), (5, 2, 100_000),
    (5, 10, 100_000), (10, 1, 1_000_000), (10, 2, 1_000_000), (30, 1, 8_000_000),
    (30, 2, 8_000_000),
)  # fmt: skip
SIZES = (1, 10, 100)
DIMENSIONS = (50, 300)
EPSILONS = (10.0, 20.0, 30.0)
SPANS = (0.5, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1)  # distance = span * n / epsilon


def run(work: Context) -> Outcome:
    """Simulate both ways: far-apart vectors under the condition, real words at real distances."""
    readings: list[Reading] = sphere_integrals()
    wrong = {(table, bound): 0 for table in (INSIDE, OUTSIDE) for bound in (PRINTED, CORRECTED)}
    tried = {INSIDE: 0, OUTSIDE: 0}

    def compare(
        kind: str, n: int, where: dict[str, float], hits: int, draws: int, x: float
    ) -> None:
        size = int(where["N"])
        table = kind if kind == INSIDE else f"{kind}, n = {n}"
        bounds = {
            PRINTED: float(gammainc(n, x)),
            CORRECTED: chance_within(x, epsilon=1.0 / size, dimension=n, size=size),
        }
        readings.extend(Reading(table, where, k, Estimate.exact(v)) for k, v in bounds.items())
        readings.append(Reading(table, where, FOUND, Estimate.of_share(hits, draws)))
        tried[kind] += 1
        for name, bound in bounds.items():
            wrong[kind, name] += contradicted(hits, draws, bound)

    for n, size, full in EDGES:
        draws = work.size(full, min(full, 20_000))
        hits = work.step(f"edge, n {n}, N {size}", _edge, work, n, size, draws)
        compare(INSIDE, n, {"n": n, "N": size}, hits, draws, n / math.e)
    for n in DIMENSIONS:
        for size in SIZES:
            for epsilon in EPSILONS:
                key = f"words, n {n}, N {size}, epsilon {epsilon:g}"
                found = work.step(key, _words, work, n, size, epsilon)
                for span in SPANS:
                    where = {"N": size, "epsilon": epsilon, "distance": span}
                    reach = span * n / epsilon
                    moved = sum(distance <= reach for distance in found["vectors"])
                    draws = len(found["vectors"])
                    compare(OUTSIDE, n, where, moved, draws, epsilon * size * reach)
                    at = f"{OUTSIDE}, n = {n}"
                    decoded = sum(distance <= reach for distance in found["words"])
                    readings.append(Reading(at, where, DECODED, Estimate.of_share(decoded, draws)))
    drawings = tuple(
        Drawing(f"Chance to stay within a distance, n = {n}: {measure}", f"{OUTSIDE}, n = {n}",
                measure, "distance", line="N", panel="epsilon")
        for n in DIMENSIONS
        for measure in (FOUND, CORRECTED)
    )  # fmt: skip
    return Outcome(
        tuple(readings), _claims(wrong, tried), drawings, notes=_notes(work.size(400, 20))
    )


def sphere_integrals() -> list[Reading]:
    """Constant times area: Gamma(n/2) / (n pi^(n/2)) as printed, 2 pi^(n/2) below as corrected.

    >>> [round(reading.found.value, 4) for reading in sphere_integrals() if reading.where["n"] == 3]
    [0.6667, 1.0]
    """
    readings = []
    for n in (2, 3, 50, 300):
        area = math.log(2) + n / 2 * math.log(math.pi) - math.lgamma(n / 2)
        for name, below in ((PRINTED, n), (CORRECTED, 2)):
            constant = math.lgamma(n / 2) - math.log(below) - n / 2 * math.log(math.pi)
            found = Estimate.exact(math.exp(constant + area))
            readings.append(Reading(SPHERE, {"n": n}, name, found))
    return readings


def contradicted(hits: int, draws: int, bound: float) -> bool:
    """Whether so few hits rule out that the chance is at least `bound`.

    >>> contradicted(0, 1000, 0.1), contradicted(90, 1000, 0.1)
    (True, False)
    """
    return clopper_pearson(hits, draws, 1 - _DOUBT)[1] < bound


def _edge(work: Context, n: int, size: int, draws: int) -> int:
    """How many of `draws` noisy bags lie within n / (e N), at epsilon 1.

    The bag's vectors lie so far apart that each is carried to its own copy: Earth Mover's distance
    is the mean displacement, and only the lengths of the noise matter.
    """
    rng = work.rng("edge", f"{n}", f"{size}")
    hits = 0
    for start in range(0, draws, _BLOCK):
        count = min(_BLOCK, draws - start)
        total = np.zeros(count)
        for _ in range(size):
            total += _lengths(n, count, rng)
        hits += int((total <= n / math.e).sum())
    return hits


def _lengths(n: int, count: int, rng: Rng) -> Array:
    """Lengths of n-dimensional Laplace noise at epsilon 1: minus the log of n uniforms' product.

    A sum of n exponentials is Gamma(n, 1); this road to it shares nothing with the bound's formula.
    """
    lengths: Array = -np.log(rng.rows(count, n)).sum(axis=1)
    return lengths


def _words(work: Context, n: int, size: int, epsilon: float) -> dict[str, list[float]]:
    """Earth Mover's distances of noisy bags of words, as vectors and as the words nearest them."""
    glove = plain_words(work.datasets.glove, work.size(10_000, 1_000))
    table = shortened(glove, n)
    mechanism = Laplace(table, epsilon=epsilon)
    out: dict[str, list[float]] = {"vectors": [], "words": []}
    for bag in range(work.size(400, 20)):
        names = ("bag", f"{n}", f"{size}", f"{epsilon:g}", f"{bag}")
        ids = np.array(work.sample(size, len(table), *names), dtype=np.int64)
        true = table.vectors[ids].astype(np.float64)
        noisy = mechanism.noise.around(true, work.rng("noise", *names))
        words = table.vectors[mechanism.replace(ids, work.rng("words", *names))]
        for kind, other in (("vectors", noisy), ("words", words)):
            value = earth_movers(cdist(true, np.asarray(other, np.float64)))
            out[kind].append(round(value, 6))
    return out


def _claims(wrong: dict[tuple[str, str], int], tried: dict[str, int]) -> tuple[Claim, ...]:
    rows = (
        ("bound-as-printed", PRINTED, INSIDE, "as printed holds where its condition does"),
        ("bound-corrected", CORRECTED, INSIDE, "with nN for n holds there"),
        ("bound-corrected-everywhere", CORRECTED, OUTSIDE, "with nN for n holds without condition"),
        ("bound-as-printed-everywhere", PRINTED, OUTSIDE, "as printed holds without its condition"),
    )
    return tuple(
        Claim(
            name,
            f"The bound {text}.",
            SOURCE if name == "bound-as-printed" else f"ours; not claimed by {SOURCE}",
            f"minus the number of settings, of {tried[table]}, in which the simulation rules the "
            "bound out (99.9 %); none ruled out is no proof",
            Estimate.exact(-wrong[table, bound]),
            -0.5,
        )
        for name, bound, table, text in rows
    )


def _notes(bags: int) -> tuple[str, ...]:
    return (
        "Under its condition the printed bound is small (1.8e-6 for n = 30, and below 1e-9 from n "
        "= 50 on): it is tested at small n, and at n = 30 with 8,000,000 bags of two vectors, "
        "where it promises about 15 within the distance. For N = 1 both forms are the same.",
        "The appendix's Theorem A2 stands. The slip is the last step, which sets a geometric "
        "series 1 + r + ... to 1 because r is at most 1 / sqrt(2 pi n): at n = 30 that is 0.073, "
        "far more than the 1.8e-6 that remains. With r kept, the bound is negative and says "
        "nothing.",
        f"At distances that occur: {bags} bags a setting, words drawn evenly from GloVe's 10,000 "
        "commonest, 300 dimensions or their first 50. Earth Mover's may carry a vector to another "
        "word's copy, which gains little in so many dimensions: the corrected bound is close to "
        "what happens.",
        "That a bound holds means only that no setting tried ruled it out: no simulation proves a "
        "bound, and a small breach could hide in few draws. That it fails is as sure as the 99.9 % "
        "interval of a setting; with as many settings as stand in the claim, one wrong refutation "
        "in all of them has a chance below one in ten.",
        "Intervals are over the bags drawn, counted (Clopper and Pearson), for these words and "
        "this n, N and epsilon. The spans of one setting are read off the same bags.",
        "Definition 7 misprints the density of the uniform distribution on the sphere: its "
        "constant is Gamma(n/2) / (2 pi^(n/2)), not Gamma(n/2) / (n pi^(n/2)), which is right for "
        "n = 2 alone. Nothing in the proofs depends on it.",
        "'simulated, words' decodes to the nearest words first; the theorem is about vectors.",
    )
