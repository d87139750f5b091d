"""A package's public names, each loaded when it is first used: `import inkblur` stays fast."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any


class LazyNames:
    """The names that the stub beside a package's `__init__.py` imports."""

    def __init__(self, package: str, file: str) -> None:
        stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
        self._package = package
        self.homes = {
            imported.name: node.module
            for node in stub.body
            if isinstance(node, ast.ImportFrom) and node.module is not None
            for imported in node.names
        }

    def load(self, name: str) -> Any:
        """What has this name, for `__getattr__`."""
        if name not in self.homes:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self.homes[name]), name)
