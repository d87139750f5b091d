from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms import make_mechanism
from inkblur.mechanisms.catalogue import find
from inkblur.mechanisms.strengths import (
    epsilon_for,
    measured_strengths,
    strength_of,
    usual_epsilons,
)
from inkblur.types import Strength

STORED = json.loads(
    (Path(inkblur.__file__).parent / "embeddings/data/strengths.json").read_text(encoding="utf-8")
)
MOST_RISK = {Strength.LIGHT: 0.5, Strength.MEDIUM: 0.25, Strength.STRONG: 0.1}  # above chance
KEYS = sorted(STORED["strengths"])


def stored(key: str) -> dict[str, Any]:
    found: dict[str, Any] = STORED["strengths"][key]
    return found


def test_the_stored_strengths_are_those_of_the_bundled_table() -> None:
    assert STORED["sha256"] == inkblur.load_embedding().sha256
    assert [find("staircase").key({})] == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_a_stronger_strength_has_a_smaller_epsilon(key: str) -> None:
    epsilons = [stored(key)[s.value]["epsilon"] for s in Strength if s.value in stored(key)]
    assert epsilons == sorted(epsilons, reverse=True)


@pytest.mark.parametrize("key", KEYS)
def test_a_strength_was_chosen_by_the_risk_it_names(key: str) -> None:
    """On the half of the authors that chose; the figures of the other half are what is shown."""
    for strength in Strength:
        if strength.value not in stored(key):
            continue
        found = stored(key)[strength.value]
        assert len(found["collections"]) == 3
        for figures in found["collections"].values():
            assert figures["choosing_half"] <= MOST_RISK[strength]
            assert figures["low"] <= figures["risk"] <= figures["high"]
            chance = figures["chance"]
            above = max(0.0, (figures["accuracy"] - chance) / (1 - chance))
            assert figures["risk"] == pytest.approx(above, abs=1e-3)
        every = found["collections"].values()
        compared = [(found, [(each, each["untouched"]) for each in every])]
        if "lengths_hidden" in found:
            hidden = [(each["lengths_hidden"], each["untouched"]) for each in every]
            compared.append((found["lengths_hidden"], hidden))
            assert all(each["lengths_hidden"]["risk"] <= each["risk"] for each in every)
        for figures, each in compared:
            worst, untouched = max(each, key=lambda pair: pair[0]["risk"])
            assert figures["named"] == worst["accuracy"]
            assert figures["untouched"] == untouched["accuracy"]
            assert figures["guessing"] == worst["chance"]


@pytest.mark.parametrize("key", KEYS)
def test_a_release_at_a_strength_is_recognized_however_it_was_described(key: str) -> None:
    table = inkblur.load_embedding()
    name = key.split()[0]
    for strength, measured in measured_strengths(name, table).items():
        mechanism = make_mechanism(name, table, epsilon=measured.epsilon)
        found = strength_of(mechanism)
        assert found is not None
        assert found[0] is strength or found[1].epsilon == measured.epsilon
        assert epsilon_for(strength, name, table) == measured.epsilon
    assert strength_of(make_mechanism(name, table, epsilon=0.77)) is None


def test_another_table_and_another_mechanism_have_no_strengths(toy: Embedding) -> None:
    """One error, which names the other ways to say how strong."""
    bundled = inkblur.load_embedding()
    for name, table, own in (
        ("staircase", toy, {}),
        ("laplace", bundled, {}),
        ("staircase", bundled, {"tau": 0.2}),
    ):
        with pytest.raises(ParameterError, match=r"give `epsilon=`, or `level=` with `radius=`"):
            epsilon_for(Strength.MEDIUM, name, table, **own)
        assert measured_strengths(name, table, **own) == {}
    assert strength_of(make_mechanism("laplace", toy, epsilon=1.0)) is None
    few, half, most = usual_epsilons("laplace", toy)
    assert few < half < most
