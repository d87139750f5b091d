"""The wheel holds the product with its extensions, and no research code.

Building takes a minute, so `.ci/run` builds it once and names it in INKBLUR_WHEEL.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

WHEEL = os.environ.get("INKBLUR_WHEEL", "")


@pytest.mark.skipif(not WHEEL, reason="INKBLUR_WHEEL names no wheel")
def test_the_wheel_holds_the_product_alone() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
    rooms = {name.split("/")[0] for name in names}
    assert {room for room in rooms if not room.endswith(".dist-info")} == {"inkblur"}
    extensions = {name.split(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert extensions == {
        "inkblur/mechanisms/nearest/cpu/_scan",
        "inkblur/mechanisms/noise/_sphere",
        "inkblur/mechanisms/staircase/_staircase",
    }
    assert {"inkblur/__init__.py", "inkblur/py.typed"} <= set(names)
    assert any(name.startswith("inkblur/embeddings/data/") for name in names)
    # `inkblur serve` reads them.
    static = Path(__file__).parents[1] / "src" / "inkblur" / "service" / "static"
    files = {f"inkblur/service/static/{file.name}" for file in static.iterdir()}
    assert "inkblur/service/static/page.html" in files
    assert files <= set(names)
    assert "inkblur/evaluation/reports/templates/base.html" in names
    assert "inkblur/evaluation/__init__.pyi" in names  # read when the package is imported
