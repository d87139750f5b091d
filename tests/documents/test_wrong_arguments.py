"""Wrong arguments of the Python API give one clear line, never an AttributeError from within."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from inkblur import Privatizer, make_mechanism
from inkblur.documents import TokenPolicies
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.mechanisms.staircase import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Record

TABLE = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
WORDS = Laplace(TABLE, epsilon=1.0)
BLUR = Privatizer(WORDS)
VECTORIZER = Vectorizer(TABLE)
VECTORS = SyntheticVectors(Exponential(VECTORIZER.embedding, epsilon=1.0), VECTORIZER, 3)
RNG = seeded_rng(1)
WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = {
    "policy as text": (TokenPolicies, (), {"numbers": "keep"}, "numbers must be a Treatment"),
    "classes as text": (TokenPolicies.of, (), {"keep": "numbers"}, "list of token classes"),
    "names": (TokenPolicies.of, (), {"names": "drop"}, "names cannot be dropped"),
    "null numbers": (TokenPolicies.of, (), {"names": "vanish"}, "unknown names 'vanish'"),
    "no text": (BLUR.release, (None, RNG), {}, "text must be a string, got NoneType"),
    "texts for records": (BLUR.release_batch, (["a"], RNG), {}, "record 0 must be a Record"),
    "a number for an id": (BLUR.release_batch, ([Record(7, "a")], RNG), {}, "has int and str"),  # type: ignore[arg-type]
    "a number for a text": (BLUR.release_batch, ([Record("a", 7)], RNG), {}, "has str and int"),  # type: ignore[arg-type]
    "a number for rng": (BLUR.release, ("a", 3), {}, "rng must be a random stream"),
    "rng of a batch": (BLUR.release_batch, ([], 3), {}, "rng must be a random stream"),
    "rng of a word": (WORDS.release, (["cat"], 3), {}, "rng must be a random stream"),
    "rng of vectors": (VECTORS.vectors, ([], 3), {}, "rng must be a random stream"),
    "texts for vectors": (VECTORS.vectors, (["a"], RNG), {}, "record 0 must be a Record"),
    "no words": (WORDS.release, (None, RNG), {}, "list of words"),
    "a missing word": (WORDS.release, (["cat", None], RNG), {}, "word 1 is a NoneType"),
    "mechanism by name": (Privatizer, ("laplace",), {}, "must be a word mechanism"),
    "vectors by name": (
        SyntheticVectors,
        ("laplace", VECTORIZER, 3),
        {},
        "staircase or exponential",
    ),
    "policies by name": (Privatizer, (WORDS,), {"policies": "keep"}, "must be TokenPolicies"),
    "epsilon True": (Laplace, (TABLE,), {"epsilon": True}, "epsilon must be a number"),
    "epsilon text": (Laplace, (TABLE,), {"epsilon": "85"}, "epsilon must be a number, got '85'"),
    "epsilon None": (Exponential, (TABLE,), {"epsilon": None}, "epsilon must be a number"),
    "epsilon huge": (Laplace, (TABLE,), {"epsilon": 10**400}, "finite"),
    "lambda text": (Mahalanobis, (TABLE,), {"epsilon": 1.0, "lam": "0.5"}, "must be a number"),
    "lambda huge": (
        make_mechanism,
        ("mahalanobis", TABLE),
        {"epsilon": 1.0, "lam": 10**400},
        "lambda must lie between 0 and 1",
    ),
    "tau text": (Staircase, (TABLE,), {"epsilon": 1.0, "tau": "0.5"}, "tau must be a number"),
    "length text": (Privatizer, (WORDS,), {"length": "85"}, "length must be a number, got '85'"),
    "length True": (Privatizer, (WORDS,), {"length": True}, "length must be a number"),
    "length 2.5": (Privatizer, (WORDS,), {"length": 2.5}, "whole number"),
}


@pytest.mark.parametrize(("call", "arguments", "named", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(
    call: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)


def test_a_wrong_record_is_not_printed() -> None:
    with pytest.raises(ParameterError) as caught:
        BLUR.release_batch(["my secret"], RNG)  # type: ignore[list-item]
    assert "secret" not in str(caught.value)


def test_hasattr_does_not_raise_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None\n"
        "import inkblur\n"
        "print(hasattr(inkblur, 'TextPrivatizer'), hasattr(inkblur, 'Embedding'))\n"
        "try: inkblur.TextPrivatizer\n"
        "except AttributeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "False True"
    assert "pip install '.[sklearn]'" in second
