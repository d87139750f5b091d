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
    keep_strengths,
    measured_strengths,
    strength_of,
    usual_epsilons,
)
from inkblur.types import Strength

STORED = json.loads(
    (Path(inkblur.__file__).parent / "embeddings/data/strengths.json").read_text(encoding="utf-8")
)
KEYS = sorted(STORED["strengths"])


def stored(key: str) -> dict[str, Any]:
    found: dict[str, Any] = STORED["strengths"][key]
    return found


def test_the_stored_strengths_are_those_of_the_bundled_table() -> None:
    assert STORED["sha256"] == inkblur.load_embedding().sha256
    assert "staircase" in KEYS
    for key in KEYS:
        assert find(key.split()[0]).key({}) == key


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
            assert figures["choosing_half"] <= strength.most_risk
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


def test_another_table_has_no_strengths(toy: Embedding) -> None:
    with pytest.raises(ParameterError, match=r"give `epsilon=`, or .*calibrate --authors FILE"):
        epsilon_for(Strength.MEDIUM, "laplace", toy)
    assert measured_strengths("laplace", toy) == {}
    assert strength_of(make_mechanism("laplace", toy, epsilon=1.0)) is None
    few, half, most = usual_epsilons("laplace", toy)
    assert few < half < most


def test_a_setting_that_was_not_measured_says_what_to_use() -> None:
    table = inkblur.load_embedding()
    with pytest.raises(ParameterError, match=r"for mahalanobis lam=0.25 on bundled: use .*stairc"):
        epsilon_for(Strength.LIGHT, "mahalanobis", table, lam=0.25)
    with pytest.raises(ParameterError, match="no strength was measured for angular-laplace"):
        epsilon_for(Strength.LIGHT, "angular-laplace", table)


def measured(epsilon: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "parameters": {"epsilon": epsilon},
        "named": 0.2,
        "untouched": 0.7,
        "guessing": 0.1,
        "collections": {},
    }


def test_what_the_user_measured_is_kept(
    toy: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep_strengths(toy, "laplace", {"light": measured(5.0), "medium": measured(4.0)})
    path = keep_strengths(toy, "exponential", {"light": measured(8.0)})
    assert epsilon_for(Strength.MEDIUM, "laplace", toy) == 4.0
    assert usual_epsilons("laplace", toy) == [4.0, 5.0]
    found = strength_of(make_mechanism("laplace", toy, epsilon=4.0))
    assert found is not None
    assert found[0] is Strength.MEDIUM
    with pytest.raises(
        ParameterError, match=r"laplace .*is strong, which is at most 10%.*: give `epsilon=`$"
    ):
        epsilon_for(Strength.STRONG, "laplace", toy)
    with pytest.raises(ParameterError, match=r"is medium.*: use laplace, or give `epsilon=`"):
        epsilon_for(Strength.MEDIUM, "exponential", toy)
    path.write_text('{"sha256": 1}')
    with pytest.raises(ParameterError, match=r"cannot read the strengths in .*remove the file"):
        epsilon_for(Strength.MEDIUM, "laplace", toy)
