"""Every exception Inkblur raises on purpose.

InkblurError
├── ParameterError          a wrong argument: epsilon 0, lambda 2, an unknown mechanism
│   └── Unreachable         no epsilon does what was asked
├── InputError              something read is not what it should be; names the file and the place
│   └── EmbeddingError      the same, for word vectors
├── OutputError             the result cannot be written
├── MissingExtra            an optional library is not installed; names the extra that brings it
└── PrivacyError            going on would make the guarantee false
    ├── PrivateCalibration  a public ingredient was fitted on the text being protected
    ├── NoGuarantee         the mechanism proves nothing and nobody accepted that
    ├── WeakSetting         nearly every word would stay and nobody accepted that
    ├── Incomposable        two guarantees do not add up (different metrics, units or sizes)
    └── BudgetExceeded      the release would spend more than a record or a person may
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class InkblurError(Exception):
    """The root: catch this one to catch everything Inkblur raises on purpose."""


class ParameterError(InkblurError, ValueError):
    """A wrong argument; the message says which values are allowed."""


class Unreachable(ParameterError):
    """No value of epsilon does what was asked."""


class InputError(InkblurError):
    """Something read is not what it should be; the message names the file and the place."""


class EmbeddingError(InputError):
    """Word vectors that cannot be read or used."""


class OutputError(InkblurError):
    """The result cannot be written; nothing half-written is left behind."""


class MissingExtra(InkblurError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""


# How messages name a parameter (`length=5`): a flag to the command line, a field to the service.
PARAMETER = re.compile(r"`(\w+)=([^`]*)`")
# What libraries raise on the content of a damaged file, beside exceptions of their own.
MALFORMED = (
    *(ArithmeticError, AttributeError, EOFError, LookupError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)


@contextmanager
def needs(what: str, extra: str, otherwise: str = "") -> Iterator[None]:
    """Imports of an optional library stand inside; where it is missing, the extra is named.

    >>> with needs("no X", "plots", "leave it out"):
    ...     import no_such_library
    Traceback (most recent call last):
    inkblur.errors.MissingExtra: no X: pip install '.[plots]' in a clone of Inkblur, or leave it out
    """
    try:
        yield
    except ImportError:
        advice = f", or {otherwise}" if otherwise else ""
        raise MissingExtra(
            f"{what}: pip install '.[{extra}]' in a clone of Inkblur{advice}"
        ) from None


class PrivacyError(InkblurError):
    """Going on would make the guarantee false."""


class PrivateCalibration(PrivacyError):
    """A public ingredient (vocabulary, covariance, rating) was fitted on the protected text."""


class NoGuarantee(PrivacyError):
    """The mechanism proves nothing, and nobody accepted that explicitly."""


class WeakSetting(PrivacyError):
    """Nearly every word would come out unchanged, and nobody accepted that explicitly."""


class Incomposable(PrivacyError):
    """Two guarantees do not add up: different metrics, units or sizes."""


class BudgetExceeded(PrivacyError):
    """The release would spend more than a record or a person may; nothing was released."""

    def __init__(self, message: str = "", *, left: Mapping[str, float] | None = None) -> None:
        super().__init__(message)
        self.left = dict(left or {})  # by the ids of the records that would exceed their budget
