"""Arrays as the experiments name them, and the id of a word that a table does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
NULL_ID = -1  # the null word's
