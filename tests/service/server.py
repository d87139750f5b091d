"""A real `inkblur serve` on the loopback address, with what it says kept."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path


class Server:
    """A process; start it again to find the same ledger, key and folder."""

    def __init__(
        self, folder: Path, *options: str, before: Callable[[], None] | None = None
    ) -> None:
        self.folder, self._options, self._before = folder, options, before
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"
        self.log = folder / "log.txt"
        self.start()

    def start(self) -> None:
        places = ("--ledger", self.folder / "ledger.db", "--uploads", self.folder / "uploads")
        command = [sys.executable, "-m", "inkblur", "serve", "--port", str(self.port), *places]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*map(str, command), *self._options],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                preexec_fn=self._before,
            )
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz"):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(self.log.read_text())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(90)
