"""Products of whole numbers must not lose bits because somebody switched TF32 on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

from inkblur.pools.order import float32_products  # noqa: E402

matmul = torch.backends.cuda.matmul


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    found = matmul.allow_tf32
    yield
    matmul.allow_tf32 = found


@pytest.mark.parametrize("before", [False, True])
def test_tf32_is_off_inside_and_as_it_was_afterwards(before: bool) -> None:
    matmul.allow_tf32 = before
    with float32_products():
        assert matmul.allow_tf32 is False
    assert matmul.allow_tf32 is before
    with pytest.raises(ValueError, match="broken"), float32_products():
        raise ValueError("broken")
    assert matmul.allow_tf32 is before


@pytest.mark.skipif(not hasattr(matmul, "fp32_precision"), reason="torch 2.9 brought this name")
@pytest.mark.parametrize("before", ["ieee", "tf32", "none"])
def test_the_newer_name_of_the_switch_may_be_used(before: str) -> None:
    """Torch refuses to read one name after the other was set."""
    matmul.fp32_precision = before
    shown = matmul.fp32_precision
    with float32_products():
        assert matmul.fp32_precision == "ieee"
        assert matmul.allow_tf32 is False
    assert matmul.fp32_precision == shown
    assert matmul.allow_tf32 is (before == "tf32")


def test_a_thread_does_not_switch_it_on_for_another() -> None:
    matmul.allow_tf32 = True
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second() -> bool:
        with float32_products():
            second_is_in.set()
            first_is_out.wait(60)
            return bool(matmul.allow_tf32)

    with ThreadPoolExecutor(1) as pool:
        with float32_products():
            found = pool.submit(second)
            second_is_in.wait(0.2)  # at once, if nothing keeps it out
        first_is_out.set()
        assert found.result() is False
    assert matmul.allow_tf32 is True
