"""The embedding: an immutable table of words and vectors; what an adapted one says of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import EmbeddingError
from inkblur.types import NULL_ID, Array, Ids, Vectors, counted

_BLOCK = 1 << 16
_LABELS = 20  # of a column, named to a person
_MOST_UNITS = 2.0**62  # sums of counts stay exact in 64 bits
Fingerprints = NDArray[np.uint64]
PublicCounts = NDArray[np.int64]  # public units a word, each >= 1, in the order of the vocabulary


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One column of labels that profiles were learned from."""

    name: str
    counts: Mapping[str, int]  # texts of each label
    dimensions: int  # coordinates that the profile takes
    reduction: str  # how the profile came to have so many


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How vectors were adapted to labels: `[alpha x vector ; beta x profile]`."""

    base: str
    base_sha256: str
    corpus_sha256: str  # of the texts that taught something and their labels, in order
    documents: int  # texts that taught something
    skipped: int  # texts without a label or without a known word: they taught nothing
    words: int  # of the vocabulary that the corpus has; the others have profile zero
    columns: tuple[LabelColumn, ...]
    alpha: float
    beta: float
    smoothing: float

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        return {**asdict(self), "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Adaptation:
        """What :meth:`to_json` wrote."""
        columns = tuple(LabelColumn(**column) for column in body["columns"])
        return cls(**{**body, "columns": columns})

    @property
    def reveals(self) -> str:
        """The adapted metric and what it blurs less on purpose, as a line of the guarantee."""
        profiles = " and ".join(
            f"profile of {len(column.counts):,} labels {column.name!r}" for column in self.columns
        )
        about = " and ".join(repr(column.name) for column in self.columns)
        return (
            f"words have adapted vectors, [{self.alpha:.3g} x word vector of {self.base} ; "
            f"{self.beta:g} x {profiles}], with profiles learned from {self._corpus}: on purpose, "
            f"what a word says about {about} is blurred less than the rest, and so is whatever "
            "goes with it"
        )

    def lines(self) -> list[str]:
        """All of it, for a person."""
        lines = [
            f"base: {self.base}, sha256 {self.base_sha256}",
            f"corpus: {counted(self.documents, 'text')} ({self.skipped:,} more without a label or "
            f"a known word), sha256 {self.corpus_sha256}",
            f"metric: alpha {self.alpha:.3g}, beta {self.beta:g}, smoothing {self.smoothing:g}; "
            f"{counted(self.words, 'word has', 'words have')} a profile, the others zero",
        ]
        for column in self.columns:
            most = sorted(column.counts.items(), key=lambda item: (-item[1], item[0]))
            shown = ", ".join(f"{label} {count:,}" for label, count in most[:_LABELS])
            more = f" and {len(most) - _LABELS:,} more" if len(most) > _LABELS else ""
            lines.append(f"column: {column.name}, {len(most):,} labels ({shown}{more})")
            lines.append(f"reduction: {column.reduction}")
        return lines

    @property
    def assumption(self) -> str:
        """What the promise rests on besides."""
        return f"{self._corpus} is public, as its owner declared, and holds no protected text"

    @property
    def _corpus(self) -> str:
        return f"the public corpus {self.corpus_sha256[:12]} of {counted(self.documents, 'text')}"


class Embedding:
    """Public word vectors: `words[i]` has the vector `vectors[i]`.

    Immutable: the arrays refuse writing, and every operation gives a new table. The order of the
    words is part of the table, because ties between equally near words go to the first.

    >>> table = Embedding(["cat", "dog"], [[1.0, 0.0], [0.0, 1.0]], name="toy")
    >>> table.ids(["dog", "unicorn"]).tolist()
    [1, -1]
    """

    words: tuple[str, ...]
    vectors: Vectors  # (words, dimension), read-only
    name: str
    provenance: dict[str, Any]
    # Fingerprints of the public texts that the vectors were adapted on, sorted, each once: a text
    # among them may not be protected with this table. Empty for a table as it was read.
    corpus: Fingerprints
    counts: PublicCounts | None  # how common each word is in public text; None: nobody said

    def __init__(
        self,
        words: Sequence[str],
        vectors: Any,
        *,
        name: str,
        provenance: Mapping[str, Any] | None = None,
        corpus: Fingerprints | None = None,
        counts: Any = None,
    ) -> None:
        """Check the table and keep a copy of it; `corpus` and `counts`: see the attributes."""
        try:
            if np.iscomplexobj(vectors):
                raise ValueError
            with np.errstate(over="ignore"):  # too large for float32: refused below, by its word
                # A copy, whatever was given: the caller's array or tensor may change later.
                array = np.array(vectors, dtype=np.float32, order="C")
        except (TypeError, ValueError):
            raise EmbeddingError(
                f"{name}: vectors must be rows of real numbers, equally many in each"
            ) from None
        words = tuple(words)
        if array.ndim != 2 or array.shape[0] != len(words):
            raise EmbeddingError(
                f"{name}: {len(words)} words need a table of {len(words)} rows, "
                f"got an array of shape {array.shape}"
            )
        if len(words) < 2 or array.shape[1] < 1:
            raise EmbeddingError(
                f"{name}: an embedding needs at least 2 words and 1 dimension, got "
                f"{len(words)} x {array.shape[1]} (with one word there is nothing to choose from)"
            )
        parts = Embedding.checked_before(
            words, array, name, provenance or {}, corpus=corpus, counts=counts
        )
        self.__dict__.update(parts.__dict__)
        check_content(self)

    @classmethod
    def checked_before(
        cls,
        words: tuple[str, ...],
        vectors: Vectors,
        name: str,
        provenance: Mapping[str, Any],
        *,
        sha256: str | None = None,
        corpus: Fingerprints | None = None,
        counts: Any = None,
    ) -> Embedding:
        """A table of words and vectors that were checked: a pass over all of them takes long."""
        table = cls.__new__(cls)
        table.words, table.vectors, table.name = words, vectors, name
        table.vectors.flags.writeable = False
        table.provenance = dict(provenance)
        table.corpus = np.unique(np.asarray([] if corpus is None else corpus, dtype=np.uint64))
        table.corpus.flags.writeable = False
        table.counts = None
        if counts is not None:
            given = np.asarray(counts)
            if given.shape != (len(words),) or given.dtype.kind not in "iu":
                raise EmbeddingError(
                    f"{name}: {len(words)} words need {len(words)} whole numbers as counts, got an "
                    f"array of {given.dtype} of shape {given.shape}"
                )
            if (given < 1).any() or float(given.sum(dtype=np.float64)) >= _MOST_UNITS:
                raise EmbeddingError(f"{name}: counts start at 1 and add up to less than 2^62")
            table.counts = given.astype(np.int64)
            table.counts.flags.writeable = False
        if sha256 is not None:
            table.__dict__["sha256"] = sha256
        return table

    def _with(self, **changes: Any) -> Embedding:
        """The same table but for these parts, named as in :meth:`checked_before`."""
        parts = ("words", "vectors", "name", "provenance", "corpus", "counts")
        return Embedding.checked_before(
            **{**{part: getattr(self, part) for part in parts}, **changes}
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy of the table refuses writing too: NumPy's pickles forget that."""
        self.__dict__.update(state)
        for part in state.values():
            if isinstance(part, np.ndarray):
                part.setflags(write=False)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __repr__(self) -> str:
        return f"Embedding({self.name!r}, {len(self):,} words x {self.dimension})"

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    @property
    def adaptations(self) -> tuple[Adaptation, ...]:
        """How the vectors were adapted to labels, first to last; none for most tables."""
        return tuple(Adaptation.from_json(body) for body in self.provenance.get("adapted", ()))

    def unguarded(self) -> Embedding:
        """An adapted table that forgot its corpus, for measuring on that corpus itself.

        An attacker or analyst may hold texts of the corpus, blurred; to measure them, these must
        be blurred too. A mechanism over the result promises nothing, nor over a table that is made
        from it: the provenance says that a corpus was forgotten.
        """
        if not self.provenance.get("adapted"):
            return self  # there is nothing to forget
        return self._with(provenance={**self.provenance, "unguarded": True}, corpus=None)

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))  # the fastest way

    def id(self, word: str) -> int:
        """The word's position, or NULL_ID where it is unknown."""
        return self._index.get(word, NULL_ID)

    def ids(self, words: Iterable[str]) -> Ids:
        """Positions of many words; NULL_ID where unknown."""
        index = self._index
        return np.fromiter((index.get(word, NULL_ID) for word in words), dtype=np.int64)

    @cached_property
    def null_vector(self) -> Array:
        """Where the null word lies: the mean of the vocabulary, a fixed public point."""
        mean: Array = self.vectors.mean(axis=0, dtype=np.float64)
        mean.flags.writeable = False
        return mean

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the public vectors, scaled to trace n, (n, n) in float64.

        The scaling makes elliptical noise as large as spherical noise (Mahalanobis paper, section
        3).
        """
        total = np.zeros((self.dimension, self.dimension))
        for start in range(0, len(self), _BLOCK):
            centered = self.vectors[start : start + _BLOCK] - self.null_vector
            total += centered.T @ centered
        trace = float(np.trace(total))
        if trace <= 0:
            raise EmbeddingError(f"{self.name}: all vectors are equal, so they have no covariance")
        scaled: Array = total * (self.dimension / trace)
        scaled.flags.writeable = False
        return scaled

    def centers(self, ids: Ids) -> Array:
        """float64 vectors of these ids; the null word stands at :attr:`null_vector`."""
        rows = self.vectors[np.maximum(ids, 0)].astype(np.float64)
        rows[ids == NULL_ID] = self.null_vector
        return rows

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of the content: words, float32 vectors, counts, adaptation and its corpus.

        The first line says which parts follow and how long they are, so that no two tables give
        the same bytes.
        """
        stated = [self.provenance.get(key) for key in ("adapted", "unguarded")]
        adapted = json.dumps(stated, sort_keys=True).encode()
        is_adapted = "adapted" in self.provenance or bool(self.corpus.size)
        text = "\n".join(self.words)
        split = text.count("\n") >= len(self)  # a word has a line end: say where words end
        parts = [f"{len(self)} {self.dimension}"]
        parts += ["lengths"] if split else []
        parts += ["counts"] if self.counts is not None else []
        parts += [f"adapted {len(adapted)} {len(self.corpus)}"] if is_adapted else []
        digest = hashlib.sha256(" ".join(parts).encode() + b"\n")
        if split:
            digest.update(np.array([len(word) for word in self.words], dtype="<i8").data)
        digest.update(text.encode("utf-8", "surrogatepass"))
        for start in range(0, len(self), _BLOCK):
            block = self.vectors[start : start + _BLOCK]
            digest.update(np.ascontiguousarray(block, dtype="<f4").data)
        if self.counts is not None:
            digest.update(self.counts.astype("<i8").data)
        if is_adapted:
            digest.update(adapted + self.corpus.astype("<u8").tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """Size, fingerprint and Euclidean lengths of the vectors, in bounded memory."""
        starts = range(0, len(self), _BLOCK)
        blocks = (self.vectors[start : start + _BLOCK].astype(np.float64) for start in starts)
        norms = np.concatenate([np.linalg.norm(block, axis=1) for block in blocks])
        return {
            "name": self.name,
            "words": len(self),
            "dimension": self.dimension,
            "sha256": self.sha256,
            "norm_mean": float(norms.mean()),
            "norm_sd": float(norms.std()),
            "provenance": self.provenance,
        }

    def verify(self) -> None:
        """Compute the fingerprint afresh; an error where it is not the stored one."""
        fresh = self._with().sha256
        if fresh != self.sha256:
            raise EmbeddingError(
                f"{self.name} is damaged: its content has the fingerprint {fresh}, "
                f"but {self.sha256} was stored with it; import it again"
            )

    def first(self, count: int) -> Embedding:
        """Its first so many words: the commonest, where a table is in order of frequency.

        >>> Embedding(["the", "of", "cat"], [[0.0], [1.0], [2.0]], name="toy").first(2).words
        ('the', 'of')
        """
        return self.restricted(self.words[:count], origin=f"its first {count:,} words")

    def restricted(self, words: Iterable[str], *, origin: str) -> Embedding:
        """Only these words (a public list), in this table's order; `origin` goes to provenance."""
        wanted = set(words)
        rows = [i for i, word in enumerate(self.words) if word in wanted]
        if len(rows) < 2:
            raise EmbeddingError(
                f"only {len(rows)} of the {counted(len(wanted), 'word')} in {origin} are in "
                f"{self.name}; at least 2 are needed (is the list in the same case?)"
            )
        return self._with(
            words=tuple(self.words[i] for i in rows),
            vectors=self.vectors[rows],
            provenance={**self.provenance, "vocabulary": origin},
            counts=None if self.counts is None else self.counts[rows],
        )


def check_content(table: Embedding) -> None:
    """An error where a vector is not finite, or a word is no string or stands twice: one pass over
    the table.
    """
    for row, word in enumerate(table.words):
        if not isinstance(word, str):
            raise EmbeddingError(
                f"{table.name}: word {row} is of type {type(word).__name__}, expected a string"
            )
    for start in range(0, len(table), _BLOCK):
        finite = np.isfinite(table.vectors[start : start + _BLOCK]).all(axis=1)
        if not finite.all():
            row = start + int(np.flatnonzero(~finite)[0])
            raise EmbeddingError(
                f"{table.name}: the vector of {table.words[row]!r} (row {row}) is not finite"
            )
    if len(set(table.words)) != len(table):
        seen: set[str] = set()
        twice = next(w for w in table.words if w in seen or seen.add(w))  # type: ignore[func-returns-value]
        raise EmbeddingError(f"{table.name}: the word {twice!r} appears twice in the table")
