"""Figures about the words of the true texts, for their owner: how many come out, how many the table
knows, and whether they are English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inkblur.embeddings.store import BUNDLED
from inkblur.embeddings.table import Embedding

MANY = 0.5  # above this share a release does not hide its texts
# An unknown word is replaced by one drawn from the whole vocabulary, so text in another language
# comes out as noise. The bundled English table lacks 3.0% to 8.2% of the content words of six
# English collections (news, fan fiction, novels, newsgroups, text messages, tweets), and 36% to 49%
# of those of German, French, Spanish and Italian sayings and manual pages.
_UNKNOWN = 0.2  # twice the highest share of English, half the lowest of other languages
_ENOUGH = 20  # words: of fewer, a handful of rare ones would be a large share
# Of 1,000 texts each, function words are 37% of disaster-tweets, 41% of reuters-c50, 44% of
# sms-spam, 51% of 20newsgroups and 56% of english-novels; of manual pages in German, French,
# Spanish, Dutch, Portuguese, Swedish and Turkish 1% to 8%, in Italian 18%.
_ENGLISH = 0.25
_WORDS = ("words", "stop_words", "unknown", "names")  # classes of tokens that are words


@dataclass(frozen=True, slots=True)
class Survival:
    """Words of the true texts that the vocabulary knows, and how many of them come out.

    Null words and padding are not words of the texts and do not count; words that were copied come
    out, and count whether or not the vocabulary knows them. Content words are those that are not
    stop words: they say what a text is about, and they survive more often.

    >>> for line in Survival(known=100, unchanged=60, content=40, content_unchanged=30).lines():
    ...     print(line)
    60% of the words (75% of the content words) are unchanged
    more than half of the words are unchanged: this does not hide the texts
    """

    known: int
    unchanged: int
    content: int
    content_unchanged: int
    counted: str = "words"  # what is counted; a tf vector shows a word or does not
    copied: int = 0  # words beside the known ones, all of which went through the mechanism
    copied_content: int = 0

    @property
    def share(self) -> float:
        """Of the words, those that come out; 0 where there are none."""
        words = self.known + self.copied
        return (self.unchanged + self.copied) / words if words else 0.0

    @property
    def content_share(self) -> float:
        """Of the content words, those that come out; 0 where there are none."""
        words = self.content + self.copied_content
        return (self.content_unchanged + self.copied_content) / words if words else 0.0

    @property
    def hides(self) -> bool:
        """Whether at most half of the words, and of the content words, come out."""
        return self.share <= MANY and self.content_share <= MANY

    def lines(self) -> list[str]:
        """The share in one line, and a warning where it is large; of no words, nothing."""
        words, content = self.known + self.copied, self.content + self.copied_content
        if not words:
            return []
        beside = ""
        if 0 < content < words:
            beside = f" ({self.content_share:.0%} of the content words)"
        lines = [f"{self.share:.0%} of the {self.counted}{beside} are unchanged"]
        if not self.hides:
            kind = self.counted if self.share > MANY else "content words"
            lines.append(
                f"more than half of the {kind} are unchanged: this does not hide the texts"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "unchanged": self.unchanged,
            "replaced": self.known - self.unchanged,
            "unchanged_share": round(self.share, 4),
            "content_words": self.content,
            "content_unchanged": self.content_unchanged,
            "content_unchanged_share": round(self.content_share, 4),
            "hides_the_texts": self.hides,
            "sentences": self.lines(),
        }


def copied_words(counts: Mapping[str, int]) -> tuple[int, int]:
    """How many words a release copied, by its counts, and how many of them are content words.

    >>> copied_words({"stop_words keep": 5, "names keep": 2, "numbers keep": 9})
    (7, 2)
    """
    content = counts.get("unknown keep", 0) + counts.get("names keep", 0)
    return content + counts.get("stop_words keep", 0), content


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many words of the true texts are in the vocabulary.

    Stop words do not count, because they are English whatever the table, nor do names of people:
    lists of them hold words of every language.

    >>> table = Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> Coverage(known=60, unknown=40).lines(table)[0][:42]
    '40% of the content words are not in the vo'
    >>> Coverage(known=95, unknown=5).lines(table)
    []
    """

    known: int
    unknown: int

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
        return self.known + self.unknown < _ENOUGH or self.unknown_share <= _UNKNOWN

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


@dataclass(frozen=True, slots=True)
class FunctionWords:
    """How many of the words are English function words (the, of, is...).

    >>> FunctionWords(words=200, found=90).line()
    'English (45% of the words are English function words)'
    >>> FunctionWords(words=200, found=10).line()
    'not English, or not sentences (5% of the words are English function words; 25% is the limit)'
    """

    words: int
    found: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> FunctionWords:
        """From the counts of a release, whatever was done with the words."""
        words = sum(n for name, n in counts.items() if name.split()[0] in _WORDS)
        return cls(words, sum(n for name, n in counts.items() if name.startswith("stop_words ")))

    @property
    def share(self) -> float:
        """Of all words; 0 where there are none."""
        return self.found / self.words if self.words else 0.0

    @property
    def english(self) -> bool:
        """Whether there are as many as English prose has."""
        return self.share >= _ENGLISH

    def line(self) -> str:
        """The verdict and the figure behind it."""
        figure = f"{self.share:.0%} of the words are English function words"
        if self.english:
            return f"English ({figure})"
        return f"not English, or not sentences ({figure}; {_ENGLISH:.0%} is the limit)"
