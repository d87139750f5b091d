"""How many of the texts that judge strengths are copies of texts that the attacker knows?

    INKBLUR_DATA=... python tools/bundled/copies.py

For each collection of `strengths.py`: attacked texts with the same words as a known text of their
author, and those that share at least half of their runs of five words with one. Whoever names the
author of such a text needs no style.
"""

from __future__ import annotations

from collections import defaultdict

from strengths import COLLECTIONS, author_texts

from inkblur.evaluation.measures.words import words_of

RUN = 5  # words
HALF = 0.5

Runs = set[tuple[str, ...]]


def runs(text: str) -> Runs:
    """Every run of words of a text."""
    words = words_of(text)
    return {tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)}


def shared(attacked: Runs, known: list[Runs]) -> float:
    """The largest share of the runs of a text that one known text has."""
    return max((len(attacked & each) for each in known), default=0) / max(1, len(attacked))


def main() -> None:
    """A line for each collection."""
    for name in COLLECTIONS:
        texts = author_texts(name)
        known: defaultdict[int, list[Runs]] = defaultdict(list)
        words: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        for text, author in zip(texts.known, texts.known_authors.tolist(), strict=True):
            known[author].append(runs(text))
            words[author].add(tuple(words_of(text)))
        pairs = list(zip(texts.attacked, texts.attacked_authors.tolist(), strict=True))
        same = sum(tuple(words_of(text)) in words[author] for text, author in pairs)
        alike = sum(shared(runs(text), known[author]) >= HALF for text, author in pairs)
        print(f"{name}: of {len(pairs)} attacked texts {same} are known, {alike} by half or more")


if __name__ == "__main__":
    main()
