"""A radius for "l-privacy within radius r": one that holds given public documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from inkblur.documents.privatizer import Privatizer
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.types import ReleaseKind, whole


def radius_covering(references: Sequence[str], mechanism: WordMechanism, *, length: int) -> float:
    """The largest distance between two of these *public* documents, as bags of `length` words.

    The distance is N times Earth Mover's over the mechanism's own metric, which is what the bag's
    guarantee multiplies epsilon by. With r this radius and epsilon = l / r, any two documents as
    close as these are l-private (thesis, sections 4.1.3 and 4.4). Never choose r from the text
    being protected.
    """
    whole(length, "length")
    if len(references) < 2:
        raise ParameterError("a radius needs at least two reference documents")
    reader = Privatizer(mechanism, release=ReleaseKind.BAG, length=length)
    bags = [reader.ids(text) for text in references]
    largest = 0.0
    for left, right in combinations(bags, 2):
        cost = mechanism.pairwise(left, right)
        if not np.isfinite(cost).all():
            raise ParameterError(f"{mechanism.name} has no metric, so there is no radius to choose")
        rows, columns = linear_sum_assignment(cost)
        largest = max(largest, float(cost[rows, columns].sum()))
    return largest
