"""The audit convicts four broken mechanisms and acquits the right ones.

Each broken one still *claims* the guarantee of the mechanism it was made from. A small vocabulary
in one or two dimensions gives the audit from outside its power; in fifty dimensions only the look
inside has any.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import inkblur
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectoriser import Vectoriser
from inkblur.evaluation.audit.lower_bound import Audit, audit_documents, audit_mechanism
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import CATALOGUE, make_mechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.noise import LaplaceNoise, MahalanobisNoise
from inkblur.mechanisms.perturbation import Laplace, Mahalanobis
from inkblur.rng import Rows, seeded_rng
from inkblur.types import Ids, Points

Table = Callable[[], inkblur.Embedding]
DRAWS = 40_000
RIGHT = [name for name, entry in CATALOGUE.items() if entry.private]


def line() -> inkblur.Embedding:
    """Twenty-one words half a unit apart: losses reach their bound beyond the ends."""
    return inkblur.Embedding([f"w{i}" for i in range(21)], np.arange(21)[:, None] / 2, name="line")


def strip() -> inkblur.Embedding:
    """A long and narrow vocabulary in two dimensions: elliptical noise is far from round."""
    points = [(x, y) for x in np.linspace(-6, 6, 13) for y in (-0.4, 0.4)]
    return inkblur.Embedding([f"s{i}" for i in range(len(points))], points, name="strip")


def cloud() -> inkblur.Embedding:
    """Two hundred words in fifty dimensions, some of them wider than others."""
    shape = np.linspace(0.3, 2.0, 50)
    points = np.random.default_rng(8).normal(size=(200, 50)) * shape
    return inkblur.Embedding([f"c{i}" for i in range(200)], points, name="cloud")


class HalvedNoise(LaplaceNoise):
    """Half the noise that epsilon asks for."""

    def around(self, centres: Points, rng: Rows) -> Points:
        return centres + (super().around(centres, rng) - centres) / 2


class HalvedEllipse(MahalanobisNoise):
    """Half the noise that epsilon asks for."""

    def around(self, centres: Points, rng: Rows) -> Points:
        return centres + (super().around(centres, rng) - centres) / 2


class RenormalisedEllipse(MahalanobisNoise):
    """R^(1/2) X is put back on the sphere: the radius is Gamma in the wrong norm."""

    def around(self, centres: Points, rng: Rows) -> Points:
        noise = super().around(centres, rng) - centres
        radius = self.distance(noise, np.zeros_like(noise))
        noise *= (radius / np.linalg.norm(noise, axis=1))[:, None]
        return centres + noise


class ShortlistedByInput(Laplace):
    """The nearest word among the eight nearest to the *input*."""

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        table = self.embedding.vectors.astype(np.float64)
        noisy = self.noise.around(self.embedding.centres(ids), rng)
        out = np.empty(len(ids), dtype=np.int64)
        for id in np.unique(ids):
            near = np.argsort(np.linalg.norm(table - table[id], axis=1), kind="stable")[:8]
            tokens = np.flatnonzero(ids == id)
            gaps = np.linalg.norm(noisy[tokens, None, :] - table[near][None], axis=2)
            out[tokens] = near[np.argmin(gaps, axis=1)]
        return out


class NeverTheTruth(Laplace):
    """Looks at the true word after the noise: where it came out, the next word is taken instead."""

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        out = super().replace(ids, rng)
        return np.where(out == ids, (out + 1) % len(self.vocabulary), out)


def broken(kind: str, table: inkblur.Embedding, epsilon: float) -> WordMechanism:
    if kind == "shortlist by input":
        return ShortlistedByInput(table, epsilon=epsilon)
    if kind == "looks at the truth":
        return NeverTheTruth(table, epsilon=epsilon)
    if kind == "half the noise":
        halved = Laplace(table, epsilon=epsilon)
        halved.noise = HalvedNoise(table.dimension, epsilon=epsilon)
        return halved
    shape = {"half the ellipse": HalvedEllipse, "renormalised": RenormalisedEllipse}[kind]
    lam = 0.5 if kind == "half the ellipse" else 1.0
    bent = Mahalanobis(table, epsilon=epsilon, lam=lam)
    bent.noise = shape(table.covariance, epsilon=epsilon, lam=lam)
    return bent


def from_outside(audit: Audit) -> bool:
    return audit.loss.flagged or audit.game.flagged


CASES: list[tuple[str, Table, float]] = [
    ("half the noise", line, 1.0),
    ("half the ellipse", strip, 1.0),
    ("renormalised", strip, 1.0),
    ("shortlist by input", line, 1.0),
    ("looks at the truth", line, 1.0),
]


@pytest.mark.parametrize(("kind", "table", "epsilon"), CASES, ids=[c[0] for c in CASES])
def test_broken_mechanisms_are_convicted_by_their_outputs_alone(
    kind: str, table: Table, epsilon: float
) -> None:
    audit = audit_mechanism(broken(kind, table(), epsilon), rng=seeded_rng(3), draws=DRAWS)
    assert audit.loss.flagged, audit.loss.verdict()
    assert audit.flagged
    assert "THE CLAIM IS FALSE" in audit.loss.verdict()


@pytest.mark.parametrize("kind", [case[0] for case in CASES])
def test_in_many_dimensions_the_look_inside_convicts_them(kind: str) -> None:
    audit = audit_mechanism(
        broken(kind, cloud(), 3.0), rng=seeded_rng(4), draws=2_000, noise_draws=4_000
    )
    assert audit.noise is not None
    assert audit.noise.flagged
    assert audit.flagged


def test_half_the_noise_is_convicted_by_the_game_too() -> None:
    audit = audit_mechanism(
        broken("half the noise", line(), 1.0), rng=seeded_rng(3), draws=DRAWS, pair=("w8", "w12")
    )
    assert audit.game.flagged, audit.game.verdict()
    # On a line half the noise is a Laplace law of 2 epsilon: right with 1 - exp(-2 eps d / 2) / 2.
    assert audit.game.low < 1 - math.exp(-2) / 2 + 0.02


@pytest.mark.parametrize("release", ["sequence", "bag"])
def test_half_the_noise_is_convicted_between_documents(release: str) -> None:
    blur = inkblur.Privatizer(broken("half the noise", line(), 1.0), release=release)
    audit = audit_documents(blur, "wa wb", "wb wc", rng=seeded_rng(1), draws=400)
    assert not audit.flagged  # unknown words all enter as the null word: nothing to tell apart
    named = inkblur.Embedding(list("abcdefghijklmnopqrstu"), line().vectors, name="letters")
    blur = inkblur.Privatizer(broken("half the noise", named, 1.0), release=release)
    audit = audit_documents(blur, "h n", "j p", rng=seeded_rng(5), draws=5_000)
    assert audit.loss.bound == pytest.approx(2.0)
    assert from_outside(audit), audit.verdicts()


class Eager(Exponential):
    """Claims one epsilon and draws with eight times as much."""

    def __init__(self, embedding: inkblur.Embedding, *, epsilon: float) -> None:
        super().__init__(embedding, epsilon=8 * epsilon)
        self.guarantee = Exponential(embedding, epsilon=epsilon).guarantee


@pytest.mark.parametrize(("kind", "false"), [(Exponential, False), (Eager, True)])
def test_synthetic_vectors_are_audited_too(kind: type[Exponential], false: bool) -> None:
    points = np.random.default_rng(2).normal(size=(6, 3))
    vectoriser = Vectoriser(
        inkblur.Embedding(["cat", "dog", "sky", "bus", "tea", "oak"], points, name="six")
    )
    synthetic = SyntheticVectors(kind(vectoriser.embedding, epsilon=1.0), vectoriser, length=3)
    audit = audit_documents(synthetic, "cat cat dog", "sky bus", rng=seeded_rng(2), draws=4_000)
    assert audit.loss.bound == pytest.approx(synthetic.guarantee.epsilon * 3)
    assert from_outside(audit) is false, audit.verdicts()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("table", [line, strip], ids=["line", "strip"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_acquitted(name: str, table: Table, seed: int) -> None:
    mechanism = make_mechanism(name, table(), epsilon=1.0)
    audit = audit_mechanism(mechanism, rng=seeded_rng(seed), draws=DRAWS)
    assert not audit.flagged, audit.verdicts()
    if audit.noise is not None:  # the exponential mechanism's words are all alike on a line
        assert audit.loss.loss > 0  # it did look somewhere worth looking


@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_acquitted_in_many_dimensions(name: str) -> None:
    mechanism = make_mechanism(name, cloud(), epsilon=3.0)
    audit = audit_mechanism(mechanism, rng=seeded_rng(2), draws=2_000, noise_draws=4_000)
    assert not audit.flagged, audit.verdicts()


@pytest.mark.parametrize("release", ["sequence", "bag"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_documents_are_acquitted(name: str, release: str) -> None:
    named = inkblur.Embedding(list("abcdefghijklmnopqrstu"), line().vectors, name="letters")
    blur = inkblur.Privatizer(make_mechanism(name, named, epsilon=1.0), release=release)
    audit = audit_documents(blur, "h n k", "j p k", rng=seeded_rng(5), draws=2_000)
    assert not audit.flagged, audit.verdicts()
