"""A text as a point in meaning: the weighted mean of its words' vectors, in whole numbers.

Rare words count more: a word of frequency p has the weight a / (a + p), a = 1/1000 (Arora, Liang
and Ma, "A simple but tough-to-beat baseline for sentence embeddings", 2017). What all texts of a
pool have in common, their mean, is taken away.

A keyed release has to repeat on every machine, so nothing here depends on the order of additions:
vectors and weights are whole numbers, and so are their sums.

A sentence transformer (extra `encoder`, from a folder on this machine) may take the place of word
vectors: the mean of the last layer over a text's pieces of words, as models such as
all-MiniLM-L6-v2 were trained to be used. Its floats differ a little between machines and versions
of torch, and a release that is repeated elsewhere may see a text at another point. Draws are bound
to that point, so this costs nothing but the repetition: it is a second release, and the ledger
counts it as one.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import known_id
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError, needs
from inkblur.mechanisms.staircase.nearness import LONGEST, Grid, Nearness
from inkblur.types import NULL_ID, Ids, Vectors

MASKED = re.compile(r"\[(address|number|name)\]")  # what stands in place of an identifier
Whole = NDArray[np.int64]
TextPoints = NDArray[np.int16]  # (texts, dimension): whole numbers, no row longer than LONGEST

_RARE = 1000  # 1 / a
_HEAVIEST = 1024  # the weight of a word that never occurs
_BITS = 20  # of a coordinate before squares are taken
_KNOWN = 1 << 16  # words remembered
_BLOCK = 1 << 13  # texts, and words of a text, encoded at once
_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_PIECES = 256  # of words, at the beginning of a text
_FINE = 1 << 20  # 1 as a whole number
_LETTERS = re.compile(r"\w")


class WordEncoder:
    """Encodes texts by the words that an embedding knows.

    >>> from inkblur.embeddings.table import Embedding
    >>> table = Embedding(["cat", "dog"], [[1.0, 0.0], [0.0, 1.0]], name="toy")
    >>> WordEncoder(table).sums(["A cat, a cat and a dog.", "?"]).tolist()
    [[8384512, 4192256], [0, 0]]
    """

    exact = True  # every machine places a text alike, to the last bit

    def __init__(self, embedding: Embedding) -> None:
        if embedding.adaptations:  # they must not meet texts of their corpus, which nobody checks
            raise ParameterError("a pool is encoded with plain word vectors, not with adapted ones")
        self.embedding = embedding
        self._grid = Grid(embedding, Nearness.COSINE)
        counts = embedding.counts
        if counts is None:
            counts = np.zeros(len(embedding), dtype=np.int64)
        total = max(1, int(counts.sum()))
        weights = [_HEAVIEST * total // (total + _RARE * int(count)) for count in counts]
        self._weights = np.maximum(np.array(weights, dtype=np.float64), 1.0)  # whole, up to 1024
        self._ids: dict[str, int] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without the spellings it has met: words of true texts stay in memory."""
        return {**self.__dict__, "_ids": {}}

    @property
    def name(self) -> str:
        """What a pool was encoded with: rule and table."""
        return f"words 1 {self.embedding.sha256}"

    @property
    def dimension(self) -> int:
        """Of a point."""
        return self.embedding.dimension

    def words(self, text: str) -> Ids:
        """The known words of a text, by id; what was masked has no meaning."""
        tokens = tokenize(MASKED.sub(" ", text))
        found = [self._id(token.text) for token in tokens if token.kind is TokenClass.WORD]
        return np.array([word for word in found if word != NULL_ID], dtype=np.int64)

    def _id(self, word: str) -> int:
        found = self._ids.get(word)
        if found is None:
            found = known_id(self.embedding, word)
            if len(self._ids) < _KNOWN:
                self._ids[word] = found
        return found

    def sums(self, texts: Sequence[str]) -> Whole:
        """Weighted sums of the words' vectors, (texts, dimension); 0 where no word is known."""
        out = np.zeros((len(texts), self.embedding.dimension))
        points = self._grid.points
        for row, text in enumerate(texts):
            ids = self.words(text)
            for start in range(0, len(ids), _BLOCK):  # a long text has millions
                some = ids[start : start + _BLOCK]
                # Below 2^53 in size, whatever the order of additions: float64 is exact.
                out[row] += self._weights[some] @ points[some].astype(np.float64)
        return out.astype(np.int64)


