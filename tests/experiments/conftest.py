from __future__ import annotations

import pytest

from tests.experiments.made import Made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)
