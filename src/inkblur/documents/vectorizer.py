"""Texts as term counts over a public vocabulary (SynTF, section 4.1.1)."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import folded
from inkblur.documents.fingerprints import ADAPTED, fingerprints
from inkblur.documents.policies import Treatment, is_name
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import written_words
from inkblur.documents.word_shares import Coverage
from inkblur.documents.wordnet import synonyms as wordnet_synonyms
from inkblur.embeddings.table import Embedding, Fingerprints
from inkblur.errors import ParameterError, needs
from inkblur.types import NULL_ID, Array, Ids, Morphology, Weighting, choose, counted, whole

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_REMEMBERED = 1 << 20  # spellings whose term is remembered
_UNKNOWN = NULL_ID - 1  # a content word without a term; stop words and names are NULL_ID


class Vectorizer:
    """Counts a text's terms over a vocabulary that is public.

    The vocabulary is made from `embedding` alone, or from a public `reference` corpus: its words
    that have a vector and occur at least `min_count` times. Both are brought to the morphology
    first; stop words, numbers and signs are left out. `synonyms=True` adds WordNet's synonyms
    that have a vector. `vectorizer.embedding` is the table of exactly these words: make the
    mechanism from it.

    What a text contributes besides (unknown words, names of people, numbers, stop words) is
    dropped; `names="blur"` lets names count like any word. That costs no
    privacy: this step only chooses what enters the mechanism, and the mechanism treats all inputs
    as adjacent (Lemma 3.2). What *would* leak is a vocabulary or idf made from the protected
    texts, so texts of the reference corpus are refused later (`PrivateCalibration`).

    >>> table = Embedding(["cat", "dogs", "the", "7"], [[1, 0], [0, 1], [1, 1], [2, 1]], name="toy")
    >>> vectorizer = Vectorizer(table, morphology="lower")
    >>> vectorizer.get_feature_names_out().tolist()
    ['cat', 'dogs']
    >>> vectorizer.transform(["The cat, the 7 Cats; DOGS!"]).toarray().tolist()
    [[1.0, 1.0]]
    """

    def __init__(
        self,
        embedding: Embedding,
        *,
        morphology: str | Morphology = Morphology.LOWER,
        weighting: str | Weighting = Weighting.TF,
        reference: Iterable[str] | None = None,
        min_count: int = 1,
        synonyms: bool = False,
        stop_words: Iterable[str] = STOP_WORDS,
        names: str | Treatment = Treatment.NULL,
    ) -> None:
        self.morphology = choose(Morphology, morphology, "morphology")
        self.weighting = choose(Weighting, weighting, "weighting")
        self.names = choose(Treatment, names, "names")
        if self.names not in (Treatment.NULL, Treatment.BLUR):
            raise ParameterError(
                f"names cannot be {self.names.value} in a tf release; choose null (they do not "
                "count) or blur (they count like any word)"
            )
        whole(min_count, "min_count")
        if self.weighting is Weighting.TFIDF and reference is None:
            raise ParameterError(
                "tf-idf needs a public reference corpus: the protected texts' own frequencies "
                "would leak; give `reference=` or choose tf"
            )
        self._stop_words = frozenset(stop_words)
        self._terms: dict[str, int] = {}
        self._reference = fingerprints([])
        self._idf: Array | None = None
        if reference is None:
            chosen = {self._term(word) for word in embedding.words if self._is_term(word)}
            origin = f"{embedding.name}'s own words"
            documents = None
        else:
            if isinstance(reference, str):
                raise ParameterError("the reference corpus is a list of texts, not one text")
            corpus = list(reference)
            self._reference = fingerprints(corpus)
            documents = [self._written(text, embedding) for text in corpus]
            counts = Counter(term for terms in documents for term in terms)
            chosen = {term for term, count in counts.items() if count >= min_count}
            origin = f"a reference corpus of {counted(len(documents), 'text')}"
        if synonyms:
            chosen |= {word for word in wordnet_synonyms(chosen) if self._is_term(word)}
            origin += " and WordNet synonyms"
        self.embedding = embedding.restricted(chosen, origin=f"{origin}, {self.morphology.value}")
        self._terms.clear()  # ids so far belong to the wider table
        if self.weighting is Weighting.TFIDF and documents is not None:
            self._idf = self._inverse_frequencies(documents)

    def __getstate__(self) -> dict[str, Any]:
        """Without the spellings it has met: words of true texts stay in memory."""
        return {**self.__dict__, "_terms": {}}

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Itself: it never changes, and scikit-learn's `clone` copies parameters."""
        return self

    @property
    def spec(self) -> str:
        """Everything the counts depend on besides the text: part of what binds random streams."""
        idf = "" if self._idf is None else hashlib.sha256(self._idf.tobytes()).hexdigest()
        stop = hashlib.sha256("\n".join(sorted(self._stop_words)).encode()).hexdigest()
        return (
            f"{self.weighting.value} {self.morphology.value} names={self.names.value} "
            f"stop_words={stop} idf={idf} "
            f"vocabulary={self.embedding.sha256}"
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The vocabulary, in the order of the columns."""
        return np.array(self.embedding.words, dtype=object)

    def transform(self, texts: Iterable[str]) -> csr_matrix:
        """The *true* counts or tf-idf weights, (texts, vocabulary): not private."""
        from scipy.sparse import csr_matrix

        if isinstance(texts, str):
            raise ParameterError("give a list of texts, not one text")
        # Both begin empty: there may be no text at all.
        ids, weights, ends = [np.empty(0, dtype=np.int64)], [np.empty(0)], [0]
        for text in texts:
            terms, values, _ = self._read(text)
            ids.append(terms)
            weights.append(values)
            ends.append(ends[-1] + len(terms))
        return csr_matrix(
            (np.concatenate(weights), np.concatenate(ids), ends),
            shape=(len(ends) - 1, len(self.embedding)),
        )

    def composition(self, text: str) -> tuple[Ids, Array]:
        """The text as a distribution over words: theta = t / |t|, (ids, probabilities).

        A text without any known term is a point mass on the null word: it enters the mechanism like
        every other and gives as many terms.
        """
        ids, shares, _ = self.read(text)
        return ids, shares

    def read(self, text: str) -> tuple[Ids, Array, Coverage]:
        """The :meth:`composition`, and how many of the text's content words the vocabulary has."""
        ids, weights, coverage = self._read(text)
        if len(ids) == 0:
            return np.array([NULL_ID]), np.ones(1), coverage
        return ids, weights / weights.sum(), coverage

    def _read(self, text: str) -> tuple[Ids, Array, Coverage]:
        """The distinct terms of a text, rising, and their weights; both empty where it has none."""
        found = Counter(self._ids(text))
        found.pop(NULL_ID, None)
        unknown = found.pop(_UNKNOWN, 0)
        ids = np.array(sorted(found), dtype=np.int64)
        counts = np.array([found[i] for i in ids.tolist()], dtype=np.float64)
        coverage = Coverage(known=int(counts.sum()), unknown=unknown)
        return ids, counts if self._idf is None else counts * self._idf[ids], coverage

    @property
    def corpora(self) -> tuple[tuple[Fingerprints, str], ...]:
        """Fingerprints of the public texts, and what was learned from them."""
        vocabulary = (self._reference, "the vocabulary was made from")
        return vocabulary, (self.embedding.corpus, ADAPTED)

    def _ids(self, text: str) -> list[int]:
        known = self._terms
        out = []
        for word in written_words(text):
            found = known.get(word)
            if found is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                found = known[word] = self._input_id(word)
            out.append(found)
        return out

    def _input_id(self, written: str) -> int:
        """The id of a written word's term in a text to protect, where names may not count."""
        low = folded(written)
        found = self._id(written, self.embedding)
        # What enters decides too: in "Anna'll" that is the word without its clitic.
        entering = low if found == NULL_ID else folded(self.embedding.words[found])
        named = is_name(low) or is_name(entering)
        if self.names is Treatment.NULL and named:
            return NULL_ID
        content = not named and low not in self._stop_words
        return _UNKNOWN if found == NULL_ID and content else found

    def _id(self, written: str, embedding: Embedding) -> int:
        """The id of a written word's term; a clitic ('s) is taken off where that helps."""
        if folded(written) in self._stop_words:
            return NULL_ID
        for form in (written, written.replace("’", "'").split("'")[0]):
            term = self._term(form)
            if term not in self._stop_words:
                found = embedding.id(term)
                if found != NULL_ID:
                    return found
        return NULL_ID

    def _term(self, written: str) -> str:
        if self.morphology is Morphology.AS_IS:
            return written
        low = folded(written)
        return lemma(low) if self.morphology is Morphology.LEMMA else low

    def _is_term(self, word: str) -> bool:
        """Whether a vocabulary entry is one word that a text could contribute, and no stop word."""
        return (
            written_words(word) == [word]
            and folded(word) not in self._stop_words
            and self._term(word) not in self._stop_words
        )

    def _written(self, text: str, embedding: Embedding) -> list[str]:
        """The terms of a reference text, as words of the wide table."""
        ids = (self._id(word, embedding) for word in written_words(text))
        return [embedding.words[i] for i in ids if i != NULL_ID]

    def _inverse_frequencies(self, documents: Sequence[Sequence[str]]) -> Array:
        counts = Counter(term for terms in documents for term in set(terms))
        total = len(documents)
        return np.array(
            [math.log((1 + total) / (1 + counts[word])) + 1 for word in self.embedding.words]
        )


@lru_cache(maxsize=1 << 18)
def lemma(word: str) -> str:
    """The dictionary form of an English word in lower case (went: go); an unknown word stays.

    The dictionary is that of simplemma (extra `lemma`), so it is public.
    """
    with needs("lemmas need simplemma", "lemma", "choose morphology lower"):
        import simplemma
    return str(simplemma.lemmatize(word, lang="en")).lower()
