"""The public data of the experiments: where each comes from, its checksum, and its known counts.

Nothing of it is part of Inkblur. A file whose counts are not those its makers state is refused; one
that only differs in its checksum (another packing of the same collection) is used, and the record
says so.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from inkblur import Embedding, load_embedding
from inkblur.errors import InputError
from inkblur.evaluation import Dataset
from reproduction import corpora
from reproduction.corpora import Corpus, Split
from reproduction.newsgroups import syntf_dataset


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """One file of the data folder, or vectors with the words of their rows beside them."""

    path: str  # in the data folder
    sha256: str  # of the file that the committed records were measured on
    origin: str  # where the public original is downloaded
    packing: str = ""  # how the file differs from that original
    words: tuple[str, str] | None = None  # the same of the file that names the rows of vectors

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Path and checksum of each file that the data are read from."""
        return ((self.path, self.sha256), *([self.words] if self.words else []))


SOURCES = {
    "glove": DatasetSource(
        "vectors/glove-6b-300d.npy",
        "657b317105419f7fcf886d970322a459afe72ba3eb1b0a6b98df878aec6e9b53",
        "https://nlp.stanford.edu/data/glove.6B.zip",
        "65,205 of its 400,000 words, with the words in glove-6b-300d.vocab.txt",
        (
            "vectors/glove-6b-300d.vocab.txt",
            "e41e96dfe50d85fef9d6fd17d75ada6e6090fb232e4b70d0e3b8471751157a85",
        ),
    ),
    "word2vec": DatasetSource(
        "vectors/word2vec-googlenews-300d.npy",
        "045c2e442c92ed80b83223e13fb49b8105b059265a5fbaaaccfb17d31c27e479",
        "https://code.google.com/archive/p/word2vec/",
        "7,895 of its 3,000,000 words, with the words in word2vec-googlenews-300d.vocab.txt",
        (
            "vectors/word2vec-googlenews-300d.vocab.txt",
            "4f64bcda5e59ae4cab5b7f1ab5284bf04ccba27a276e2129900d2749b2e48917",
        ),
    ),
    "sms": DatasetSource(
        "sms-spam/SMSSpamCollection",
        "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
        "https://archive.ics.uci.edu/dataset/228/sms+spam+collection",
    ),
    "tweets": DatasetSource(
        "disaster-tweets/train.csv",
        "2724edf814c85e9ae3b5ce9fd4615f1d0ee7526aaae52f96cb2df65e34e0b3e1",
        "https://www.kaggle.com/competitions/nlp-getting-started/data",
    ),
    "newsgroups": DatasetSource(
        "20newsgroups/20news-bydate.tar.gz",
        "6933d1199d2733faf67cef42e67265ab9baa30189c5dad9b4627ca4809b5841e",
        "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
        "packed again; scikit-learn gives the original's checksum as 8f1b2514ca22a5ad...",
    ),
    "c50": DatasetSource(
        "reuters-c50/ReutersC50.tar.gz",
        "6d87e5a548159febcd463287abdd99c7fbb7c427815f962e1aa2a9e6c00c02e4",
        "https://archive.ics.uci.edu/dataset/217/reuter+50+50",
        "packed again",
    ),
    "pan18": DatasetSource(
        "pan18-fanfiction/pan18_cdaa_en.tar.gz",
        "237c67b0bcb18dab4b4a0b32cfc9713a3c17a779913d64b428a0ce2b90a0a31c",
        "https://zenodo.org/records/3737849",
        "the English problems, packed again, with their ground truth",
    ),
}


