"""Products of whole numbers must not lose bits because somebody switched TF32 on."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from inkblur.mechanisms.nearest.float32_products import float32_products  # noqa: E402


@pytest.mark.parametrize("before", [False, True])
def test_tf32_is_off_inside_and_as_it_was_afterwards(before: bool) -> None:
    matmul = torch.backends.cuda.matmul
    found = matmul.allow_tf32
    matmul.allow_tf32 = before
    try:
        with float32_products():
            assert matmul.allow_tf32 is False
        assert matmul.allow_tf32 is before
        with pytest.raises(ValueError, match="broken"), float32_products():
            raise ValueError("broken")
        assert matmul.allow_tf32 is before
    finally:
        matmul.allow_tf32 = found
