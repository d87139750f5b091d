"""Releases as scikit-learn transformers (extra `sklearn`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.base import AnyPrivatizer
from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.errors import ParameterError, PrivacyError, needs
from inkblur.files.records import Batch
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.mechanisms.base import DiscreteMechanism, WordMechanism
from inkblur.pools.mechanism import PoolPrivatizer, PoolStaircase
from inkblur.release import Columns, Release
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
from inkblur.types import Record, is_missing, names_rows

with needs("this needs scikit-learn", "sklearn"):
    from sklearn import get_config
    from sklearn.base import BaseEstimator, TransformerMixin

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class _Hidden(bytes):
    """A key that is not printed: scikit-learn shows parameters in notebooks and logs."""

    def __repr__(self) -> str:
        return "<hidden>"


class _LeftOut:
    """Stands for the key in a pickle."""

    def __repr__(self) -> str:
        return "<left out of the pickle>"


class KeyedTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that learns nothing; `key`, `seed` or neither decides its randomness.

    The key is hidden where the transformer is printed and left out where it is pickled: a copy made
    by unpickling must be given its key again.
    """

    key: bytes | _LeftOut | None
    seed: int | None
    accept_weak: bool = True  # a pool copies none of a text's words: nothing to accept

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters, the key among them under a name that does not print it."""
        parameters: dict[str, Any] = super().get_params(deep)
        if isinstance(self.key, bytes | bytearray) and not isinstance(self.key, _Hidden):
            parameters["key"] = _Hidden(self.key)
        return parameters

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the key: a pickle may be kept, sent or shared."""
        state = dict(super().__getstate__())
        if state.get("key") is not None:
            state["key"] = _LeftOut()
        return state

    @abstractmethod
    def _releaser(self) -> AnyPrivatizer:
        """What does the work, made from the parameters: wrong ones raise here."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        if hasattr(X, "tocsr"):
            raise ParameterError("give a list of texts, not a sparse matrix")
        self._checked()
        return self

    def _checked(self) -> Any:
        """What does the work; raises where the setting hides nothing and nobody accepted that."""
        made = self._releaser()
        made.refuse_weak(accept_weak=self.accept_weak)
        return made

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text or row that `transform` gives. No ledger counts them, as
        a pipeline is fitted many times over.
        """
        promised = self._releaser().guaranteed(self._rng())
        return promised.revealing(NOBODY_COUNTS) if promised.private else promised

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


class KeyedTextTransformer(KeyedTransformer):
    """A transformer that gives a text for a text."""

    def transform(self, X: Any) -> list[str] | NDArray[np.object_]:  # noqa: N803 (scikit-learn's)
        """The texts, replaced: a list, or an array of one column where `X` is a table."""
        texts, table = texts_of(X)
        self._refuse_index(X)
        stream = Release(self._checked(), self._rng()).stream(Columns(id="position"))
        drawn = stream.draw(stream.check(Batch(tuple(records_of(texts)))))
        released = drawn.texts(stream.charge(drawn))
        return np.array([[text] for text in released], dtype=object) if table else list(released)

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

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column, as it was given."""
        return np.array(["text"] if input_features is None else input_features, dtype=object)


@dataclass(eq=False, repr=False)
class TextPrivatizer(KeyedTextTransformer):
    """Texts in, blurred texts out; `fit` learns nothing from the data.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. A text's id is its position in `X`,
    so transform one set of texts only under one key: equal texts at one position come out alike.

    A list or a column of texts gives a list; a table of one column (a DataFrame, an array of shape
    (n, 1)) gives an array of that shape, as a ColumnTransformer needs it. A setting at which more
    than 95 % of the words would stay is refused unless `accept_weak` is True.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> blur = TextPrivatizer(inkblur.Laplace(table, epsilon=0.3), seed=1)
    >>> blur.fit_transform(["A dog."])
    ['cat cat']
    """

    mechanism: WordMechanism
    release: str = "sequence"
    _: KW_ONLY
    policies: TokenPolicies | None = None
    length: int | None = None
    key: bytes | None = None
    seed: int | None = None
    accept_weak: bool = False

    def _releaser(self) -> Privatizer:
        return Privatizer(
            self.mechanism,
            release=self.release,
            policies=self.policies,
            length=self.length,
        )


@dataclass(eq=False, repr=False)
class PoolTextPrivatizer(KeyedTextTransformer):
    """Texts in, texts of a public pool out; `fit` learns nothing from the data.

    `key`, `seed` and the ids of texts are as in :class:`TextPrivatizer`.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog", "sky"], [[1, 0], [1, 1], [-1, 0]], name="toy")
    >>> texts = [f"{a} {b} {c}" for a in table.words for b in table.words for c in table.words]
    >>> pool = inkblur.build_pool(texts, table, name="toy")
    >>> blur = PoolTextPrivatizer(inkblur.PoolStaircase(pool, table, epsilon=6.0), seed=1)
    >>> blur.fit_transform(["A cat and a cat."])[0] in texts
    True
    """

    mechanism: PoolStaircase
    _: KW_ONLY
    key: bytes | None = None
    seed: int | None = None

    def _releaser(self) -> PoolPrivatizer:
        return PoolPrivatizer(self.mechanism)


@dataclass(eq=False, repr=False)
class VectorPrivatizer(KeyedTransformer):
    """Texts in, synthetic term-frequency vectors out; `fit` learns nothing from the data.

    It stands where a CountVectorizer would: `make_pipeline(VectorPrivatizer(...),
    MultinomialNB())`. `key`, `seed`, `accept_weak` and the ids of texts are as in
    :class:`TextPrivatizer`.

    >>> import inkblur
    >>> words, vectors = ["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]]
    >>> vectorizer = Vectorizer(inkblur.Embedding(words, vectors, name="toy"))
    >>> mechanism = inkblur.Exponential(vectorizer.embedding, epsilon=8.0)
    >>> blur = VectorPrivatizer(mechanism, vectorizer, length=9, seed=1)
    >>> blur.fit_transform(["A cat.", "The sky!"]).shape
    (2, 3)
    """

    mechanism: DiscreteMechanism
    vectorizer: Vectorizer
    _: KW_ONLY
    length: int
    key: bytes | None = None
    seed: int | None = None
    accept_weak: bool = False

    def transform(self, X: Any) -> csr_matrix:  # noqa: N803 (scikit-learn's name)
        """A synthetic vector for each text, (texts, vocabulary)."""
        records, made = records_of(texts_of(X)[0]), self._checked()
        vectors: csr_matrix = made.vectors(records, self._rng()).vectors
        return vectors

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The vocabulary, in the order of the columns."""
        return self.vectorizer.get_feature_names_out()

    def _releaser(self) -> SyntheticVectors:
        return SyntheticVectors(self.mechanism, self.vectorizer, self.length)


def texts_of(documents: Any) -> tuple[Sequence[Any], bool]:
    """The texts of a list, a column, or a table of one column; and whether it was a table.

    >>> texts_of(["a", "b"])
    (['a', 'b'], False)
    """
    if isinstance(documents, str):
        raise ParameterError("give a list of texts, not one text")
    if not isinstance(documents, Iterable):
        raise ParameterError(f"give a list of texts, not {type(documents).__name__}")
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
        if not isinstance(text, str):
            if is_missing(text):
                raise ParameterError(
                    f"text {position} is missing; leave such texts out, or fill in ''"
                )
            raise ParameterError(
                f"text {position} is of type {type(text).__name__}, expected a string"
            )
    return [Record(str(position), str(text)) for position, text in enumerate(texts)]
