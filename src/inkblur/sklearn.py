"""Releases as a scikit-learn transformer (extra `sklearn`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.errors import ParameterError, PrivacyError, needs
from inkblur.files.records import Batch
from inkblur.files.release import spec_files
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.own import prepare_own
from inkblur.release import Columns, Release, described_spec
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record, is_missing, names_rows

with needs("this needs scikit-learn", "sklearn"):
    from sklearn import get_config
    from sklearn.base import BaseEstimator, TransformerMixin

_OWN = ("strength", "spec", "privatizer", "key", "seed")  # parameters that describe no release


class _Hidden(bytes):
    """A key that is not printed: scikit-learn shows parameters in notebooks and logs."""

    def __repr__(self) -> str:
        return "<hidden>"


class _LeftOut:
    """Stands for the key in a pickle."""

    def __repr__(self) -> str:
        return "<left out of the pickle>"


class TextPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts in, released texts out; `fit` learns nothing from the data.

    The release is described as for :func:`inkblur.privatize`: by `strength` and the fields of
    :class:`inkblur.ReleaseSpec`, or by a `spec`; or by what draws (`privatizer`), such as an
    :class:`inkblur.Privatizer` on vectors in memory. `release="tf"` gives vectors, a row a text: it
    stands where a CountVectorizer would.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. The key is hidden where the
    transformer is printed and left out where it is pickled. A text's id is its position in `X`, so
    transform one set of texts only under one key: equal texts at one position come out alike. No
    ledger counts what is released, as a pipeline is fitted many times over.

    A list or a column of texts gives a list; a table of one column (a DataFrame, an array of shape
    (n, 1)) gives an array of that shape, as a ColumnTransformer needs it.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> own = inkblur.Privatizer(inkblur.make_mechanism("laplace", table, epsilon=0.3))
    >>> TextPrivatizer(privatizer=own, seed=1).fit_transform(["A dog."])
    ['dog cat dog cat cat dog cat dog']
    >>> len(TextPrivatizer("medium").fit_transform(["A dog was angry."])[0].split())
    8
    """

    def __init__(
        self,
        strength: str | None = None,
        *,
        spec: ReleaseSpec | None = None,
        privatizer: Any = None,
        key: bytes | None = None,
        seed: int | None = None,
        **described: Any,
    ) -> None:
        self.strength, self.spec, self.privatizer = strength, spec, privatizer
        self.key: bytes | _LeftOut | None = key
        self.seed, self.described = seed, described

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters, the key among them under a name that does not print it."""
        if isinstance(self.key, bytes | bytearray) and not isinstance(self.key, _Hidden):
            self.key = _Hidden(self.key)
        return {**{name: getattr(self, name) for name in _OWN}, **self.described}

    def set_params(self, **parameters: Any) -> Self:
        """Change what was given to the constructor, or give more of it."""
        for name, value in parameters.items():
            if name in _OWN:
                setattr(self, name, value)
            else:
                self.described = {**self.described, name: value}
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the key: a pickle may be kept, sent or shared."""
        state = dict(super().__getstate__())
        if state.get("key") is not None:
            state["key"] = _LeftOut()
        return state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        if hasattr(X, "tocsr"):
            raise ParameterError("give a list of texts, not a sparse matrix")
        self._release()
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        """The texts, replaced: a list, or an array of one column where `X` is a table; or their
        vectors, (texts, vocabulary).
        """
        texts, table = texts_of(X)
        release = self._release()
        vectors = isinstance(release.privatizer, SyntheticVectors)
        if not vectors:
            self._refuse_index(X)
        stream = release.stream(Columns(id="position"))
        drawn = stream.draw(stream.check(Batch(tuple(records_of(texts)))))
        released = drawn.texts(stream.charge(drawn))
        if self.privatizer is None:  # others of these settings in this process have the same
            release.privatizer.forget()
        if vectors:
            return release.privatizer.matrix(released)
        return np.array([[text] for text in released], dtype=object) if table else list(released)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text or row that `transform` gives."""
        promised = self._release().promised
        return promised.revealing(NOBODY_COUNTS) if promised.private else promised

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column, as it was given; of vectors, the vocabulary."""
        privatizer = self._release().privatizer
        if isinstance(privatizer, SyntheticVectors):
            return np.array(privatizer.mechanism.vocabulary, dtype=object)
        return np.array(["text"] if input_features is None else input_features, dtype=object)

    def _release(self) -> Release:
        """What draws; raises where a setting is wrong, or hides nothing."""
        if self.privatizer is not None:
            given = {"strength": self.strength, "spec": self.spec, **self.described}
            return prepare_own(self.privatizer, self._rng(), **given)
        spec = described_spec(self.spec, self.strength, self.described)
        made = _privatizer(spec.law, tuple(map(_state, spec_files(spec))))
        return prepare_own(made, self._rng(), accept_weak=spec.accept_weak)

    def _rng(self) -> Rng:
        if self.key is not None and self.seed is not None:
            raise ParameterError("give a key or a seed, not both")
        if isinstance(self.key, _LeftOut):
            raise ParameterError(
                "this transformer was unpickled, and a pickle holds no key: set_params(key=...) "
                "gives it one; worker processes (n_jobs) need a fresh key each, so give none there"
            )
        if self.key is not None:
            return keyed_rng(self.key)
        return secure_rng() if self.seed is None else seeded_rng(self.seed)

    def _refuse_index(self, given: Any) -> None:
        """Where scikit-learn makes a data frame of the texts, it copies the index of what was
        given.
        """
        own = getattr(self, "_sklearn_output_config", {})  # what set_output was told
        wanted = own.get("transform", get_config()["transform_output"])
        if wanted == "pandas" and names_rows(given):
            raise PrivacyError(
                "the index would be copied beside the texts: leave it out with "
                "`reset_index(drop=True)`"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.requires_fit = False
        tags.no_validation = True  # by fit, which does not look at the texts
        tags.transformer_tags.preserves_dtype = []
        tags.non_deterministic = self.key is None and self.seed is None
        return tags


@lru_cache(maxsize=4)
def _privatizer(law: ReleaseSpec, files: tuple[object, ...]) -> Any:
    """Made once, as long as its files stay what they were: a pipeline is fitted many times."""
    return law.privatizer()


def _state(path: str) -> tuple[int, ...]:
    """By which it is seen that a file was written again; what is missing says whoever reads it."""
    with suppress(OSError, ValueError):
        facts = Path(path).stat()
        return facts.st_ino, facts.st_mtime_ns, facts.st_size
    return ()


def texts_of(documents: Any) -> tuple[Sequence[Any], bool]:
    """The texts of a list, a column, or a table of one column; and whether it was a table.

    >>> texts_of(["a", "b"])
    (['a', 'b'], False)
    """
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise ParameterError(f"give a list of texts, not one {type(documents).__name__}")
    given: Any = documents
    shape: tuple[int, ...] = getattr(given, "shape", ())
    if len(shape) < 2:
        return list(documents), False
    if len(shape) > 2 or shape[1] != 1:
        raise ParameterError(
            f"expected one column of texts, got a table of shape {tuple(shape)}; choose a column, "
            "as in ColumnTransformer([('blur', transformer, ['text'])])"
        )
    if hasattr(given, "columns"):  # pandas, polars: iterating over a table gives its header
        return list(given[given.columns[0]]), True
    return [row[0] for row in given], True


def records_of(texts: Sequence[Any]) -> list[Record]:
    """Texts as records; a text's id is its position."""
    for position, text in enumerate(texts):
        if is_missing(text):
            raise ParameterError(f"text {position} is missing; leave such texts out, or fill in ''")
        if not isinstance(text, str):
            raise ParameterError(
                f"text {position} is of type {type(text).__name__}, expected a string"
            )
    return [Record(str(position), str(text)) for position, text in enumerate(texts)]
