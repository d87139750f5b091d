"""The documentation names everything that is public, and nothing that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inkblur
import inkblur.evaluation

DOCS = Path(__file__).parents[1] / "docs"


def test_the_api_page_has_every_public_name_and_no_other() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    documented = {line.rpartition(".")[2] for line in re.findall(r"^::: (\S+)$", page, re.M)}
    assert documented == set(inkblur.__all__) - {"__version__"}


def test_the_page_of_the_evaluation_has_every_exported_name_and_no_other() -> None:
    page = (DOCS / "api-evaluation.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^::: inkblur\.evaluation\.(\S+)$", page, re.M)) == set(
        inkblur.evaluation.__all__
    )


def test_every_page_is_in_the_navigation() -> None:
    site = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert str(page.relative_to(DOCS)) in site


@pytest.mark.parametrize("page", ["architecture", "commands", "staircase"])
def test_the_python_of_the_pages_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "ledger.db"))
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(import inkblur\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(block, {})
