"""Processes in place of threads: the same release, and errors that reach the person who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_info

from inkblur import ReleaseSpec, privatize_file
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InkblurError, InputError
from inkblur.files.run import worker_pool
from inkblur.files.summary import Summary
from inkblur.rng import keyed_rng
from inkblur.types import Record


@pytest.fixture
def store(tmp_path: Path, toy: Embedding) -> Path:
    write_store(tmp_path / "toy.ink", toy)
    (tmp_path / "in.txt").write_text(
        "".join(f"{' '.join(toy.words[: i % 9])} {i}.\n" for i in range(60))
    )
    return tmp_path / "toy.ink"


def described(store: Path) -> ReleaseSpec:
    return ReleaseSpec("laplace", 0.5, embedding=str(store), keep_order=True)


def privatized(
    store: Path, name: str, on_progress: Callable[..., Any] = lambda *_: None, **how: Any
) -> Summary:
    summary = privatize_file(
        store.with_name("in.txt"),
        store.with_name(name),
        described(store),
        rng=keyed_rng(b"k" * 32),
        ledger=False,
        workers=2,
        on_progress=on_progress,
        **how,
    )
    assert isinstance(summary, Summary)
    return summary


def test_each_process_works_on_one_thread(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many processes as processors with as many threads each would wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    pool, _ = worker_pool(described(store), keyed_rng(b"k" * 32), 1)
    with pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"  # read when torch loads
        found = pool.submit(threadpool_info).result()
        assert found
        assert all(each["num_threads"] == 1 for each in found)


def test_processes_release_what_threads_do(store: Path) -> None:
    threads = privatized(store, "threads.txt")
    processes = privatized(store, "processes.txt", processes=True)
    assert (
        store.with_name("processes.txt").read_text() == store.with_name("threads.txt").read_text()
    )
    assert processes.counts == threads.counts
    assert processes.guarantee == threads.guarantee


def test_a_process_that_reads_another_table_ends_the_run(store: Path, toy: Embedding) -> None:
    """Its noise would come from other streams, and the stated guarantee be another's."""

    def changed(*_: object) -> None:
        write_store(store, Embedding(toy.words, 2 * toy.vectors, name="other"))

    with pytest.raises(InputError, match="is not the table of this spec"):
        privatized(store, "out.txt", changed, processes=True)
    assert not store.with_name("out.txt").exists()


def gone(records: Sequence[Record]) -> None:
    os._exit(9)  # as the system ends a process that takes too much memory


def test_a_process_that_is_gone_ends_the_run(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkblur.files.run._draw_here", gone)
    with pytest.raises(InkblurError, match="use fewer `workers=`"):
        privatized(store, "out.txt", processes=True)
    assert not store.with_name("out.txt").exists()


def test_processes_end_with_the_one_they_work_for(tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "from inkblur import ReleaseSpec\n"
        "from inkblur.files.run import worker_pool\n"
        "from inkblur.rng import keyed_rng\n"
        "if __name__ == '__main__':\n"
        "    pool, _ = worker_pool(ReleaseSpec(epsilon=8.0), keyed_rng(bytes(range(32))), 2)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "parent.py").write_text(script)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    try:
        parent.communicate(timeout=60)  # ends when nobody holds the pipe's other end any more
    except subprocess.TimeoutExpired:
        os.kill(child, signal.SIGKILL)
        pytest.fail("a process outlived the one it works for")