class TransformerEncoder:
    """Encodes texts by the transformer in `folder`."""

    exact = False

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        missing = [name for name in _FILES if not (self.folder / name).is_file()]
        if missing:
            raise InputError(
                f"{folder} holds no sentence transformer: {', '.join(missing)} is missing; give "
                "the folder with config.json, tokenizer.json and model.safetensors"
            )

    @cached_property
    def name(self) -> str:
        """What a pool was encoded with: rule and files."""
        digest = hashlib.sha256()
        for name in _FILES:
            with (self.folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"transformer 1 {digest.hexdigest()}"

    @property
    def dimension(self) -> int:
        """Of a point."""
        return int(self._model.config.hidden_size)

    @cached_property
    def _model(self) -> Any:
        with needs("a sentence transformer needs transformers", "encoder"):
            import torch
            from transformers import AutoModel

        with self._read():
            model = AutoModel.from_pretrained(
                self.folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
        return model.eval()

    @contextmanager
    def _read(self) -> Iterator[None]:
        """What the libraries raise on a damaged file, in one line."""
        try:
            yield
        except Exception as error:  # tokenizers and safetensors have exceptions of their own
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"no sentence transformer can be read from {self.folder}: {reason}"
            ) from None

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with self._read():
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        positions = getattr(self._model.config, "max_position_embeddings", _PIECES)
        tokenizer.enable_truncation(min(_PIECES, positions))
        tokenizer.no_padding()  # it would count as words
        return tokenizer

    def sums(self, texts: Sequence[str]) -> Whole:
        """Directions as whole numbers, (texts, dimension); 0 for a text without a letter."""
        return np.rint(self.directions(texts).astype(np.float64) * _FINE).astype(np.int64)

    def directions(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, (texts, dimension); 0 for a text without a letter."""
        import torch

        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        with torch.inference_mode(), _one_thread():
            for row, text in enumerate(texts):
                whole = text.encode(errors="replace").decode()  # no lone surrogates
                plain = MASKED.sub(" ", whole)
                if not _LETTERS.search(plain):
                    continue
                pieces = torch.tensor([self._tokenizer.encode(plain).ids])
                last = self._model(pieces).last_hidden_state[0]
                out[row] = torch.nn.functional.normalize(last.mean(dim=0), dim=0).numpy()
        return out


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread while inside: the last bits of a sum depend on how many there are.

    Torch keeps the number for each thread that calls it, so it is set wherever texts are encoded.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


TextEncoder = WordEncoder | TransformerEncoder


def on_sphere(rows: Whole) -> Whole:
    """The directions of these rows, as whole numbers of one length; 0 stays 0.

    >>> on_sphere(np.array([[3, 4], [0, 0]])).tolist()
    [[2456, 3275], [0, 0]]
    """
    size = np.abs(rows).max(axis=1, initial=0)
    spare = np.maximum(0, np.frexp(size.astype(np.float64))[1] - _BITS)
    small = rows >> spare[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", small, small).astype(np.float64))[:, None]
    longest = LONGEST - 1 - math.isqrt(rows.shape[1])  # rounding adds at most that
    directions: Whole = np.rint(small * float(longest) / np.maximum(lengths, 1.0)).astype(np.int64)
    return directions


def directions(encoder: TextEncoder, texts: Sequence[str]) -> TextPoints:
    """The directions of these texts, (texts, dimension), a block at a time: 0 where none is known.

    They are to `points_of` what sums are, in a quarter of the memory.
    """
    out = np.zeros((len(texts), encoder.dimension), dtype=np.int16)
    for start in range(0, len(texts), _BLOCK):
        sums = encoder.sums(texts[start : start + _BLOCK])
        out[start : start + len(sums)] = on_sphere(sums)
    return out


def points_of(towards: Whole | TextPoints, center: Whole) -> TextPoints:
    """Where texts of these directions lie, seen from the center of their pool."""
    points = np.empty(towards.shape, dtype=np.int16)
    for start in range(0, len(towards), _BLOCK):
        part = slice(start, start + _BLOCK)
        points[part] = on_sphere(towards[part].astype(np.int64) - center)
    return points


def center_of(towards: Whole | TextPoints) -> Whole:
    """The mean of these directions, (dimension,)."""
    total: Whole = towards.sum(axis=0, dtype=np.int64)
    return total // max(len(towards), 1)
