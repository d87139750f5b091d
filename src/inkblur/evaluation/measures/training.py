"""What scikit-learn's estimators need of us: narrow tables, and classes that look like classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def narrow(table: Any) -> Any:
    """A sparse table with 32-bit places, because liblinear takes no others."""
    table.indices = table.indices.astype(np.int32)
    table.indptr = table.indptr.astype(np.int32)
    return table


def trained(model: Any, rows: Any, classes: Any) -> Any:
    """The model after `fit`, without a warning that so many classes look like a regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        return model.fit(rows, classes)
