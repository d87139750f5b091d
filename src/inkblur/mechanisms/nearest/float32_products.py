"""Float32 products on a GPU, with every bit that float32 has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def float32_products() -> Iterator[None]:
    """Products of torch without TF32, which keeps 10 bits of 23: whole numbers stay exact.

    TF32 is off unless somebody switched it on, for a model of theirs, say.
    """
    import torch

    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = False
    try:
        yield
    finally:
        matmul.allow_tf32 = before
