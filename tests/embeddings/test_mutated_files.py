"""Every reader of tables and vectors: 10,000 mutated files each (500 in a quick run), no crash, no hang, no gigabyte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.embeddings.fuzz_readers import FORMATS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by RLIMIT_AS")
@pytest.mark.parametrize("mutations", [500, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files_are_read_or_refused(kind: str, mutations: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "tests.embeddings.fuzz_readers"),
            *(kind, str(mutations), "13", str(tmp_path)),
        ],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read + refused == mutations
    assert refused > mutations / 10  # the mutations do reach the reader's checks
