"""Reverse vectorization (SynTF, figure 2c): a term-frequency vector written out as text.

Each word stands as often as its count says, in the order of the vocabulary. What the order and the
signs of a text would tell stays lost; what spelling tells is back, and a text attack can read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from inkblur.errors import ParameterError


def reverse_vectorized(vectors: Any, vocabulary: Sequence[str]) -> list[str]:
    """One text per row of `vectors`, (documents, vocabulary), dense or sparse, of whole counts.

    >>> reverse_vectorized([[2, 0, 1], [0, 0, 0]], ["cat", "dog", "sky"])
    ['cat cat sky', '']
    """
    table = csr_array(vectors)
    if table.ndim != 2 or table.shape[1] != len(vocabulary):
        raise ParameterError(
            f"vectors of shape {table.shape} do not fit a vocabulary of {len(vocabulary)} words"
        )
    table.sort_indices()
    times = table.data.astype(np.int64)
    if (times != table.data).any() or (times < 0).any():
        raise ParameterError("counts must be whole numbers that are not negative")
    texts = []
    for row in range(table.shape[0]):
        span = slice(table.indptr[row], table.indptr[row + 1])
        repeated = np.repeat(table.indices[span], times[span])
        texts.append(" ".join(vocabulary[word] for word in repeated.tolist()))
    return texts