class Datasets:
    """Loads each collection once and checks it."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = corpora.data_folder(folder)
        self.notes: list[str] = []  # files that differ from the ones the records were measured on
        self._digests: dict[str, str] = {}

    @cached_property
    def glove(self) -> Embedding:
        """GloVe 6B, 300 dimensions: 65,205 words in GloVe's own order of frequency."""
        return self._vectors("glove", (65_205, 300), "glove-6b-300d", 6.510)

    @cached_property
    def word2vec(self) -> Embedding:
        """Google News word2vec, 300 dimensions: 7,895 words."""
        return self._vectors("word2vec", (7_895, 300), "word2vec-googlenews-300d", 2.927)

    @cached_property
    def bundled(self) -> Embedding:
        """The embedding that comes with Inkblur."""
        return load_embedding()

    @cached_property
    def sms(self) -> Corpus:
        """SMS Spam Collection; labels ham and spam."""
        self.digest("sms")
        corpus = corpora.sms_spam(self.folder)
        _same("SMS messages", _counts(corpus), {"ham": 4_827, "spam": 747})
        return corpus

    @cached_property
    def tweets(self) -> Corpus:
        """Disaster tweets; labels 0 and 1."""
        self.digest("tweets")
        corpus = corpora.disaster_tweets(self.folder)
        _same("tweets", _counts(corpus), {"0": 4_342, "1": 3_271})
        return corpus

    @cached_property
    def newsgroups(self) -> Split:
        """20 Newsgroups by date: whole postings."""
        self.digest("newsgroups")
        split = corpora.newsgroups(self.folder)
        _same("postings", (len(split.train), len(split.test)), (11_314, 7_532))
        return split

    @cached_property
    def syntf(self) -> Dataset:
        """20 Newsgroups as SynTF measures on it: bare postings, suspects numbered."""
        return syntf_dataset(self.newsgroups)

    @cached_property
    def c50(self) -> Split:
        """Reuters C50."""
        self.digest("c50")
        split = corpora.reuters_c50(self.folder)
        for part in (split.train, split.test):
            assert part.authors is not None
            _same("C50 texts an author", np.bincount(part.authors).tolist(), [50] * 50)
        return split

    def pan18(self, problem: int) -> Split:
        """PAN 2018, English problem 1 (20 authors) or 2 (5 authors)."""
        self.digest("pan18")
        split = corpora.pan18(problem, self.folder)
        expected = {1: (140, 105), 2: (35, 21)}
        _same(f"PAN 2018 texts, problem {problem}", (len(split.train), len(split.test)),
              expected[problem])  # fmt: skip
        return split

    def _vectors(self, key: str, shape: tuple[int, int], name: str, norm: float) -> Embedding:
        self.digest(key)
        table = load_embedding(self.folder / SOURCES[key].path, name=name)
        _same(f"{name} words and dimensions", (len(table), table.dimension), shape)
        mean = float(np.linalg.norm(table.vectors, axis=1).mean())
        _same(f"{name} mean norm", round(mean, 3), norm)
        return table

    def digest(self, key: str) -> str:
        """The checksum of its file, and that of the words where it has them, joined by "+".

        Compared once with the known ones; the files have to be there.
        """
        if key not in self._digests:
            source = SOURCES[key]
            found = [self._checked(source, path, stated) for path, stated in source.files]
            self._digests[key] = "+".join(found)
        return self._digests[key]

    def _checked(self, source: DatasetSource, path: str, stated: str) -> str:
        file = self.folder / path
        if not file.is_file():
            raise InputError(
                f"{path} is not in the data folder {self.folder}; the public original is at "
                f"{source.origin}" + f" (here: {source.packing})" * bool(source.packing)
            )
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != stated:
            self.notes.append(
                f"{path} has the checksum {digest[:16]}..., not {stated[:16]}...: "
                "the same counts in another packing, or other texts."
            )
        return digest

    def restricted_to(self, experiment: str, needs: Sequence[str]) -> Datasets:
        """The same datasets, of which an experiment gets those it needs and no others."""
        return cast(Datasets, _Restricted(self, experiment, needs))


class _Restricted:
    """A finished step is done again when a file among the needs has changed, and only then: what
    is read without being named there would leave old numbers standing.
    """

    def __init__(self, datasets: Datasets, experiment: str, needs: Sequence[str]) -> None:
        self._datasets, self._experiment, self._needs = datasets, experiment, frozenset(needs)

    def __getattr__(self, name: str) -> Any:
        key = "newsgroups" if name == "syntf" else name
        if key in SOURCES and key not in self._needs:
            raise RuntimeError(
                f"{self._experiment} reads {key}, which is not among its needs in the catalogue"
            )
        return getattr(self._datasets, name)


def _counts(corpus: Corpus) -> dict[str, int]:
    return dict(Counter(corpus.labels or ()))


def _same(what: str, found: object, stated: object) -> None:
    if found != stated:
        raise InputError(
            f"{what}: found {found}, its makers state {stated}; this is another collection, or a "
            "part of it"
        )


def collection_words(texts: Sequence[str]) -> list[str]:
    """The distinct words of a collection, in alphabetical order: runs of a-z, 0-9 and apostrophes.

    >>> collection_words(["It's 5 pm", "it's"])
    ['5', "it's", 'pm']
    """
    import re

    return sorted({word for text in texts for word in re.findall(r"[a-z0-9']+", text.lower())})
