"""The bundled embedding keeps the figures that PROVENANCE.md states beside it."""

from __future__ import annotations

import re
import string
import tarfile
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import inkblur
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding

TOKEN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")


@pytest.fixture(scope="module")
def bundled() -> Embedding:
    return inkblur.load_embedding()


def share_known(table: Embedding, tokens: Counter[str]) -> float:
    return sum(count for word, count in tokens.items() if word in table) / tokens.total()


def every_tenth_posting(data_folder: Path) -> Iterator[str]:
    with tarfile.open(data_folder / "20newsgroups" / "20news-bydate.tar.gz") as archive:
        files = (member for member in archive if member.isfile())
        for member in islice(files, 0, None, 10):
            file = archive.extractfile(member)
            assert file is not None
            yield file.read().decode("latin-1")


def test_the_file_fits_and_is_what_its_header_says(bundled: Embedding) -> None:
    file = resources.files("inkblur.embeddings") / "data" / "bundled.ink"
    with resources.as_file(file) as path:
        assert path.stat().st_size <= 12_300_000
    fresh = Embedding(bundled.words, bundled.vectors, name="again", counts=bundled.counts)
    assert fresh.sha256 == bundled.sha256


def test_words_follow_the_rule(bundled: Embedding) -> None:
    rule = re.compile(r"[a-z]+(?:'[a-z]+)*")
    assert all(rule.fullmatch(word) for word in bundled.words)
    wanted = [*string.ascii_lowercase, "don't", "i'm", "dont", "walked", "children", "michael"]
    assert (bundled.ids(wanted) >= 0).all()


def test_obscenities_and_slurs_are_left_out(bundled: Embedding) -> None:
    left_out = [
        "blowjob",
        "dildos",
        "fucking",
        "fuck's",
        "shit",
        "cunts",
        "sluts",
        "faggot",
        "kike",
    ]
    left_out += ["douchebag", "whorehouse", "gringos", "redskin"]  # forms of left-out words
    assert (bundled.ids(left_out) < 0).all()
    listed = Path(__file__).parents[2] / "tools" / "bundled" / "left_out.txt"
    words = listed.read_text(encoding="ascii").splitlines()[1:]
    assert words == sorted(set(words))
    assert (bundled.ids([*words, *(word + "'s" for word in words)]) < 0).all()


def test_medical_legal_and_everyday_words_are_kept(bundled: Embedding) -> None:
    body = ["penis", "vagina", "breast", "breasts", "anal", "rectal", "semen", "urine", "orgasm"]
    law = ["rape", "raped", "incest", "prostitution", "pornography", "kill", "heroin", "cocaine"]
    everyday = ["sex", "sexual", "gay", "lesbian", "nude", "virgin", "god", "hell", "damn", "crap"]
    assert (bundled.ids([*body, *law, *everyday]) >= 0).all()


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
    left = bundled.centers(bundled.ids(row[0] for row in known))
    right = bundled.centers(bundled.ids(row[1] for row in known))
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    rho = spearmanr((left * right).sum(axis=1) / norms, [float(row[2]) for row in known])[0]
    assert rho >= wanted


def test_coverage_of_newsgroups(bundled: Embedding, data_folder: Path) -> None:
    # Every tenth posting; quality.py counts them all, and PROVENANCE.md has those figures.
    whole: Counter[str] = Counter()
    bodies: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for text in every_tenth_posting(data_folder):
        whole.update(TOKEN.findall(text.lower()))
        bodies.update(TOKEN.findall(text.partition("\n\n")[2].lower()))
        own.update(t.text.lower() for t in tokenize(text) if t.kind is TokenClass.WORD)
    assert share_known(bundled, own) >= 0.95
    assert share_known(bundled, bodies) >= 0.95
    # Pieces of mail addresses and host names count as words here; all postings give 94.4%.
    assert share_known(bundled, whole) >= 0.943


def test_coverage_of_messages(bundled: Embedding, data_folder: Path) -> None:
    text = (data_folder / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8")
    messages = (line.partition("\t")[2] for line in text.split("\n"))
    tokens = Counter(word for message in messages for word in TOKEN.findall(message.lower()))
    assert share_known(bundled, tokens) >= 0.90


@pytest.mark.parametrize(
    ("name", "words", "norms"),
    [
        ("glove-6b-300d.npy", 65_205, (6.510, 0.772)),
        ("word2vec-googlenews-300d.npy", 7_895, (2.927, 0.475)),
    ],
)
def test_real_vectors_are_read_as_what_they_are(
    data_folder: Path, name: str, words: int, norms: tuple[float, float]
) -> None:
    table = inkblur.load_embedding(data_folder / "vectors" / name)
    facts = table.summary()
    assert table.vectors.shape == (words, 300)
    assert (round(facts["norm_mean"], 3), round(facts["norm_sd"], 3)) == norms
