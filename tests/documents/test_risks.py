"""The three risks beside a release: those of the table, largest first, or that nobody measured."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from itertools import pairwise
from typing import Any

import pytest

import inkblur
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.risks import RISKS, ThreeRisks, three_risks
from inkblur.mechanisms import make_mechanism
from inkblur.mechanisms.catalogue import CATALOGUE
from inkblur.mechanisms.strengths import measured_strengths

FILE = resources.files("inkblur.embeddings") / "data" / "strengths.json"
STORED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["strengths"]
ENGLISH = "The waiter was friendly and the soup arrived hot, so we will come back soon. "
GERMAN = "Der Arzt war heute sehr freundlich und nahm sich viel Zeit für alle unsere Fragen. "
GIBBERISH = "zorp blick fnarg wibble quux thrum blorb snurf glimp vraxo yendor plonk drazz "
SALAD = "soup waiter table garden river engine cloud paper window doctor street bottle music "


def at(strength: str = "medium", **options: Any) -> Privatizer:
    spec = inkblur.ReleaseSpec(strength=strength, **options)
    blur: Privatizer = spec.privatizer(inkblur.load_embedding())
    return blur


def risks(blur: Any, text: str, times: int) -> ThreeRisks:
    """Of a file of such texts."""
    whole = text * times
    batch = blur.release_batch([inkblur.Record("1", whole)] * 2, inkblur.seeded_rng(1))
    return three_risks(blur, batch.counts, batch.words[0])


@pytest.mark.parametrize("strength", ["light", "medium", "strong"])
@pytest.mark.parametrize("words", [10, 15, 49, 50, 51, 100, 499, 500])
def test_shares_are_those_of_the_table_for_texts_as_long_or_longer(
    strength: str, words: int
) -> None:
    stored = STORED["staircase"][strength]["risks"]
    counts = Counter({"words blur": 60, "stop_words blur": 40})
    found = three_risks(at(strength), counts, words).risks
    assert {each.name for each in found} == set(RISKS)
    for each in found:
        lengths = [int(length) for length in stored[each.name]]
        if not min(lengths) <= words <= max(lengths):
            assert each.measured is None
            continue
        assert each.measured is not None
        assert each.words == min(length for length in lengths if length >= words)
        cell = stored[each.name][str(each.words)]
        assert (each.measured.share, each.measured.low, each.measured.high) == (
            cell["share"],
            cell["low"],
            cell["high"],
        )
    shares = [each.measured.share for each in found if each.measured]
    assert shares == sorted(shares, reverse=True)
    assert [each.measured is None for each in found] == sorted(
        each.measured is None for each in found
    )


def test_a_table_grows_with_the_words_that_are_seen() -> None:
    """No length in between can be worse than the next one that was measured, chance aside."""
    for strengths in STORED.values():
        for found in strengths.values():
            for cells in found.get("risks", {}).values():
                lengths = sorted(map(int, cells))
                for few, more in pairwise(lengths):
                    assert cells[str(more)]["high"] >= cells[str(few)]["low"]
                for cell in cells.values():
                    assert cell["low"] <= cell["share"] <= cell["high"]


def test_english_texts_have_all_three_and_the_original_is_the_largest() -> None:
    found = risks(at(), ENGLISH, 8)
    assert found.strength == "medium"
    assert [each.name for each in found.risks] == ["original", "author of five", "author of one"]
    assert all(each.measured for each in found.risks)
    assert len(found.lines()) == 4


def test_of_short_texts_only_the_original_was_looked_for() -> None:
    original, *authors = risks(at(), ENGLISH, 1).risks
    assert original.measured is not None
    assert [each.measured for each in authors] == [None, None]
    assert all("16 words" in each.why for each in authors)


@pytest.mark.parametrize(
    ("blur", "text", "times"),
    [
        (lambda: inkblur.ReleaseSpec(epsilon=1.9), ENGLISH, 8),
        (lambda: inkblur.ReleaseSpec("laplace", 30.0), ENGLISH, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium", release="bag"), ENGLISH, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium", keep=("stop-words",)), ENGLISH, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium", drop=("stop-words",)), ENGLISH, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium"), ENGLISH, 100),
        (lambda: inkblur.ReleaseSpec(strength="medium"), GERMAN, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium"), GIBBERISH, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium"), SALAD, 8),
        (lambda: inkblur.ReleaseSpec(strength="medium"), "", 1),
        (lambda: inkblur.ReleaseSpec(strength="medium", length=100), "", 1),
        (lambda: inkblur.ReleaseSpec(strength="medium", length=100), GERMAN, 1),
    ],
)
def test_what_was_not_measured_says_so(blur: Any, text: str, times: int) -> None:
    found = risks(blur().privatizer(inkblur.load_embedding()), text, times)
    assert not found.measured
    assert [each.measured for each in found.risks] == [None] * 3
    [line] = found.lines()
    assert "%" not in line
    assert "not measured" in line
    assert "inkblur evaluate" in line


def test_a_fixed_length_is_what_counts() -> None:
    """Nobody sees how long the text was."""
    whole = risks(at(length=228), ENGLISH, 1).risks
    assert [each.words for each in whole] == [228] * 3


def test_what_shows_exact_lengths_was_not_measured() -> None:
    """It tells more than what was attacked."""
    assert not risks(at(length="exact"), ENGLISH, 100).measured


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_strength_of_any_mechanism_has_what_was_measured_of_it(name: str) -> None:
    table = inkblur.load_embedding()
    for strength, measured in measured_strengths(name, table).items():
        blur = Privatizer(make_mechanism(name, table, epsilon=measured.epsilon))
        found = three_risks(blur, {"words blur": 60, "stop_words blur": 40}, 100)
        stored = STORED[CATALOGUE[name].key({})][strength.value].get("risks", {})
        assert {each.name for each in found.risks if each.measured} == set(stored)


def test_a_report_repeats_them() -> None:
    found = risks(at(), ENGLISH, 8)
    assert ThreeRisks.from_json(json.loads(json.dumps(found.to_json()))) == found
    few = risks(at(), "", 1)
    assert ThreeRisks.from_json(json.loads(json.dumps(few.to_json()))) == few
