"""Inkblur: differentially private text, published without its author."""

from __future__ import annotations

from typing import Any

from inkblur.lazy_names import LazyNames

_NAMES = LazyNames(__name__, __file__)
__all__ = sorted([*_NAMES.homes, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("inkblur")
    from inkblur.errors import MissingExtra

    try:
        return _NAMES.load(name)
    except MissingExtra as error:  # so that hasattr answers no
        raise AttributeError(f"inkblur.{name} is not there: {error}") from error


def __dir__() -> list[str]:
    return __all__
