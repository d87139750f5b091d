"""How many true words come out of a release: for the data owner, counted from the true texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MANY = 0.5  # above this share a release does not hide its texts


@dataclass(frozen=True, slots=True)
class Survival:
    """Words of the true texts that the vocabulary knows, and how many of them come out.

    Null words and padding are not words of the texts and do not count. Content words are those that
    are not stop words: they say what a text is about, and they survive more often.

    >>> for line in Survival(known=100, unchanged=60, content=40, content_unchanged=30).lines():
    ...     print(line)
    60% of the words (75% of the content words) come out as they were written
    more than half of the words come out: this does not hide the texts
    """

    known: int
    unchanged: int
    content: int
    content_unchanged: int
    counted: str = "words"  # what is counted; a tf vector shows a word or does not

    def __add__(self, other: Survival) -> Survival:
        return Survival(
            self.known + other.known,
            self.unchanged + other.unchanged,
            self.content + other.content,
            self.content_unchanged + other.content_unchanged,
            other.counted,
        )

    @property
    def share(self) -> float:
        """Of the known words, those that come out; 0 where there are none."""
        return self.unchanged / self.known if self.known else 0.0

    @property
    def content_share(self) -> float:
        """Of the known content words, those that come out; 0 where there are none."""
        return self.content_unchanged / self.content if self.content else 0.0

    @property
    def hides(self) -> bool:
        """Whether at most half of the words, and of the content words, come out."""
        return self.share <= MANY and self.content_share <= MANY

    def lines(self) -> list[str]:
        """The share in one line, and a warning where it is large."""
        beside = ""
        if self.content != self.known:
            beside = f" ({self.content_share:.0%} of the content words)"
        lines = [f"{self.share:.0%} of the {self.counted}{beside} come out as they were written"]
        if not self.hides:
            kind = self.counted if self.share > MANY else "content words"
            lines.append(f"more than half of the {kind} come out: this does not hide the texts")
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
