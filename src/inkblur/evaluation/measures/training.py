"""Fitting scikit-learn's estimators on classes that may have one example each."""

from __future__ import annotations

import warnings
from typing import Any


def trained(model: Any, rows: Any, classes: Any) -> Any:
    """The model after `fit`, without scikit-learn's remark that so many classes look like numbers:
    authors with one text each are none.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        return model.fit(rows, classes)
