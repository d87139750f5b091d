"""Whether a table fits the texts: the share of their words that it does not know.

Each of those words is replaced by one drawn from the whole vocabulary, so text in another language
comes out as noise. With the bundled English table 3.0% to 8.2% of the content words of six English
collections are unknown (news, fan fiction, novels, newsgroups, text messages, tweets), and 36% to
49% of those of German, French, Spanish and Italian sayings and manual pages. Names of people count
in neither: lists of them hold words of every language. Stop words do not count because they are
English whatever the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inkblur.embeddings.loading import BUNDLED
from inkblur.embeddings.table import Embedding

MANY = 0.2  # twice the highest share of English collections, half the lowest of other languages
_ENOUGH = 20  # words: of fewer, a handful of rare ones would be a large share


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many words of the true texts are in the vocabulary, stop words and people's names aside.

    >>> table = Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> Coverage(known=60, unknown=40).lines(table)[0][:42]
    '40% of the content words are not in the vo'
    >>> Coverage(known=95, unknown=5).lines(table)
    []
    """

    known: int
    unknown: int

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.known + other.known, self.unknown + other.unknown)

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Coverage:
        """From the counts of a release, whatever was done with unknown words."""
        unknown = sum(n for name, n in counts.items() if name.startswith("unknown "))
        return cls(counts.get("words blur", 0), unknown)

    @property
    def unknown_share(self) -> float:
        """Of both together; 0 where there are none."""
        words = self.known + self.unknown
        return self.unknown / words if words else 0.0

    @property
    def fits(self) -> bool:
        """Whether the table knows as many words as one for these texts would."""
        return self.known + self.unknown < _ENOUGH or self.unknown_share <= MANY

    def lines(self, table: Embedding) -> list[str]:
        """One question for the data owner where too many words are unknown."""
        if self.fits:
            return []
        which = "English vocabulary" if table.name == BUNDLED else "vocabulary"
        return [
            f"{self.unknown_share:.0%} of the content words are not in the {which}: is that the "
            "texts' language, and is it large enough?"
        ]

    def to_json(self, table: Embedding) -> dict[str, Any]:
        """For the report."""
        return {
            "unknown_words": self.unknown,
            "unknown_share": round(self.unknown_share, 4),
            "fits_the_texts": self.fits,
            "sentences": self.lines(table),
        }
