"""A mechanism's own parameters: name, type, range, default and help, declared once.

The catalogue's entries hold them. The command line's options, validation, the names of releases,
the keys of stored strengths and the values that the laws run over are all read from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from inkblur.errors import ParameterError
from inkblur.types import real

Value = float | int | str | bool | None

LAMBDA = 0.5  # mahalanobis: halfway between round noise and the vocabulary's own shape


@dataclass(frozen=True, slots=True)
class Parameter:
    """One keyword argument of a mechanism besides epsilon.

    >>> strictness = Parameter("strictness", 1.0, "How strict.", low=0.0, high=2.0)
    >>> strictness.checked(2)
    2.0
    >>> strictness.checked(3)
    Traceback (most recent call last):
    inkblur.errors.ParameterError: strictness must lie between 0 and 2, got 3
    """

    name: str  # the constructor's keyword
    default: Value  # its type is the parameter's; None: a number that the mechanism chooses
    help: str  # one sentence, for the command line
    label: str = ""  # what people call it, where that is no Python name: lambda
    low: float = -math.inf  # of a number, included
    high: float = math.inf
    choices: tuple[str, ...] = ()  # of a text
    tried: tuple[Value, ...] = ()  # values that the laws run over; the default alone if empty
    principal: bool = False  # always named, and compared by audits: what the mechanism is about
    consent: bool = False  # a permission to run: changes no output, so no name or key has it

    @property
    def title(self) -> str:
        """What messages and names of releases call it."""
        return self.label or self.name

    @property
    def flag(self) -> str:
        """The command line's option.

        >>> Parameter("lam", 0.5, "Shape.", label="lambda").flag
        '--lambda'
        """
        return f"--{self.title.replace('_', '-')}"

    @property
    def kind(self) -> type:
        """bool, int, float or str."""
        return float if self.default is None else type(self.default)

    def checked(self, value: Any) -> Value:
        """The value in the parameter's type, or an error that says what is allowed."""
        if value is None and self.default is None:
            return None
        if self.kind is bool:
            if not isinstance(value, bool):
                raise ParameterError(f"{self.title} must be True or False, got {value!r}")
            return value
        if self.kind is str:
            text = value.value if isinstance(value, Enum) else value
            if not isinstance(text, str) or (self.choices and text not in self.choices):
                allowed = ", ".join(self.choices) or "any text"
                raise ParameterError(f"unknown {self.title} {text!r}; choose one of: {allowed}")
            return text
        return self._number(value)

    def parsed(self, text: str) -> Value:
        """The value that a text spells, as on the command line."""
        if self.kind is bool:
            if text not in ("true", "false"):
                raise ParameterError(f"{self.title} must be true or false, got {text!r}")
            return text == "true"
        if self.kind is str:
            return self.checked(text)
        try:
            return self.checked(self.kind(text))
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(f"{self.title} must be a number, got {text!r}") from None

    def _number(self, value: Any) -> Value:
        number = real(value, self.title)
        if not self.low <= number <= self.high:  # NaN fails here too
            raise ParameterError(f"{self.title} must {self._range()}, got {value}")
        if self.kind is not int:
            return number
        if not number.is_integer():
            raise ParameterError(f"{self.title} must be a whole number, got {value!r}")
        return int(value)

    def _range(self) -> str:
        if self.high == math.inf:
            return f"be at least {self.low:g}"
        if self.low == -math.inf:
            return f"be at most {self.high:g}"
        return f"lie between {self.low:g} and {self.high:g}"
