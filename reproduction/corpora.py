"""Loaders for the public corpora that experiments and tests measure on.

None of them is part of Inkblur. They are found in a folder: an argument, or the environment
variable INKBLUR_DATA. Authors leave this file as numbers: names and addresses stay in the archives.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path

import numpy as np

from inkblur import ParameterError
from inkblur.errors import InputError
from reproduction.arrays import Ids

VARIABLE = "INKBLUR_DATA"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, and what is known about each."""

    name: str
    texts: tuple[str, ...]
    authors: Ids | None = None  # (texts,), numbers; -1 where the author is not known
    labels: tuple[str, ...] | None = None  # the topic or class of each text

    def __len__(self) -> int:
        return len(self.texts)

    def first_of_each_author(self, count: int) -> Corpus:
        """The first `count` texts of every author, in the corpus's order."""
        if self.authors is None:
            raise ParameterError(f"{self.name} has no authors to choose texts by")
        seen: dict[int, int] = {}
        rows = []
        for row, author in enumerate(self.authors.tolist()):
            seen[author] = seen.get(author, 0) + 1
            if author >= 0 and seen[author] <= count:
                rows.append(row)
        return self.rows(rows)

    def rows(self, rows: Sequence[int]) -> Corpus:
        """These texts only."""
        return Corpus(
            self.name,
            tuple(self.texts[row] for row in rows),
            None if self.authors is None else self.authors[list(rows)],
            None if self.labels is None else tuple(self.labels[row] for row in rows),
        )


