"""The bundled embedding keeps the figures that PROVENANCE.md states beside it."""

from __future__ import annotations

import re
import string
import tarfile
from collections import Counter
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import inkblur
from inkblur.documents.tokens import TokenClass, tokenise
from inkblur.embeddings.table import Embedding

TOKEN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")


@pytest.fixture(scope="module")
def bundled() -> Embedding:
    return inkblur.load_embedding()


def share_known(table: Embedding, tokens: Counter[str]) -> float:
    return sum(count for word, count in tokens.items() if word in table) / tokens.total()


def test_the_file_fits_and_is_what_its_header_says(bundled: Embedding) -> None:
    file = resources.files("inkblur.embeddings") / "data" / "bundled.ink"
    with resources.as_file(file) as path:
        assert path.stat().st_size <= 12_000_000
    fresh = Embedding(bundled.words, bundled.vectors, name="again")
    assert fresh.sha256 == bundled.sha256


def test_words_follow_the_rule(bundled: Embedding) -> None:
    rule = re.compile(r"[a-z]+(?:'[a-z]+)*")
    assert all(rule.fullmatch(word) for word in bundled.words)
    wanted = [*string.ascii_lowercase, "don't", "i'm", "dont", "walked", "children", "michael"]
    assert (bundled.ids(wanted) >= 0).all()


def test_vectors_are_distinct_and_of_one_size(bundled: Embedding) -> None:
    assert len(np.unique(bundled.vectors, axis=0)) == len(bundled)
    norms = np.linalg.norm(bundled.vectors, axis=1)
    assert norms.min() > 0.5
    assert norms.max() < 1.1


@pytest.mark.parametrize(
    ("name", "wanted"), [("EN-SIMLEX-999.txt", 0.46), ("EN-WS-353-ALL.txt", 0.73)]
)
def test_similarity(bundled: Embedding, data_folder: Path, name: str, wanted: float) -> None:
    text = (data_folder / "word-similarity" / name).read_text(encoding="utf-8").lower()
    rows = [line.split() for line in text.splitlines()]
    known = [row for row in rows if row[0] in bundled and row[1] in bundled]
    assert len(known) >= 0.95 * len(rows)
    left = bundled.centres(bundled.ids(row[0] for row in known))
    right = bundled.centres(bundled.ids(row[1] for row in known))
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    rho = spearmanr((left * right).sum(axis=1) / norms, [float(row[2]) for row in known])[0]
    assert rho >= wanted


def test_coverage_of_newsgroups(bundled: Embedding, data_folder: Path) -> None:
    whole: Counter[str] = Counter()
    bodies: Counter[str] = Counter()
    own: Counter[str] = Counter()
    with tarfile.open(data_folder / "20newsgroups" / "20news-bydate.tar.gz") as archive:
        for number, member in enumerate(archive):
            if (file := archive.extractfile(member)) is None:
                continue
            text = file.read().decode("latin-1")
            whole.update(TOKEN.findall(text.lower()))
            bodies.update(TOKEN.findall(text.partition("\n\n")[2].lower()))
            if number % 10 == 0:  # every tenth is enough, and the tokeniser takes its time
                own.update(t.text.lower() for t in tokenise(text) if t.kind is TokenClass.WORD)
    assert share_known(bundled, own) >= 0.95
    assert share_known(bundled, bodies) >= 0.95
    # Pieces of mail addresses and host names count as words here: 95% would take 60,000 words.
    assert share_known(bundled, whole) >= 0.948


def test_coverage_of_messages(bundled: Embedding, data_folder: Path) -> None:
    text = (data_folder / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8")
    messages = (line.partition("\t")[2] for line in text.split("\n"))
    tokens = Counter(word for message in messages for word in TOKEN.findall(message.lower()))
    assert share_known(bundled, tokens) >= 0.90
