"""`inkblur mechanisms`: the list, and what one makes of a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from inkblur.cli.app import app
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms import CATALOGUE
from inkblur.mechanisms.exponential import Exponential

WORDS = {"cat": [1.0, 0.1], "dog": [1.0, 0.4], "sky": [-1.0, 0.3], "sea": [-0.8, 0.9]}
TABLE = Embedding(list(WORDS), list(WORDS.values()), name="toy")


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "toy.txt"
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in WORDS.items()))
    return str(path)


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["mechanisms", *arguments], env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


def test_the_list_has_every_mechanism() -> None:
    code, out, _ = run()
    assert code == 0
    assert all(name in out for name in CATALOGUE)


def test_a_discrete_mechanism_says_its_probabilities(vectors: str) -> None:
    word = ("--word", "Cat", "-m", "exponential", "--epsilon", "8", "--set", f"embedding={vectors}")
    code, out, err = run(*word)
    assert code == 0
    shares = Exponential(TABLE, epsilon=8.0).probabilities(np.array([0]))[0]
    for name, share in zip(WORDS, shares, strict=True):
        assert f"{share:.4%}" in next(line for line in out.splitlines() if name in line)
    assert f"stays the same: {shares[0]:.4%}" in err
    assert "estimated" not in err


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.private])
def test_every_mechanism_shows_a_word(name: str, vectors: str) -> None:
    code, out, _ = run(
        "--word", "dog", "-m", name, "--epsilon", "5", "--set", f"embedding={vectors}"
    )
    assert code == 0
    assert "%" in out


def test_an_unknown_word_and_a_name_enter_as_the_null_word(vectors: str) -> None:
    with Path(vectors).open("a") as file:
        file.write("maria 0.3 0.3\n")
    own = ("--set", f"embedding={vectors}", "--epsilon", "8")
    for word, said in (
        ("uni[corn", "uni[corn is not in the vocabulary: it enters as the null word"),
        ("Maria", "maria is on the list of names: in a text it enters as the null word"),
    ):
        code, _, err = run("--word", word, *own)
        assert code == 0
        assert said in err
    assert "null word" not in run("--word", "cat", *own)[2]
    assert "draws" in run("--word", "cat", *own, "-m", "laplace")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--epsilon", "0"), 1, "epsilon"),
        (("--epsilon", "8", "-m", "exponential", "--set", "bigram=2"), 1, "between 0 and 1"),
        (("--epsilon", "8", "--mechanism", "magic"), 1, "unknown mechanism"),
        ((), 2, "choose how strong"),
        (("--word", "cat dog", "-e", "1"), 1, "give one word"),
        (("--word", " ", "-e", "1"), 1, "give one word"),
    ],
)
def test_the_command_refuses(
    vectors: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    got, out, err = run("--word", "cat", "--set", f"embedding={vectors}", *arguments)
    assert (got, out) == (code, "")
    assert message in err
