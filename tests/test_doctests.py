"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import inkblur

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(inkblur.__path__, "inkblur.")
    if not module.name.rpartition(".")[2].startswith("_")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:  # an extra that is not installed
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    tests = [
        t
        for name in ("inkblur.rng", "inkblur.guarantees")
        for t in finder.find(importlib.import_module(name))
        if t.examples
    ]
    assert len(tests) >= 2
