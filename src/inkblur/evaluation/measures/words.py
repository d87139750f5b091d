"""The words of a text, as classifiers count them and as word vectors know them."""

from __future__ import annotations

import numpy as np

from inkblur.documents.analysis import folded, known_id
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import TokenClass, by_pieces, tokenize, written_words
from inkblur.embeddings.table import Embedding
from inkblur.types import NULL_ID, Ids


@by_pieces
def words_of(text: str) -> list[str]:
    """The words and numbers of a text, folded: what a classifier sees.

    >>> words_of("Don't pay $5, KIM!")
    ["don't", 'pay', '5', 'kim']
    """
    wanted = (TokenClass.WORD, TokenClass.NUMBER)
    return [folded(token.text) for token in tokenize(text) if token.kind in wanted]


def content_words(text: str) -> list[str]:
    """The words of a text that are no function words, folded.

    >>> content_words("The cat sat on 3 mats.")
    ['cat', 'sat', 'mats']
    """
    words = map(folded, written_words(text))
    return [word for word in words if word not in STOP_WORDS]


def known_ids(text: str, embedding: Embedding, *, stop_words: bool) -> Ids:
    """The ids of the words that the vocabulary knows, in order; with function words or without.

    >>> table = Embedding(["the", "cat"], [[0.0], [1.0]], name="toy")
    >>> known_ids("The cat sat.", table, stop_words=False).tolist()
    [1]
    """
    words = written_words(text)
    kept = words if stop_words else (word for word in words if folded(word) not in STOP_WORDS)
    ids = (known_id(embedding, word) for word in kept)
    return np.array([word for word in ids if word != NULL_ID], np.int64)
