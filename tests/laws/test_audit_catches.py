"""Audit and laws convict broken mechanisms and acquit the right ones, no less often than they say.

Each broken one still *claims* the guarantee of the mechanism it was made from. A small vocabulary
in one or two dimensions gives the audit of outputs its power; in fifty dimensions only a look
inside has any (`noise_checks`, `choice_checks`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import inkblur
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.evaluation.audit import Audit
from inkblur.evaluation.claimed_metric import word_claim, word_function, words_to_compare
from inkblur.mechanisms.base import DiscreteMechanism, WordMechanism
from inkblur.mechanisms.catalogue import CATALOGUE, make_mechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace, LaplaceNoise
from inkblur.mechanisms.mahalanobis import Mahalanobis, MahalanobisNoise
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rows, seeded_rng
from inkblur.types import Array, Ids, Points
from tests.laws.choice_checks import check_choice, check_draws
from tests.laws.document_audit import audit_documents
from tests.laws.noise_checks import check_noise
from tests.laws.normality import Checked

Table = Callable[[], inkblur.Embedding]
Plant = Callable[[Points], None]  # spoils rows of noise in place
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

    def around(self, centers: Points, rng: Rows) -> Points:
        return centers + (super().around(centers, rng) - centers) / 2


class HalvedEllipse(MahalanobisNoise):
    """Half the noise that epsilon asks for."""

    def around(self, centers: Points, rng: Rows) -> Points:
        return centers + (super().around(centers, rng) - centers) / 2


class RenormalizedEllipse(MahalanobisNoise):
    """R^(1/2) X is put back on the sphere: the radius is Gamma in the wrong norm."""

    def around(self, centers: Points, rng: Rows) -> Points:
        noise = super().around(centers, rng) - centers
        radius = self.distance(noise, np.zeros_like(noise))
        noise *= (radius / np.linalg.norm(noise, axis=1))[:, None]
        return centers + noise


class ShortlistedByInput(Laplace):
    """The nearest word among the eight nearest to the *input*."""

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        table = self.embedding.vectors.astype(np.float64)
        noisy = self.noise.around(self.embedding.centers(ids), rng)
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
    shape = {"half the ellipse": HalvedEllipse, "renormalized": RenormalizedEllipse}[kind]
    lam = 0.5 if kind == "half the ellipse" else 1.0
    bent = Mahalanobis(table, epsilon=epsilon, lam=lam)
    bent.noise = shape(table.covariance, epsilon=epsilon, lam=lam)
    return bent


def audit_words(mechanism: WordMechanism, seed: int, draws: int = DRAWS) -> Audit:
    rng = seeded_rng(seed)
    return inkblur.audit(
        word_function(mechanism, rng),
        word_claim(mechanism),
        inputs=words_to_compare(mechanism, rng),
        draws=draws,
    )


def check_inside(
    mechanism: WordMechanism, seed: int, draws: int = 4_000, confidence: float = 0.99
) -> Checked:
    rng = seeded_rng(seed)
    if isinstance(mechanism, Perturbation):
        decoding = min(draws // 100, 2_000) if draws < 1_000 else 2_000
        return check_noise(
            mechanism, rng=rng, draws=draws, decoding_draws=decoding, confidence=confidence
        )
    assert isinstance(mechanism, DiscreteMechanism)
    return check_choice(mechanism, rng=rng, draws=draws, confidence=confidence)


CASES: list[tuple[str, Table, float]] = [
    ("half the noise", line, 1.0),
    ("half the ellipse", strip, 1.0),
    ("renormalized", strip, 1.0),
    ("shortlist by input", line, 1.0),
    ("looks at the truth", line, 1.0),
]


@pytest.mark.parametrize(("kind", "table", "epsilon"), CASES, ids=[c[0] for c in CASES])
def test_broken_mechanisms_are_convicted_by_their_outputs_alone(
    kind: str, table: Table, epsilon: float
) -> None:
    audit = audit_words(broken(kind, table(), epsilon), 3)
    assert audit.flagged, audit.verdict()
    assert "THE CLAIM IS FALSE" in audit.verdict()


@pytest.mark.parametrize("kind", [case[0] for case in CASES])
def test_in_many_dimensions_the_look_inside_convicts_them(kind: str) -> None:
    assert check_inside(broken(kind, cloud(), 3.0), 4).flagged


@pytest.mark.parametrize("release", ["sequence", "bag"])
def test_half_the_noise_is_convicted_between_documents(release: str) -> None:
    blur = inkblur.Privatizer(
        broken("half the noise", line(), 1.0), release=release, length="exact"
    )
    audit = audit_documents(blur, "wa wb", "wb wc", rng=seeded_rng(1), draws=400)
    assert not audit.flagged  # unknown words all enter as the null word: nothing to tell apart
    named = inkblur.Embedding(list("abcdefghijklmnopqrstu"), line().vectors, name="letters")
    blur = inkblur.Privatizer(broken("half the noise", named, 1.0), release=release, length="exact")
    audit = audit_documents(blur, "h n", "j p", rng=seeded_rng(5), draws=5_000)
    assert audit.bound == pytest.approx(2.0)
    assert audit.flagged, audit.verdict()


class Eager(Exponential):
    """Claims one epsilon and draws with eight times as much."""

    def __init__(self, embedding: inkblur.Embedding, *, epsilon: float) -> None:
        super().__init__(embedding, epsilon=8 * epsilon)
        self.guarantee = Exponential(embedding, epsilon=epsilon).guarantee


@pytest.mark.parametrize(("kind", "false"), [(Exponential, False), (Eager, True)])
def test_synthetic_vectors_are_audited_too(kind: type[Exponential], false: bool) -> None:
    points = np.random.default_rng(2).normal(size=(6, 3))
    vectorizer = Vectorizer(
        inkblur.Embedding(["cat", "dog", "sky", "bus", "tea", "oak"], points, name="six")
    )
    synthetic = SyntheticVectors(kind(vectorizer.embedding, epsilon=1.0), vectorizer, length=3)
    audit = audit_documents(synthetic, "cat cat dog", "sky bus", rng=seeded_rng(2), draws=4_000)
    assert audit.bound == pytest.approx(synthetic.guarantee.epsilon * 3)
    assert audit.flagged is false, audit.verdict()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("table", [line, strip], ids=["line", "strip"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_acquitted(name: str, table: Table, seed: int) -> None:
    mechanism = make_mechanism(name, table(), epsilon=1.0)
    audit = audit_words(mechanism, seed)
    assert not audit.flagged, audit.verdict()
    if isinstance(mechanism, Perturbation):  # chosen words are all alike on a line
        assert audit.loss > 0  # it did look somewhere worth looking
    inside = check_inside(mechanism, seed, 20_000)
    assert not inside.flagged, (inside.findings, inside.failed)


@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_acquitted_in_many_dimensions(name: str) -> None:
    mechanism = make_mechanism(name, cloud(), epsilon=3.0)
    assert not audit_words(mechanism, 2, 2_000).flagged
    inside = check_inside(mechanism, 2)
    assert not inside.flagged, (inside.findings, inside.failed)


@pytest.mark.parametrize("release", ["sequence", "bag"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_documents_are_acquitted(name: str, release: str) -> None:
    named = inkblur.Embedding(list("abcdefghijklmnopqrstu"), line().vectors, name="letters")
    blur = inkblur.Privatizer(
        make_mechanism(name, named, epsilon=1.0), release=release, length="exact"
    )
    audit = audit_documents(blur, "h n k", "j p k", rng=seeded_rng(5), draws=2_000)
    assert not audit.flagged, audit.verdict()


# The plants: two hundred dimensions, where only the look inside has any power.


def wide() -> inkblur.Embedding:
    """Three hundred words in two hundred dimensions."""
    points = np.random.default_rng(9).normal(size=(300, 200))
    return inkblur.Embedding([f"v{i}" for i in range(300)], points, name="wide")


def silent(axes: slice) -> Plant:
    def plant(noise: Points) -> None:
        noise[:, axes] = 0

    return plant


def rescaled(factor: float) -> Plant:
    def plant(noise: Points) -> None:
        noise[:, 50:150] *= factor

    return plant


def one_sided(noise: Points) -> None:
    np.abs(noise[:, 100], out=noise[:, 100])


def repeated_axis(noise: Points) -> None:
    noise[:, 120] = noise[:, 30]


def shared_by_neighbors(noise: Points) -> None:
    noise[1::2] = noise[: len(noise) - 1 : 2]


def one_axis_shared_by_neighbors(noise: Points) -> None:
    noise[1::2, 7] = noise[: len(noise) - 1 : 2, 7]


def one_length_shared_by_neighbors(noise: Points) -> None:
    lengths = np.linalg.norm(noise, axis=1)
    noise[1::2] *= (lengths[: len(noise) - 1 : 2] / lengths[1::2])[:, None]


def a_row_used_again(noise: Points) -> None:
    noise[-1] = noise[5]


def halved(noise: Points) -> None:
    noise /= 2


PLANTS: dict[str, Plant] = {
    "half the noise": halved,
    "a one-sided middle axis": one_sided,
    "one axis without noise": silent(slice(77, 78)),
    "ten axes without noise": silent(slice(90, 100)),
    "100 middle axes halved": rescaled(0.5),
    "100 middle axes wider": rescaled(1.3),
    "an axis that repeats another": repeated_axis,
    "neighbors share their noise": shared_by_neighbors,
    "neighbors share an axis": one_axis_shared_by_neighbors,
    "neighbors share a length": one_length_shared_by_neighbors,
    "one row is used again": a_row_used_again,
}


class Planted(Laplace):
    """Laplace noise with a fault; draws and decoding agree, so that only the law gives it away."""

    def __init__(self, embedding: inkblur.Embedding, plant: Plant) -> None:
        super().__init__(embedding, epsilon=40.0)

        class Noise(LaplaceNoise):
            def around(self, centers: Points, rng: Rows) -> Points:
                noise = super().around(np.zeros_like(centers), rng)
                plant(noise)
                return centers + noise

        self.noise = Noise(embedding.dimension, epsilon=40.0)


@pytest.mark.parametrize("name", PLANTS)
def test_plants_in_two_hundred_dimensions_are_convicted(name: str) -> None:
    mechanism = Planted(wide(), PLANTS[name])
    audit = check_noise(mechanism, rng=seeded_rng(1), draws=4_000, decoding_draws=10)
    assert audit.failed
    assert not any("nearest word" in finding for finding in audit.findings)
    assert min(law.p_value for law in audit.laws) < audit.threshold / 1000  # not by a hair


def test_the_nearest_word_of_a_subset_is_convicted_by_decoding() -> None:
    class Subset(Laplace):
        def replace(self, ids: Ids, rng: Rows) -> Ids:
            half = self.embedding.vectors[::2].astype(np.float64)
            noisy = self.noise.around(self.embedding.centers(ids), rng)
            gaps = [np.linalg.norm(half - row, axis=1) for row in noisy]
            return np.array([2 * int(np.argmin(gap)) for gap in gaps], dtype=np.int64)

    mechanism = Subset(wide(), epsilon=40.0)
    audit = check_noise(mechanism, rng=seeded_rng(1), draws=400, decoding_draws=200)
    assert any("nearest word" in finding for finding in audit.findings)
    assert audit.flagged


class TwiceEpsilon(Exponential):
    """Draws at twice the epsilon that it claims and states probabilities for."""

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        return Exponential(self.embedding, epsilon=2 * self.epsilon).replace(ids, rng)


class StatesTwiceEpsilon(Exponential):
    """Draws and states probabilities at twice the epsilon that it claims."""

    def __init__(self, embedding: inkblur.Embedding, *, epsilon: float) -> None:
        super().__init__(embedding, epsilon=2 * epsilon)
        self.guarantee = Exponential(embedding, epsilon=epsilon).guarantee


@pytest.mark.parametrize("kind", [TwiceEpsilon, StatesTwiceEpsilon])
@pytest.mark.parametrize("table", [wide, cloud], ids=["wide", "cloud"])
def test_exponential_drawn_at_twice_epsilon_is_convicted(
    kind: type[Exponential], table: Table
) -> None:
    inside = check_inside(kind(table(), epsilon=8.0), 1, 20_000)
    assert inside.flagged
    if kind is TwiceEpsilon:  # what the likelihood ratio is for: it sees this in few draws
        by_name = {law.name: law.p_value for law in inside.laws}
        assert by_name["another temperature"] < inside.threshold


def test_an_output_that_some_words_cannot_have_is_convicted() -> None:
    """Also beside one that no word has, whose loss is none: it hid an infinite one."""
    stated = np.array([[0.5, 0.5, 0.0, 0.0], [0.3, 0.4, 0.0, 0.3]])
    uniforms = np.random.default_rng(1).random(2_000)
    audit = check_draws(
        stated,
        lambda which: (uniforms[:, None] > stated[which].cumsum(axis=1)).sum(axis=1),
        rng=seeded_rng(1),
        draws=2_000,
        confidence=0.99,
        bound=8.0,
    )
    assert audit.stated_loss == np.inf
    assert not audit.failed
    assert audit.flagged


def test_an_output_that_is_stated_to_be_impossible_is_convicted() -> None:
    """One draw in 2,000 is enough: its likelihood under the claim is 0, not NaN."""
    drawn = (np.random.default_rng(1).random(2_000) > 0.5).astype(np.int64)
    drawn[7] = 2
    audit = check_draws(
        np.array([[0.5, 0.5, 0.0]]),
        lambda which: drawn,
        rng=seeded_rng(1),
        draws=2_000,
        confidence=0.99,
        bound=8.0,
    )
    assert {law.name: law.p_value for law in audit.laws}["another temperature"] == 0.0


class SharedChoice(Exponential):
    """Every second word is drawn by the random numbers of the word before it."""

    def draw(self, ids: Ids, uniforms: Array) -> Ids:
        uniforms[1::2] = uniforms[: len(uniforms) - 1 : 2]
        return super().draw(ids, uniforms)


def test_words_chosen_by_the_same_random_numbers_are_convicted() -> None:
    audit = check_choice(SharedChoice(wide(), epsilon=8.0), rng=seeded_rng(1), draws=4_000)
    assert [law.name for law in audit.laws if law.p_value < audit.threshold]


RUNS, ALARMS = 200, 0.2  # of honest audits; an alarm in this share of them is allowed


@pytest.mark.parametrize("name", RIGHT)
def test_honest_mechanisms_are_convicted_no_more_often_than_stated(name: str) -> None:
    """The false-alarm rate is at most 1 - confidence; this fails for a true rate with p < 1e-4."""
    table = inkblur.Embedding(
        [f"w{i}" for i in range(40)], np.random.default_rng(3).normal(size=(40, 6)), name="six"
    )
    mechanism = make_mechanism(name, table, epsilon=2.0)
    alarms = 0
    for seed in range(RUNS):
        audit = check_inside(mechanism, seed, 300, confidence=1 - ALARMS)
        alarms += audit.flagged
    assert alarms <= binom.ppf(1 - 1e-4, RUNS, ALARMS)
