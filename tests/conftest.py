from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from inkblur.embeddings.table import Embedding

# A rich console keeps the width that it finds here when it is made; tests set their own later.
os.environ.pop("COLUMNS", None)


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """At most four, which hold 2 GB each; none for single files, which end before a worker starts."""
    processors = yield
    return 0 if all(".py" in argument for argument in config.args) else min(processors, 4)


def pytest_xdist_setupnodes() -> None:
    """Workers share the processors: threads of products wait for each other most of their time."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped, a line for each cause."""
    skipped = terminalreporter.stats.get("skipped", [])
    needless = re.compile(r"^Skipped: |could not import '.*': ")
    causes = Counter(needless.sub("", report.longrepr[2]) for report in skipped)
    for cause, times in causes.most_common():
        terminalreporter.write_line(f"skipped {times}: {cause}")
    if terminalreporter.config.option.markexpr.startswith("not long"):
        terminalreporter.write_line("not run: tests that take long (pytest -m long)")


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh numbers every time; a failure shows how to draw the same again."""
    seed = int(os.environ.get("INKBLUR_TEST_SEED", secrets.randbits(32)))
    print(f"to repeat: INKBLUR_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def several_threads() -> Iterator[None]:
    """For products of matrices, as where nobody has set their number."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests write neither to the user's ledger nor, where they run programs, to their caches."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """What a test puts into the environment (an engine's workers read it) ends with the test."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("INKBLUR_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set INKBLUR_DATA to the folder of real vectors and corpora to run this test")
    return Path(folder)


@pytest.fixture(scope="session")
def toy() -> Embedding:
    """Sixty words in eight dimensions, with an uneven covariance."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(60, 8)) * np.linspace(0.5, 2.0, 8)
    return Embedding(
        [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)], vectors, name="toy"
    )


@pytest.fixture(scope="session")
def plane() -> Embedding:
    """Five words in the plane: few enough to integrate over their cells."""
    points = [[0.0, 0.0], [1.0, 0.2], [-0.4, 1.1], [2.0, -1.0], [-1.5, -0.7]]
    return Embedding(["sun", "moon", "star", "cloud", "rain"], points, name="plane")
