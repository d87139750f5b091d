"""Is the noise what the guarantee says it is, and does decoding read nothing else?

Auditing whole mechanisms by their output words has no power in hundreds of dimensions: a violation
there needs outputs that never occur in any number of draws one could make. What the proof rests on
can be checked in any dimension, though, by somebody who can see inside: that the noise has the
claimed law, that the log-density obeys the claimed inequality, and that the word that comes out is
the one nearest to the noisy vector, so that nothing looked at the true word after the noise was
drawn.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, gammainc
from scipy.stats import binomtest, kstest

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.claimed_metric import ClaimedMetric
from inkblur.evaluation.measures.intervals import checked_confidence
from inkblur.mechanisms.nearest.engine import engine_for
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng
from inkblur.types import Array, Ids, Metric, Points, whole

NOISE_DRAWS = 20_000
DECODING_DRAWS = 2_000  # each costs a search; one wrong decoding is enough to convict
_MOST_VALUES = 1 << 22  # float64 numbers of noise held at a time (32 MB)
_ROUNDING = 1e-9  # relative: what float64 may add to a log-density


@dataclass(frozen=True, slots=True)
class LawCheck:
    """One test of the sampled noise against the claimed law."""

    name: str
    p_value: float  # probability of a deviation at least as large, were the claim true


@dataclass(frozen=True, slots=True)
class NoiseAudit:
    """What was found inside a vector mechanism."""

    dimension: int
    draws: int
    confidence: float  # that a right mechanism passes all the tests of the law together
    laws: tuple[LawCheck, ...]
    mean_radius: float  # in the claimed metric
    claimed_radius: float  # n / epsilon
    excess: float  # largest log-density ratio minus its bound; above rounding: a violation
    density_error: float  # spread of log-density + epsilon x radius, which should be constant
    tolerance: float  # what rounding may make of the last two
    decoded: int  # tokens whose decoding was replayed
    decoded_otherwise: int  # came out as another word than the one nearest to the noisy vector

    @property
    def threshold(self) -> float:
        """A p-value below this convicts: Bonferroni over the tests of the law."""
        return (1 - self.confidence) / len(self.laws)

    @property
    def findings(self) -> tuple[str, ...]:
        """What contradicts the claim, a line each; empty where nothing does."""
        lines = [
            f"the noise is not the claimed one: {law.name} (p = {law.p_value:.2g}; mean radius "
            f"{self.mean_radius:.4g}, claimed {self.claimed_radius:.4g})"
            for law in self.laws
            if law.p_value < self.threshold
        ]
        if self.excess > self.tolerance:
            lines.append(f"the log-density exceeds its bound by {self.excess:.3g}")
        if self.density_error > self.tolerance:
            lines.append("the log-density is not the claimed one")
        if self.decoded_otherwise:
            lines.append(
                f"{self.decoded_otherwise:,} of {self.decoded:,} outputs are not the word nearest "
                "to the noisy vector: decoding reads something else, so the proof does not cover it"
            )
        return tuple(lines)

    @property
    def flagged(self) -> bool:
        """Whether anything contradicts the claim."""
        return bool(self.findings)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {**asdict(self), "findings": list(self.findings), "flagged": self.flagged}


def audit_noise(
    mechanism: Perturbation,
    *,
    rng: Rng,
    draws: int = NOISE_DRAWS,
    decoding_draws: int = DECODING_DRAWS,
    confidence: float = 0.99,
) -> NoiseAudit:
    """Test a vector mechanism from inside: law of the noise, density inequality, decoding.

    The claimed law has density proportional to exp(-epsilon |z|) in the claimed norm, in n
    dimensions. So |z| ~ Gamma(n, 1/epsilon), independent of z / |z|; and a coordinate t of z / |z|
    (Euclidean after whitening) has (1 + t)/2 ~ Beta((n-1)/2, (n-1)/2), while under the Manhattan
    norm |t| ~ Beta(1, n-1) with a fair sign. Each is a Kolmogorov-Smirnov test.
    """
    if not isinstance(mechanism, Perturbation) or not mechanism.guarantee.private:
        raise ParameterError(f"{mechanism.name} adds no vector noise with a guarantee to audit")
    draws = whole(draws, "draws")
    confidence = checked_confidence(confidence)
    claimed = ClaimedMetric(mechanism)
    epsilon, dimension = mechanism.guarantee.epsilon, mechanism.embedding.dimension
    centres = _spread_ids(len(mechanism.embedding), draws, rng.child("noise audit", "centres"))
    others = _spread_ids(len(mechanism.embedding), draws, rng.child("noise audit", "others"))
    stream = rng.child("noise audit", "draws", mechanism.spec)
    radii, coordinates = np.empty(draws), np.empty((draws, 3))
    excess, lowest, highest, size = -math.inf, math.inf, -math.inf, 1.0
    step = max(1, _MOST_VALUES // dimension)
    for start in range(0, draws, step):
        part = slice(start, start + step)
        here = mechanism.embedding.centres(centres[part])
        there = mechanism.embedding.centres(others[part])
        points = mechanism.noise.around(here, stream)
        noise = points - here
        radii[part] = claimed.lengths(noise)
        coordinates[part] = _three_coordinates(claimed.coordinates(noise), radii[part])
        density = mechanism.noise.log_density(points, here)
        ratio = density - mechanism.noise.log_density(points, there)
        excess = max(excess, float((ratio - epsilon * claimed.lengths(here - there)).max()))
        constant = density + epsilon * radii[part]
        lowest, highest = min(lowest, float(constant.min())), max(highest, float(constant.max()))
        size = max(size, float(np.abs(ratio).max()), float(epsilon * radii[part].max()))
    checked, otherwise = _replay(mechanism, decoding_draws, rng.child("noise audit", "decoding"))
    return NoiseAudit(
        dimension=dimension,
        draws=draws,
        confidence=confidence,
        laws=_laws(radii, coordinates, dimension, epsilon, claimed.metric),
        mean_radius=float(radii.mean()),
        claimed_radius=dimension / epsilon,
        excess=excess,
        density_error=highest - lowest,
        tolerance=_ROUNDING * size * math.sqrt(dimension),
        decoded=checked,
        decoded_otherwise=otherwise,
    )


def _laws(
    radii: Array, coordinates: Array, dimension: int, epsilon: float, metric: Metric
) -> tuple[LawCheck, ...]:
    ranks = gammainc(dimension, epsilon * radii)  # uniform if the radius has its law
    checks = [("radius", _uniform(ranks))]
    if dimension == 1:  # the direction is a sign
        ups = int((coordinates[:, 0] > 0).sum())
        checks.append(("sign", float(binomtest(ups, len(radii)).pvalue)))
        return tuple(LawCheck(name, p) for name, p in checks)
    names: tuple[str, ...] = ("first axis", "last axis", "diagonal")
    if metric is Metric.MANHATTAN:
        names, coordinates = names[:2], coordinates[:, :2]
        tails = betainc(1, dimension - 1, np.abs(coordinates))
        places = 0.5 + 0.5 * np.sign(coordinates) * tails
    else:
        half = (dimension - 1) / 2
        places = betainc(half, half, np.clip((1 + coordinates) / 2, 0, 1))
    checks += [(f"direction along the {n}", _uniform(places[:, i])) for i, n in enumerate(names)]
    along = np.abs(coordinates[:, 1])  # were radius and direction dependent, a half would differ
    checks.append(("radius along the last axis", _uniform(ranks[along > np.median(along)])))
    return tuple(LawCheck(name, p) for name, p in checks)


def _three_coordinates(rows: Points, radii: Array) -> Array:
    """First, last and diagonal coordinate of each direction, (rows, 3)."""
    diagonal = rows.sum(axis=1) / math.sqrt(rows.shape[1])
    return np.stack([rows[:, 0], rows[:, -1], diagonal], axis=1) / radii[:, None]


def _uniform(ranks: Array) -> float:
    return float(kstest(ranks, "uniform").pvalue)


def _replay(mechanism: Perturbation, draws: int, rng: Rng) -> tuple[int, int]:
    """Draw outputs, draw the same noise again, and compare with the words nearest to it."""
    ids = _spread_ids(len(mechanism.embedding), whole(draws, "decoding draws"), rng.child("words"))
    out = mechanism.replace(ids, rng.child("noise"))
    replayed = rng.child("noise")
    engine = engine_for(mechanism.embedding)
    otherwise = 0
    step = max(1, _MOST_VALUES // mechanism.embedding.dimension)
    for start in range(0, len(ids), step):
        part = slice(start, start + step)
        noisy = mechanism.noise.around(mechanism.embedding.centres(ids[part]), replayed)
        otherwise += int((engine.nearest(noisy) != out[part]).sum())
    return len(ids), otherwise


def _spread_ids(vocabulary: int, count: int, rng: Rng) -> Ids:
    """Ids drawn evenly, with repeats."""
    return (rng.rows(count, 1)[:, 0] * vocabulary).astype(np.int64)
