"""Processes in place of threads: the same release, and errors that reach the person who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from inkblur.documents import Privatizer
from inkblur.embeddings import load_embedding
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InkblurError, InputError, PrivacyError
from inkblur.files import open_sink, open_source
from inkblur.files.run import run
from inkblur.files.summary import Summary
from inkblur.files.worker_pool import crew
from inkblur.mechanisms import Laplace
from inkblur.rng import keyed_rng


def made(path: Path, epsilon: float) -> Privatizer:
    """What each process calls, as the command's processes do: from a file and settings."""
    return Privatizer(Laplace(load_embedding(path), epsilon=epsilon))


def gone(path: Path) -> Privatizer:
    os._exit(9)  # as the system ends a process that takes too much memory


def made_short(path: Path) -> Privatizer:
    from inkblur.documents import privatizer

    privatizer.LONGEST_TEXT = 100
    return made(path, 0.5)


def test_each_process_works_on_one_thread(toy: Embedding) -> None:
    """As many processes as processors with as many threads each would wait for each other."""
    blur = Privatizer(Laplace(toy, epsilon=0.5))
    pool, _ = crew(partial(Privatizer, blur.mechanism), blur, keyed_rng(b"k" * 32), 1)
    with pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"  # read when torch loads
        assert all(each["num_threads"] == 1 for each in pool.submit(threadpool_info).result())


@pytest.fixture
def store(tmp_path: Path, toy: Embedding) -> Path:
    write_store(tmp_path / "toy.ink", toy)
    (tmp_path / "in.txt").write_text(
        "".join(f"{' '.join(toy.words[: i % 9])} {i}.\n" for i in range(60))
    )
    return tmp_path / "toy.ink"


def privatized(store: Path, copies: partial[Privatizer] | None, name: str) -> Summary:
    out = store.with_name(name)
    with open_source(store.with_name("in.txt")) as source, open_sink(out, source) as sink:
        return run(
            source,
            sink,
            made(store, 0.5),
            keyed_rng(b"k" * 32),
            workers=2,
            copies=copies,
            batch_records=7,
        )


def test_processes_release_what_threads_do(store: Path) -> None:
    threads = privatized(store, None, "threads.txt")
    processes = privatized(store, partial(made, store, 0.5), "processes.txt")
    assert (
        store.with_name("processes.txt").read_text() == store.with_name("threads.txt").read_text()
    )
    assert processes.counts == threads.counts
    assert processes.guarantee == threads.guarantee


@pytest.mark.parametrize(
    ("copies", "error", "says"),
    [
        (partial(made, epsilon=0.6), PrivacyError, "other word vectors or settings"),
        (gone, InkblurError, "use fewer --workers"),
    ],
)
def test_a_process_that_cannot_do_the_same_ends_the_run(
    store: Path, copies: partial[Privatizer], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        privatized(store, partial(copies, store), "out.txt")
    assert not store.with_name("out.txt").exists()


def test_an_error_in_a_process_reaches_the_caller(store: Path) -> None:
    with store.with_name("in.txt").open("a") as file:
        file.write("wordaa " * 20 + "\n")
    with pytest.raises(InputError, match="record 60 has 140 characters"):
        privatized(store, partial(made_short, store), "out.txt")
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
