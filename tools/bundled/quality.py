"""Figures of an `.ink` file on public data: word similarity, coverage, norms, equal vectors.

    python tools/bundled/quality.py FILE DATA

DATA is the folder that INKBLUR_DATA names. It only measures: nothing there reaches the word list.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr  # type: ignore[import-untyped, unused-ignore]

from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.store import open_store
from inkblur.embeddings.table import Embedding

TOKEN = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
LETTERS = re.compile(r"[A-Za-z]+")


def similarity(embedding: Embedding, path: Path) -> tuple[float, float]:
    """Spearman's rho of cosine against human scores, and the share of pairs in the vocabulary."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [(a.lower(), b.lower(), float(score)) for a, b, score in rows]
    known = [(a, b, score) for a, b, score in pairs if a in embedding and b in embedding]
    left = embedding.centers(embedding.ids(a for a, _, _ in known))
    right = embedding.centers(embedding.ids(b for _, b, _ in known))
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    rho = spearmanr((left * right).sum(axis=1) / norms, [score for _, _, score in known])[0]
    return float(rho), len(known) / len(pairs)


def coverage(embedding: Embedding, tokens: Counter[str]) -> float:
    """Share of the tokens that are words of the embedding."""
    return sum(n for word, n in tokens.items() if word in embedding) / tokens.total()


def own_words(text: str) -> list[str]:
    """The words that Inkblur itself finds: no addresses, nothing with a digit in it."""
    return [t.text.lower() for t in tokenize(text) if t.kind is TokenClass.WORD]


def newsgroup_texts(data: Path) -> Iterator[str]:
    """The 18,846 postings of 20 Newsgroups, headers and all."""
    with tarfile.open(data / "20newsgroups" / "20news-bydate.tar.gz") as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield file.read().decode("latin-1")


def sms_texts(data: Path) -> Iterator[str]:
    """The 5,574 messages, without their labels."""
    table = (data / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8")
    for line in table.split("\n"):
        yield line.partition("\t")[2]


def main(path: Path, data: Path) -> None:
    """Print every figure."""
    embedding = open_store(path)
    norms = np.linalg.norm(embedding.vectors, axis=1)
    distinct = len(np.unique(embedding.vectors, axis=0))
    print(f"{len(embedding)} words x {embedding.dimension}, {path.stat().st_size} bytes")
    print(f"norm: mean {norms.mean():.3f}, sd {norms.std():.3f}, smallest {norms.min():.3f}")
    print(f"words that share a vector with another: {len(embedding) - distinct}")
    for name in ("EN-SIMLEX-999.txt", "EN-WS-353-ALL.txt"):
        rho, known = similarity(embedding, data / "word-similarity" / name)
        print(f"{name}: Spearman {rho:.4f}, pairs known {known:.4f}")
    counts: dict[str, Counter[str]] = {
        name: Counter()
        for name in ("whole", "whole, letters only", "bodies", "headers", "whole, own tokens")
    }
    for text in newsgroup_texts(data):
        header, _, body = text.partition("\n\n")
        counts["whole"].update(TOKEN.findall(text.lower()))
        counts["whole, letters only"].update(LETTERS.findall(text.lower()))
        counts["bodies"].update(TOKEN.findall(body.lower()))
        counts["headers"].update(TOKEN.findall(header.lower()))
        counts["whole, own tokens"].update(own_words(text))
    for name, tokens in counts.items():
        share = coverage(embedding, tokens)
        print(f"20 Newsgroups, {name}: {share:.4f} of {tokens.total()} tokens")
    sms = Counter(word for text in sms_texts(data) for word in TOKEN.findall(text.lower()))
    print(f"SMS: {coverage(embedding, sms):.4f} of {sms.total()} tokens")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
