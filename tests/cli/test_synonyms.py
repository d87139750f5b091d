"""`inkblur synonyms`, and the portrait behind it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from inkblur import Exponential, Laplace
from inkblur.cli.synonyms import synonyms
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.measures.synonyms import portrait
from inkblur.mechanisms import CATALOGUE, make_mechanism
from inkblur.rng import seeded_rng
from inkblur.types import Metric

WORDS = {"cat": [1.0, 0.1], "dog": [1.0, 0.4], "sky": [-1.0, 0.3], "sea": [-0.8, 0.9]}
TABLE = Embedding(list(WORDS), list(WORDS.values()), name="toy")


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "toy.txt"
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in WORDS.items()))
    return str(path)


def run(*arguments: str) -> tuple[int, str, str]:
    app = typer.Typer()
    app.command()(synonyms)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_an_exact_portrait() -> None:
    mechanism = Exponential(TABLE, epsilon=8.0)
    shares = mechanism.probabilities(np.array([0]))[0]
    result = portrait(mechanism, "cat", seeded_rng(1), top=3)
    assert result.exact
    assert [item.word for item in result.replacements] == ["cat", "dog", "sky"]
    assert [item.chance.probability for item in result.replacements] == sorted(shares)[:0:-1]
    assert result.survival is not None
    assert result.survival.low == result.survival.probability == result.survival.high == shares[0]
    assert result.entropy == pytest.approx(-sum(p * math.log2(p) for p in shares))


def test_an_estimate_covers_the_truth() -> None:
    """Intervals of an estimate against exact chances: 95 in 100 must cover, some must not."""

    class Drawn(Exponential):
        """The exponential mechanism, forbidden to say its probabilities."""

        distribution = Laplace.distribution  # type: ignore[assignment]

    mechanism = Drawn(TABLE, epsilon=3.0)
    truth = dict(zip(WORDS, mechanism.probabilities(np.array([0]))[0], strict=True))
    covered = total = 0
    for seed in range(100):
        result = portrait(mechanism, "cat", seeded_rng(seed), draws=500)
        assert not result.exact
        for item in result.replacements:
            assert item.chance.low <= item.chance.probability <= item.chance.high
            covered += item.chance.low <= truth[item.word] <= item.chance.high
            total += 1
    assert 0.93 < covered / total < 1


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_mechanism_has_a_portrait(name: str) -> None:
    options = {"accept_no_guarantee": True} if not CATALOGUE[name].private else {}
    mechanism = make_mechanism(name, TABLE, epsilon=5.0, **options)
    result = portrait(mechanism, "dog", seeded_rng(2), draws=400)
    # A choice from a finite list knows its probabilities; noise on vectors has to be sampled.
    assert result.exact == (CATALOGUE[name].metric is Metric.DISCRETE)
    assert 0 < sum(item.chance.probability for item in result.replacements) <= 1 + 1e-9
    assert 0 <= result.entropy <= 2 + 1e-9


def test_an_unknown_word_is_the_null_word() -> None:
    result = portrait(Exponential(TABLE, epsilon=5.0), "unicorn", seeded_rng(1))
    assert not result.known
    assert result.survival is None


def test_bad_numbers() -> None:
    mechanism = Exponential(TABLE, epsilon=5.0)
    for wrong in ({"top": 0}, {"draws": 0}, {"confidence": 1.0}):
        with pytest.raises(ParameterError):
            portrait(mechanism, "cat", seeded_rng(1), **wrong)


def test_the_command_draws_bars(vectors: str) -> None:
    code, out, _ = run("Cat", "--epsilon", "3", "--embedding", vectors)
    assert code == 0
    assert out.count("█") > 40
    assert "cat" in out
    assert "stays the same: " in out
    assert "bits" in out


def test_the_command_gives_json(vectors: str) -> None:
    base = ("cat", "--embedding", vectors, "--epsilon", "8", "--json")
    code, out, _ = run(*base)
    assert code == 0
    body = json.loads(out)
    assert body["exact"]
    assert body["replacements"][0]["word"] == "cat"
    more = ("--mechanism", "laplace", "--draws", "50", "--seed", "3")
    bodies = [json.loads(run(*base, *more)[1]) for _ in range(2)]
    assert bodies[0] == bodies[1]
    assert bodies[0]["draws"] == 50
    assert bodies[0]["confidence"] == 0.95


def test_the_command_says_when_a_word_is_unknown(vectors: str) -> None:
    code, _, err = run("uni[corn", "--embedding", vectors, "--epsilon", "8")
    assert code == 0
    assert "uni[corn is not in the vocabulary" in err
    assert "null word" in err


def test_the_command_says_that_a_name_is_no_word_of_a_text(vectors: str) -> None:
    """Of a release, "stays the same" would not be true."""
    with Path(vectors).open("a") as file:
        file.write("maria 0.3 0.3\n")
    code, _, err = run("Maria", "--embedding", vectors, "--epsilon", "8")
    assert code == 0
    assert "maria is on the list of names: in a text it enters as the null word" in err
    assert run("cat", "--embedding", vectors, "--epsilon", "8")[2] == ""


def test_the_command_tells_of_its_estimate(vectors: str) -> None:
    code, out, err = run(
        "cat", "--embedding", vectors, "--epsilon", "8", "-m", "laplace", "--draws", "100"
    )
    assert code == 0
    assert " to " in out
    assert "100 draws" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--epsilon", "0"), 1, "epsilon"),
        (("--epsilon", "8", "-m", "exponential", "--bigram", "2"), 1, "between 0 and 1"),
        (("--epsilon", "8", "--mechanism", "magic"), 1, "unknown mechanism"),
        ((), 2, "choose how strong"),
    ],
)
def test_the_command_refuses(
    vectors: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    got, _, err = run("cat", "--embedding", vectors, *arguments)
    assert got == code
    assert message in err


@pytest.mark.parametrize("word", ["", " ", "cat dog"])
def test_what_is_not_one_word_is_refused(vectors: str, word: str) -> None:
    code, out, error = run(word, "-e", "1", "--embedding", vectors)
    assert (code, out) == (1, "")
    assert "give one word" in error
