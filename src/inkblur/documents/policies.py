"""What happens to each class of token: closed by default, and every opening is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import Enum

from inkblur.errors import ParameterError
from inkblur.types import choose


class Treatment(Enum):
    """What happens to a class of tokens."""

    BLUR = "blur"  # the closed default: see TokenPolicies for what it means for each class
    DROP = "drop"  # leaves no trace
    KEEP = "keep"  # copied as it is, at the cost of a line in the guarantee


@dataclass(frozen=True, slots=True)
class TokenPolicies:
    """One treatment a class. Known words always go through the mechanism; the rest is decided here.

    | class | blur (default) | drop | keep |
    |---|---|---|---|
    | stop_words | through the mechanism | gone | copied |
    | unknown | the null word, through the mechanism | gone | copied |
    | numbers | the null word, through the mechanism | gone | copied |
    | addresses | the null word, through the mechanism | gone | copied |
    | punctuation | a full stop where a sentence ends, else a space | gone | copied |
    | spaces | one space between words | | copied |
    | capitals | folded to lower case | | given to the replacement |
    """

    stop_words: Treatment = Treatment.BLUR
    unknown: Treatment = Treatment.BLUR
    numbers: Treatment = Treatment.BLUR
    addresses: Treatment = Treatment.BLUR
    punctuation: Treatment = Treatment.BLUR
    spaces: Treatment = Treatment.BLUR
    capitals: Treatment = Treatment.BLUR

    def __post_init__(self) -> None:
        for name in ("spaces", "capitals"):
            if getattr(self, name) is Treatment.DROP:
                raise ParameterError(f"{name} cannot be dropped; blur or keep them")

    @classmethod
    def of(cls, *, keep: Iterable[str] = (), drop: Iterable[str] = ()) -> TokenPolicies:
        """Policies from class names, as on the command line.

        >>> TokenPolicies.of(keep=["numbers"], drop=["stop-words"]).numbers
        <Treatment.KEEP: 'keep'>
        """
        policies = cls()
        for treatment, names in ((Treatment.KEEP, keep), (Treatment.DROP, drop)):
            for name in names:
                field = choose(TokenField, name, "token class").name.lower()
                if getattr(policies, field) not in (Treatment.BLUR, treatment):
                    raise ParameterError(f"{name} cannot be both kept and dropped")
                policies = replace(policies, **{field: treatment})
        return policies

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the classes that are copied as they are."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is Treatment.KEEP)

    @property
    def without(self) -> tuple[str, ...]:
        """Classes of words that are dropped, so that they are no positions of the text."""
        return tuple(line for name, line in _WORDS.items() if getattr(self, name) is Treatment.DROP)

    def passed(self) -> tuple[str, ...]:
        """What a sequence released under these policies shows unprotected, a line each."""
        lines = [_KEPT_LINES[name] for name in self.kept]
        if self.punctuation is Treatment.BLUR:
            lines.append("where sentences end")
        return tuple(lines)

    def spec(self) -> str:
        """The policies as text: part of what binds a record's random stream."""
        return " ".join(f"{f.name}={getattr(self, f.name).value}" for f in fields(self))


class TokenField(Enum):
    """The classes' names on the command line."""

    STOP_WORDS = "stop-words"
    UNKNOWN = "unknown"
    NUMBERS = "numbers"
    ADDRESSES = "addresses"
    PUNCTUATION = "punctuation"
    SPACES = "spaces"
    CAPITALS = "capitals"


_WORDS = {
    "stop_words": "stop words",
    "unknown": "unknown words",
    "numbers": "numbers",
    "addresses": "addresses",
}
_KEPT_LINES = {
    "stop_words": "stop words, copied word for word",
    "unknown": "words that the vocabulary does not know, copied letter for letter",
    "numbers": "everything with a digit in it (12, 4th, anna87), copied as it is written",
    "addresses": "web and e-mail addresses and @handles, copied letter for letter",
    "punctuation": "punctuation and signs, copied as they are, and which of them touch a word",
    "spaces": "white space and line breaks, copied as they are",
    "capitals": "which words begin with a capital or are written in capitals",
}
