"""Float32 products on a GPU, with every bit that float32 has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_turn = threading.Lock()  # the switch is the process's: one thread must not undo another's


@contextmanager
def float32_products() -> Iterator[None]:
    """Products of torch without TF32, which keeps 10 bits of 23: whole numbers stay exact.

    TF32 is off unless somebody switched it on, for a model of theirs, say.
    """
    import torch

    matmul = torch.backends.cuda.matmul
    with _turn:
        # From torch 2.9 on, `allow_tf32` cannot be read where `fp32_precision` was set.
        named = hasattr(matmul, "fp32_precision")
        before = matmul.fp32_precision if named else matmul.allow_tf32
        matmul.allow_tf32 = False  # sets both
        try:
            yield
        finally:
            matmul.allow_tf32 = before in ("tf32", True)
            if named:
                matmul.fp32_precision = before
