"""Synonyms from WordNet's own files (Debian: `wordnet-base`), wndb(5WN).

Each line of data.noun, data.verb, data.adj and data.adv is one set of synonyms:

    offset file kind COUNT word id word id ... pointers ... | gloss        COUNT is hexadecimal

NLTK's reader cannot open Debian's files: it asks for `lexnames`, which Debian leaves out, and since
3.10 it refuses folders outside its own. The sets are all that is needed here, so they are read
directly.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from inkblur.errors import InputError, MissingExtra

_DEBIAN = "/usr/share/wordnet"
_PARTS = ("noun", "verb", "adj", "adv")


def synonyms(words: Iterable[str], folder: Path | None = None) -> set[str]:
    """Every single word that shares a set of synonyms with one of `words`, those left out.

    `folder` holds WordNet's data files: by default `$WNSEARCHDIR` (WordNet's own variable), else
    where Debian puts them.
    """
    known = set(words)
    found: set[str] = set()
    for members in synonym_sets(folder):
        if not known.isdisjoint(members):
            found.update(members)
    return found - known


def synonym_sets(folder: Path | None = None) -> Iterator[list[str]]:
    """All sets, in lower case, without expressions of several words."""
    folder = folder if folder is not None else Path(os.environ.get("WNSEARCHDIR", _DEBIAN))
    for part in _PARTS:
        path = folder / f"data.{part}"
        if not path.is_file():
            raise MissingExtra(
                f"WordNet is not installed ({path} is missing): apt install wordnet-base, or set "
                "WNSEARCHDIR to the folder of its data files, or leave synonyms out"
            )
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.startswith(" "):  # the license stands at the top, indented
                    yield _members(line, path, number)


def _members(line: str, path: Path, number: int) -> list[str]:
    fields = line.split(" ")
    try:
        count = int(fields[3], 16)
        words = fields[4 : 4 + 2 * count : 2]
    except (IndexError, ValueError):
        raise InputError(f"line {number} of {path} is not a set of WordNet synonyms") from None
    # "galore(ip)": an adjective's place in the sentence is marked in brackets.
    return [word.split("(")[0].lower() for word in words if "_" not in word]
