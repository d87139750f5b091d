"""Attacks, measures and audits of releases, and what studies of mechanisms need besides them.

These names are public: the papers' experiments (`reproduction/`) and the benchmarks use nothing
else of Inkblur but its top-level names. Each is loaded when first used, from the module that
`__init__.pyi` imports it from.
"""

from __future__ import annotations

from typing import Any

from inkblur.lazy_names import LazyNames

_NAMES = LazyNames(__name__, __file__)
__all__ = sorted(_NAMES.homes)


def __getattr__(name: str) -> Any:
    return _NAMES.load(name)


def __dir__() -> list[str]:
    return __all__
