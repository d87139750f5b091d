"""Processes in place of threads: the same release, and errors that reach the person who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from inkblur import Privatizer
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InkblurError, InputError
from inkblur.files import open_sink, open_source
from inkblur.files.run import WorkerCopy, worker_pool
from inkblur.files.summary import Summary
from inkblur.mechanisms.nearest.engine import Device
from inkblur.rng import keyed_rng
from inkblur.spec import ReleaseSpec
from tests.files.releasing import run


def copy_of(path: Path, epsilon: float = 0.5) -> WorkerCopy:
    """What each process is sent, as the command's processes are."""
    spec = ReleaseSpec("laplace", epsilon, embedding=str(path))
    table = spec.table()
    return WorkerCopy(spec.resolved(table, spec.mechanism_on(table)), Device.CPU)


class Gone(WorkerCopy):
    def privatizer(self) -> Privatizer:
        os._exit(9)  # as the system ends a process that takes too much memory


class Lost(WorkerCopy):
    def privatizer(self) -> Privatizer:
        raise InputError("the table is gone")


def test_each_process_works_on_one_thread(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many processes as processors with as many threads each would wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    pool, _ = worker_pool(copy_of(store), keyed_rng(b"k" * 32), 1)
    with pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"  # read when torch loads
        found = pool.submit(threadpool_info).result()
        assert found
        assert all(each["num_threads"] == 1 for each in found)


@pytest.fixture
def store(tmp_path: Path, toy: Embedding) -> Path:
    write_store(tmp_path / "toy.ink", toy)
    (tmp_path / "in.txt").write_text(
        "".join(f"{' '.join(toy.words[: i % 9])} {i}.\n" for i in range(60))
    )
    return tmp_path / "toy.ink"


def privatized(store: Path, copies: WorkerCopy | None, name: str) -> Summary:
    out = store.with_name(name)
    with open_source(store.with_name("in.txt")) as source, open_sink(out, source) as sink:
        summary = run(
            source,
            sink,
            copy_of(store).privatizer(),
            keyed_rng(b"k" * 32),
            workers=2,
            copies=copies,
            batch_records=7,
        )
    assert isinstance(summary, Summary)
    return summary


def test_processes_release_what_threads_do(store: Path) -> None:
    threads = privatized(store, None, "threads.txt")
    processes = privatized(store, copy_of(store), "processes.txt")
    assert (
        store.with_name("processes.txt").read_text() == store.with_name("threads.txt").read_text()
    )
    assert processes.counts == threads.counts
    assert processes.guarantee == threads.guarantee


def test_a_process_that_reads_another_table_ends_the_run(store: Path, toy: Embedding) -> None:
    """Its noise would come from other streams, and the stated guarantee be another's."""
    copy, other = copy_of(store), store.with_name("other.ink")
    write_store(other, Embedding(toy.words, 2 * toy.vectors, name="other"))
    changed = replace(copy, spec=replace(copy.spec, embedding=str(other)))
    with pytest.raises(InputError, match="is not the table of this spec"):
        privatized(store, changed, "out.txt")
    assert not store.with_name("out.txt").exists()


def test_a_process_that_is_gone_ends_the_run(store: Path) -> None:
    with pytest.raises(InkblurError, match="use fewer `workers=`"):
        privatized(store, Gone(copy_of(store).spec, Device.CPU), "out.txt")
    assert not store.with_name("out.txt").exists()


def test_an_error_in_a_process_reaches_the_caller(store: Path) -> None:
    with pytest.raises(InputError, match="the table is gone"):
        privatized(store, Lost(copy_of(store).spec, Device.CPU), "out.txt")
    assert not store.with_name("out.txt").exists()


def test_processes_end_with_the_one_they_work_for(tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "from inkblur.processes import process_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = process_pool(2)\n"
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
