"""A file of a gigabyte through the service: how long each step takes, and what it holds in memory.

A real `inkblur serve` gets the file over loopback, releases it and sends it back; the peak of its
resident memory is read from the kernel, step by step. One JSON object a line.

    python -m benchmarks.large_upload --megabytes 1024 --words 10 --filler 900
"""

from __future__ import annotations

import argparse
import json
import stat
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.service import PORT, made_texts, server, show

_BLOCK = 1 << 20
_SETTINGS = {"mechanism": "staircase", "epsilon": 8.0}


def made_rows(size: int, words: int, filler: int) -> Iterator[bytes]:
    """CSV rows of this many bytes in all: a text, and a column that is copied."""
    texts = made_texts(1000, words, 1)
    copied = ("lorem ipsum " * (filler // 12 + 1))[:filler]
    written, number = 0, 0
    while written < size:
        block = "".join(f"{texts[i]} {number + i},{copied}\n" for i in range(len(texts))).encode()
        number += len(texts)
        written += len(block)
        yield block


def peak(process: int) -> float:
    """Most megabytes that a process held since `forget_peak`."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    raise RuntimeError("the kernel does not tell")


def forget_peak(process: int) -> None:
    """Begin to measure anew."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def _json(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    connection = HTTPConnection("127.0.0.1", PORT, timeout=600)
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    if answer.status >= 400:
        raise RuntimeError(told.decode())
    return json.loads(told) if told else None


def _send(source: Path) -> str:
    connection = HTTPConnection("127.0.0.1", PORT, timeout=600)
    with source.open("rb") as file:
        headers = {"Content-Length": str(source.stat().st_size)}
        connection.request("POST", "/v1/uploads?suffix=csv", file, headers)
    answer = connection.getresponse()
    name: str = json.loads(answer.read())["upload"]
    return name


def _take(path: str) -> int:
    connection = HTTPConnection("127.0.0.1", PORT, timeout=600)
    connection.request("GET", path)
    answer = connection.getresponse()
    size = 0
    while block := answer.read(_BLOCK):
        size += len(block)
    return size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--words", type=int, default=10, help="of each text")
    parser.add_argument("--filler", type=int, default=900, help="letters beside each text")
    parser.add_argument("--seconds", type=float, default=3600.0, help="to wait for the release")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as process:
        folder = Path(name)
        source = folder / "large.csv"
        with source.open("wb") as file:
            file.write(b"text,notes\n")
            # The server takes a file of --megabytes at most, its header included.
            for block in made_rows((given.megabytes << 20) - (2 << 20), given.words, given.filler):
                file.write(block)

        def step(what: str, began: float, **figures: float) -> None:
            took = round(time.monotonic() - began, 1)
            show(what, seconds=took, peak_mb=round(peak(process.pid), 1), **figures)
            forget_peak(process.pid)

        began = time.monotonic()
        step("start", began)
        upload = _send(source)
        [kept] = (folder / "uploads" / upload).iterdir()
        mode, size = stat.S_IMODE(kept.stat().st_mode), kept.stat().st_size
        assert size == source.stat().st_size
        step("upload", began, bytes=size, mode=int(f"{mode:o}"))
        source.unlink()
        began = time.monotonic()
        _json("POST", f"/v1/uploads/{upload}/preview", _SETTINGS)
        step("preview", began)
        began = time.monotonic()
        state = _json("POST", f"/v1/uploads/{upload}/release", _SETTINGS)
        reported = began
        while state["state"] in ("waiting", "running") and time.monotonic() < began + given.seconds:
            time.sleep(0.5)
            state = _json("GET", f"/v1/uploads/{upload}")
            if time.monotonic() > reported + 20:
                reported = time.monotonic()
                show("progress", share=state["share"], seconds_left=state["seconds_left"] or -1)
        if state["state"] != "done":
            raise SystemExit(f"{state['state']}: {state['error']}")
        step("release", began, words=state["words"])
        assert not kept.exists()
        for part in ("output", "report", "statement"):
            began = time.monotonic()
            step(part, began, bytes=_take(f"/v1/uploads/{upload}/{part}"))
        time.sleep(1.0)  # deleted when the last bytes have been handed over
        left = sum(path.is_dir() for path in (folder / "uploads").iterdir())
        show("deleted", folders_left=left)


if __name__ == "__main__":
    main()
