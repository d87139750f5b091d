"""Arrow arrays that hold their own values and nothing else.

A slice shares the memory of the whole array, and a null may cover a value that was there before.
Nobody sees either in the rows; but whoever is sent the array in Arrow's own format, or a pickle of
it, is sent that memory.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa


def own_values(array: pa.Array[Any]) -> pa.Array[Any]:
    """The same values in memory of their own, with nothing below a null.

    >>> shared = pa.array(["shown", "left out"]).slice(0, 1)
    >>> b"left out" in shared.buffers()[2].to_pybytes()
    True
    >>> b"left out" in own_values(shared).buffers()[2].to_pybytes()
    False
    """
    missing = array.is_null()
    # A null in place of a row's number leaves the room for its value empty.
    covered = missing.to_numpy(zero_copy_only=False)
    rows: Any = pa.array(np.arange(len(array)), mask=covered)
    own: Any = array.take(rows)
    kind: Any = own.type
    nested = kind.num_fields and len(own)
    if not nested or (pa.types.is_fixed_size_list(kind) and not kind.list_size):
        return cast("pa.Array[Any]", own)
    made: Any = type(own)
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = list(map(own_values, own.flatten()))
        return cast("pa.Array[Any]", made.from_arrays(parts, fields=fields, mask=missing))
    if pa.types.is_fixed_size_list(kind):
        # Below a null list the values are null now, and as many as in any other.
        return cast(
            "pa.Array[Any]", made.from_arrays(own_values(own.values), type=kind, mask=missing)
        )
    # A null offset makes its list null.
    starts = pa.array(own.offsets.to_numpy(), own.offsets.type, mask=np.append(covered, False))
    below = (own.keys, own.items) if pa.types.is_map(kind) else (own.values,)
    return cast("pa.Array[Any]", made.from_arrays(starts, *map(own_values, below), type=kind))
