"""`reproduction/` and `benchmarks/` use public names alone, and `inkblur.evaluation` offers them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import inkblur
import inkblur.arrow
import inkblur.errors
import inkblur.evaluation
import inkblur.ledger
import inkblur.pools

ENGINES = Path(inkblur.__file__).parent / "engines"
CHECKOUT = Path(__file__).parents[1]
FILES = [
    file for room in ("reproduction", "benchmarks") for file in (CHECKOUT / room).rglob("*.py")
]
PUBLIC = {
    "inkblur": inkblur.__all__,
    "inkblur.evaluation": inkblur.evaluation.__all__,
    "inkblur.arrow": inkblur.arrow.__all__,
    "inkblur.errors": [name for name in dir(inkblur.errors) if name[0].isupper()],
    "inkblur.pools": inkblur.pools.__all__,
    "inkblur.mechanisms.staircase": ["Staircase"],
    "inkblur.mechanisms.laplace": ["Laplace"],
    "inkblur.ledger": inkblur.ledger.__all__,
    # Each engine's adapter is one function, imported from the engine's own module.
    **{f"inkblur.engines.{file.stem}": ["privatize"] for file in ENGINES.glob("[a-z]*.py")},
}
HEAVY = {"torch", "pyarrow", "sklearn", "matplotlib", "pandas", "scipy", "nltk", "ot", "numpy"}


def private_imports(source: str) -> list[str]:
    """What a file takes from Inkblur that is not public, imports inside functions included."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [
                alias.name
                for alias in node.names
                if alias.name.split(".")[0] == "inkblur" and alias.name not in PUBLIC
            ]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "inkblur":
            public = PUBLIC.get(node.module or "", [])
            found += [f"{node.module}.{a.name}" for a in node.names if a.name not in public]
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "inkblur"
            and node.attr not in PUBLIC["inkblur"]
        ):
            found.append(f"inkblur.{node.attr}")
    return found


def test_the_rooms_import_public_names_only() -> None:
    assert FILES
    found = {file.name: private_imports(file.read_text("utf-8")) for file in FILES}
    assert {name: taken for name, taken in found.items() if taken} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import inkblur.rng",
        "from inkblur.rng import Rng",
        "from inkblur import rng",
        "def f():\n    from inkblur.cli import options",
        "import inkblur\nx: inkblur.types.Ids",
    ],
)
def test_private_imports_are_seen(source: str) -> None:
    assert private_imports(source)


def test_evaluation_exports_sorted_documented_names() -> None:
    names = inkblur.evaluation.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(inkblur.evaluation, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute"):
        _ = inkblur.evaluation.nothing  # type: ignore[attr-defined]


def test_importing_evaluation_loads_nothing_heavy() -> None:
    code = "import sys, inkblur.evaluation; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
