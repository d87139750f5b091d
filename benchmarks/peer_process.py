"""Peers whose libraries do not go with Inkblur's: each in a virtual environment and process of its
own, made on first use and kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
from platformdirs import user_cache_path

from inkblur import Embedding

_WORKER = Path(__file__).with_name("peer_worker.py")


class Unavailable(Exception):
    """Why a contender cannot run here, in one line."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that replaces words."""

    package: str  # on the package index, and its name in `peer_worker`
    version: str
    words: int  # in one turn: they are slow, and one of them holds a table for each word
    fewest: int = 2  # words of a table that it can work with

    def python(self) -> Path:
        """The interpreter of its environment, which is made where it is missing."""
        wanted = f"{self.package}=={self.version}"
        made_for = hashlib.sha256(f"{wanted} {sys.version}".encode()).hexdigest()[:12]
        cache = user_cache_path("inkblur", appauthor=False)
        folder = cache / "peers" / f"{self.package}-{made_for}"
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        complete = folder / "complete"  # an interrupted install is made anew
        if not complete.exists():
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            _run(str(python), "-m", "pip", "install", "--quiet", wanted)
            complete.touch()
        return python


def _run(*command: str) -> None:
    # The checkout's own modules must not be found before the peer's.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if "ERROR" in line]
        raise Unavailable(f"{' '.join(command[1:4])} failed ({said[-1] if said else 'no reason'})")


class PeerProcess:
    """A peer at work on a table; a context manager."""

    def __init__(self, peer: Peer, table: Embedding, *, epsilon: float, lam: float) -> None:
        if len(table) < peer.fewest:
            raise Unavailable(f"it needs a table of at least {peer.fewest} words")
        python = peer.python()
        self.memory: int | None = None  # bytes at its peak, beside the vectors
        self._name = peer.package
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        (folder / "words.json").write_text(json.dumps(table.words), encoding="utf-8")
        np.save(folder / "vectors.npy", table.vectors)
        self._errors = (folder / "errors").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(python), str(_WORKER), peer.package, str(folder), str(epsilon), str(lam)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        try:
            self._answer()
        except Unavailable:
            self.close()
            raise

    def replace(self, words: Sequence[str]) -> dict[str, Any]:
        """Its answer: what came out, seconds by clock and by processor, memory."""
        assert self._process.stdin is not None
        print(json.dumps(list(words)), file=self._process.stdin, flush=True)
        answer = self._answer()
        self.memory = answer["memory"]
        return answer

    def turn(self, words: Sequence[str], clock: Callable[[], float]) -> float:
        """The seconds that it takes by a clock like this one, inside its own process."""
        return float(self.replace(words)["cpu" if clock is time.process_time else "wall"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            said = self._errors.read().split("\n")
            last = next((line for line in reversed(said) if line.strip()), "it said nothing")
            raise Unavailable(f"{self._name} stopped ({last.strip()[:200]})")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process, which stops at the end of its input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        """The process itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()
