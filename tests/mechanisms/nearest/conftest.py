"""Fresh random numbers for the search's tests."""

from __future__ import annotations

import os
import secrets

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh numbers every time; a failure shows how to draw the same again."""
    seed = int(os.environ.get("INKBLUR_TEST_SEED", secrets.randbits(32)))
    print(f"to repeat: INKBLUR_TEST_SEED={seed}")
    return np.random.default_rng(seed)
