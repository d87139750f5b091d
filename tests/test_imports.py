"""The house's doors: which rooms a room may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import inkblur

# What each room may import; the base may be imported by all.
BASE = "blas errors lazy_names types rng"
EDGES = {
    "errors": "",
    "types": "",
    "blas": "",
    "lazy_names": "",
    "rng": "",
    "atomic_file": "",
    "guarantees": "",
    "cache": "atomic_file",
    "protocols": "guarantees",
    "embeddings": "atomic_file cache documents",  # adaptation reads texts as releases do
    "mechanisms": "atomic_file cache embeddings guarantees protocols",
    "documents": "embeddings guarantees mechanisms",
    "pools": "documents embeddings guarantees mechanisms",
    "spec": "documents embeddings files mechanisms pools",
    "ledger": "",
    # The release reads batches as files make them, and files are released: they know each other.
    "release": "documents embeddings files guarantees ledger mechanisms spec",
    "files": "atomic_file documents embeddings guarantees ledger mechanisms pools release spec",
    "own": "documents embeddings guarantees mechanisms release",
    "series": "documents files guarantees ledger own release spec",
    "sklearn": "documents files guarantees own release spec",
    "arrow": "files guarantees ledger mechanisms release spec",
    "engines": "arrow files release spec",
    "evaluation": "atomic_file documents embeddings files guarantees mechanisms pools release spec",
    "service": "arrow atomic_file documents embeddings evaluation files guarantees ledger "
    "mechanisms pools release spec",
    "cli": "atomic_file cache documents embeddings evaluation files guarantees ledger "
    "mechanisms pools release service spec",
    "__main__": "cli",
}
SOURCE = Path(inkblur.__file__).parent
HEAVY = {
    "torch",
    "pyarrow",
    "sklearn",
    "matplotlib",
    "pandas",
    "scipy",
    "nltk",
    "ot",
    "rich.progress",
}


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a file imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "inkblur":
                names |= {f"inkblur.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("inkblur.")}


def test_rooms_import_what_they_may() -> None:
    seen = 0
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).with_suffix("").parts[0]
        if room == "__init__":
            continue
        others = imported_rooms(path) - {room}
        seen += len(others)
        assert others <= {*EDGES[room].split(), *BASE.split()}, f"{path.name} of {room}"
    assert seen > 50


@pytest.mark.parametrize("command", ["", "privatize", "evaluate", "tune", "audit", "ledger"])
def test_help_loads_nothing_heavy(command: str) -> None:
    """Options come from the catalogue and the spec, which name their classes without them."""
    code = (
        "import atexit, sys; from inkblur.cli.app import app\n"
        "atexit.register(lambda: print(' '.join(sys.modules), file=sys.stderr)); app()"
    )
    asked = [sys.executable, "-c", code, *command.split(), "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "inkblur.spec" in loaded
    assert not (HEAVY | {"numpy"}) & loaded


def test_inner_init_files_only_re_export() -> None:
    for path in SOURCE.rglob("__init__.py"):
        if path.parent == SOURCE:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            allowed = ast.Import | ast.ImportFrom | ast.Assign | ast.Expr
            if path.parent == SOURCE / "evaluation":  # re-exports when a name is first used
                allowed |= ast.If | ast.FunctionDef
            assert isinstance(node, allowed), f"{path} holds more than re-exports"


def test_public_names_are_sorted_and_all_there() -> None:
    assert list(inkblur.__all__) == sorted(inkblur.__all__)
    for name in inkblur.__all__:
        assert getattr(inkblur, name).__doc__