@dataclass(frozen=True, slots=True)
class Split:
    """A corpus in the two parts its makers gave it; author numbers mean the same in both."""

    train: Corpus
    test: Corpus


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder given, else the one that INKBLUR_DATA names."""
    chosen = folder if folder is not None else os.environ.get(VARIABLE)
    if not chosen:
        raise InputError(
            f"no data folder: give --data (folder= in Python), or set {VARIABLE} to where the "
            "corpora are"
        )
    path = Path(chosen)
    if not path.is_dir():
        raise InputError(f"the data folder {path} does not exist")
    return path


def reuters_c50(folder: str | Path | None = None) -> Split:
    """Reuters C50: 50 authors, 50 training and 50 test texts each, in file-name order."""
    parts: dict[str, dict[str, list[tuple[str, str]]]] = {"C50train": {}, "C50test": {}}
    archive = _file(folder, "reuters-c50", "ReutersC50.tar.gz")
    for path, data in _members(archive):
        _, part, author, name = path
        parts[part].setdefault(author, []).append((name, data.decode("utf-8")))
    numbers = {author: number for number, author in enumerate(sorted(parts["C50train"]))}

    def corpus(part: str) -> Corpus:
        rows = [
            (numbers[author], text)
            for author in sorted(parts[part])
            for _, text in sorted(parts[part][author])
        ]
        texts = tuple(text for _, text in rows)
        return Corpus(f"reuters-{part.lower()}", texts, np.array([a for a, _ in rows], np.int64))

    return Split(corpus("C50train"), corpus("C50test"))


def pan18(problem: int, folder: str | Path | None = None) -> Split:
    """PAN 2018 cross-domain attribution, English: `train` is known, `test` unknown with its truth.

    Problem 1 has 20 authors, problem 2 has 5; the unknown texts are about another fandom.
    """
    if problem not in (1, 2):
        raise ParameterError(f"PAN 2018 has the English problems 1 and 2, not {problem}")
    archive = _file(folder, "pan18-fanfiction", "pan18_cdaa_en.tar.gz")
    files = {
        path[2:]: data.decode("utf-8")
        for path, data in _members(archive)
        if path[1] == f"problem{problem:05d}"
    }
    known = sorted(path for path in files if path[0].startswith("candidate"))
    numbers = {author: i for i, author in enumerate(sorted({path[0] for path in known}))}
    truth = json.loads(files[("ground-truth.json",)])["ground_truth"]
    return Split(
        Corpus(
            f"pan18-{problem}-known",
            tuple(files[path] for path in known),
            np.array([numbers[path[0]] for path in known], np.int64),
        ),
        Corpus(
            f"pan18-{problem}-unknown",
            tuple(files[("unknown", row["unknown-text"])] for row in truth),
            np.array([numbers[row["true-author"]] for row in truth], np.int64),
        ),
    )


def english_novels(folder: str | Path | None = None) -> Split:
    """Excerpts of 99 novels by 33 authors: two novels of each to study, a third one to attack."""
    path = _file(folder, "english-novels", "excerpts.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    numbers = {author: i for i, author in enumerate(sorted({row["author"] for row in rows}))}

    def corpus(part: str) -> Corpus:
        chosen = [row for row in rows if row["split"] == part]
        authors = np.array([numbers[row["author"]] for row in chosen], np.int64)
        return Corpus(f"english-novels-{part}", tuple(row["text"] for row in chosen), authors)

    return Split(corpus("train"), corpus("test"))


def newsgroups(folder: str | Path | None = None) -> Split:
    """20 Newsgroups, split by date: whole postings with their headers; the label is the group.

    An author is the address of the From line, without regard to case; -1 where there is none.
    The headers name people: pass texts through :func:`posting_body` before anything is shown, or
    take them from :func:`reproduction.newsgroups.syntf_newsgroups`.
    """
    archive = _file(folder, "20newsgroups", "20news-bydate.tar.gz")
    postings = sorted((path, data.decode("latin-1")) for path, data in _members(archive))
    addresses = [_address(text) for _, text in postings]
    numbers = {a: i for i, a in enumerate(sorted({a for a in addresses if a}))}

    def corpus(part: str) -> Corpus:
        rows = [i for i, (path, _) in enumerate(postings) if path[0] == f"20news-bydate-{part}"]
        return Corpus(
            f"20newsgroups-{part}",
            tuple(postings[i][1] for i in rows),
            np.array([numbers.get(addresses[i], -1) for i in rows], np.int64),
            tuple(postings[i][0][1] for i in rows),
        )

    return Split(corpus("train"), corpus("test"))


def posting_body(posting: str) -> str:
    """A posting without its headers: what follows the first empty line."""
    return posting.partition("\n\n")[2]


def posting_from(posting: str) -> str:
    """Who sent a posting, as its From line says: a name and an address; empty where it has none."""
    for line in posting.partition("\n\n")[0].split("\n"):
        if line[:5].lower() == "from:":
            return line[5:].strip()
    return ""


def sms_spam(folder: str | Path | None = None) -> Corpus:
    """UCI SMS Spam Collection; labels ham and spam."""
    path = _file(folder, "sms-spam", "SMSSpamCollection")
    # Lines end at a line feed only: messages hold other characters that Python calls line ends.
    lines = path.read_bytes().decode("utf-8").rstrip("\n").split("\n")
    rows = [line.rstrip("\r").split("\t", 1) for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise InputError(f"line {number} of {path.name} has no tab between label and text")
    return Corpus("sms-spam", tuple(row[1] for row in rows), labels=tuple(row[0] for row in rows))


def disaster_tweets(folder: str | Path | None = None) -> Corpus:
    """Kaggle's disaster tweets (its training part); labels 0 and 1, where 1 is a disaster."""
    path = _file(folder, "disaster-tweets", "train.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    texts = tuple(row["text"] for row in rows)
    return Corpus("disaster-tweets", texts, labels=tuple(row["target"] for row in rows))


def _file(folder: str | Path | None, *parts: str) -> Path:
    path = data_folder(folder).joinpath(*parts)
    if not path.is_file():
        raise InputError(f"{'/'.join(parts)} is not in the data folder {data_folder(folder)}")
    return path


def _members(archive: Path) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Every file of an archive: its path in parts, its bytes. Nothing is unpacked to disk."""
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            stream = tar.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield tuple(member.name.removeprefix("./").split("/")), stream.read()


def _address(posting: str) -> str:
    written = posting_from(posting)
    return (parseaddr(written)[1] or written).lower()
