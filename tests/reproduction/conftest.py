from __future__ import annotations

import pytest

from tests.reproduction.made import Made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)
