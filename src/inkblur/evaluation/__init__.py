"""Attacks, measures and audits of releases, and what studies of mechanisms need beside them.

These names are public: the papers' experiments (`reproduction/`) and the benchmarks use nothing
else of Inkblur but its top-level names. Each is loaded when first used, from the module that
`__init__.pyi` imports it from.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {
    imported.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module is not None
    for imported in node.names
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'inkblur.evaluation' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
