"""The service under load, beside the library in the same minutes.

Clients send requests of texts to a real `inkblur serve` over loopback, each as soon as its last one
was answered. Library and service take turns, because a machine's speed changes. The clients are
processes of their own; what they use of the processors is reported, because the service does not
have it. One JSON object a line, printed as it is known.

    python -m benchmarks.service --seconds 20 --turns 5
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import inkblur
from inkblur.arrow import CountedRelease, prepare, release_together

# At small epsilons the near sets of all words exceed what the mechanism keeps: it makes them again.
SETTINGS: dict[str, Any] = {"setting": {"epsilon": 8.0}}
PORT = 8650
ServiceAnswer = tuple[
    list[float], int, float
]  # latencies, refused requests, processor time of a client


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What some clients saw."""

    requests: int
    refused: int
    seconds: float
    latencies: list[float]
    generator: float  # seconds of processor time

    def to_json(self, words: int) -> dict[str, float]:
        """Figures; `words` are those of one request."""
        done = np.array(self.latencies) * 1000
        return {
            "requests": self.requests,
            "refused": self.refused,
            "requests_per_second": round(self.requests / self.seconds, 2),
            "words_per_second": round(self.requests * words / self.seconds),
            "p50_ms": round(float(np.percentile(done, 50)), 1),
            "p99_ms": round(float(np.percentile(done, 99)), 1),
            "generator_processors": round(self.generator / self.seconds, 3),
        }


def made_texts(texts: int, words: int, seed: int) -> list[str]:
    """Texts of usual words, different for each seed, so that none is a replay."""
    table = inkblur.load_embedding()
    counts = np.asarray(table.counts, dtype=np.float64)
    drawn = np.random.default_rng(seed).choice(
        len(table), size=(texts, words), p=counts / counts.sum()
    )
    return [" ".join(table.words[i] for i in row) for row in drawn.tolist()]


def body_of(texts: list[str]) -> bytes:
    """A request, in which `fresh` makes every text a new one."""
    return json.dumps({"texts": [f"@ {text}" for text in texts], **SETTINGS}).encode()


def fresh(body: bytes, number: int) -> bytes:
    """The same request with texts that were never released: a replay would cost less, and the
    ledger reads all earlier releases of a text that it knows.
    """
    return body.replace(b'"@ ', b'"%d ' % number)


def _client(
    bodies: list[bytes],
    pause: float,
    until: float,
    first: int,
    answers: multiprocessing.Queue[ServiceAnswer],
) -> None:
    """One client: bodies one after the other, `pause` seconds between two beginnings."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
    latencies: list[float] = []
    refused, number = 0, first
    due = time.monotonic() + pause * np.random.default_rng(first).random()
    before = time.process_time()
    while time.monotonic() < until:
        if pause:
            time.sleep(max(0.0, due - time.monotonic()))
            due += pause
        body = fresh(bodies[number % len(bodies)], number)
        number += 1
        began = time.perf_counter()
        if _ask(connection, body) == 200:
            latencies.append(time.perf_counter() - began)
        else:
            refused += 1
    answers.put((latencies, refused, time.process_time() - before))


def _ask(connection: HTTPConnection, body: bytes) -> int:
    """Send a request and read its answer."""
    connection.request("POST", "/v1/release", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def load(bodies: list[bytes], *, clients: int, seconds: float, rate: float | None) -> LoadResult:
    """Clients for so long, at `rate` requests a second in all; None: as fast as it answers."""
    answers: multiprocessing.Queue[ServiceAnswer] = multiprocessing.Queue()
    began = time.monotonic()
    pause = 0.0 if rate is None else clients / rate
    processes = [
        multiprocessing.Process(
            target=_client, args=(bodies, pause, began + seconds, 1_000_000 * (place + 1), answers)
        )
        for place in range(clients)
    ]
    for process in processes:
        process.start()
    found = [answers.get() for _ in processes]
    took = time.monotonic() - began
    for process in processes:
        process.join()
    latencies = [each for one, _, _ in found for each in one]
    refused, used = sum(one for _, one, _ in found), sum(one for _, _, one in found)
    return LoadResult(len(latencies), refused, took, latencies, used)


def library(texts: list[list[str]], seconds: float) -> float:
    """Words a second of the same requests by the library alone, one by one, ledger included."""
    with tempfile.TemporaryDirectory() as folder, inkblur.open_ledger(f"{folder}/l.db") as ledger:
        spec = inkblur.ReleaseSpec.of(**SETTINGS)
        prepared = prepare(spec, inkblur.keyed_rng(os.urandom(32)))
        began, words, number = time.perf_counter(), 0, 0
        while time.perf_counter() - began < seconds:
            rows = pa.record_batch(
                {"text": [f"{number} {text}" for text in texts[number % len(texts)]]}
            )
            number += 1
            [answer] = release_together([(prepared, rows)], ledger)
            assert isinstance(answer, CountedRelease)
            words += answer.words
        return words / (time.perf_counter() - began)


@contextmanager
def server(folder: Path) -> Iterator[None]:
    """A server that answers."""
    places = ["--ledger", str(folder / "ledger.db"), "--uploads", str(folder / "uploads")]
    command = [
        sys.executable,
        "-m",
        "inkblur",
        "serve",
        "--port",
        str(PORT),
    ]
    process = subprocess.Popen([*command, *places])
    try:
        while process.poll() is None:
            try:
                HTTPConnection("127.0.0.1", PORT).request("GET", "/healthz")
                break
            except OSError:
                time.sleep(0.2)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3, help="of library and service")
    given = parser.parse_args()
    texts = [made_texts(given.texts, given.words, seed) for seed in range(24)]
    bodies = [body_of(each) for each in texts]
    single = [body_of(each[:1]) for each in texts]
    words = given.texts * (given.words + 1)  # the number in front is drawn as well
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)):
        for body in bodies:  # the near words of all that is sent are made once: minutes
            _ask(HTTPConnection("127.0.0.1", PORT, timeout=1200), fresh(body, 0))
        library(texts, given.seconds / 4)
        most = 0.0
        for turn in range(given.turns):
            alone = library(texts, given.seconds)
            answered = load(bodies, clients=given.clients, seconds=given.seconds, rate=None)
            result = answered.to_json(words)
            most = max(most, result["requests_per_second"])
            show(
                "turn",
                turn=turn,
                library_words_per_second=round(alone),
                share_of_library=round(result["words_per_second"] / alone, 3),
                **result,
            )
        half = load(bodies, clients=given.clients, seconds=given.seconds, rate=most / 2)
        show("half the maximum", **half.to_json(words))
        ones = load(single, clients=given.clients, seconds=given.seconds, rate=None)
        show("single texts", **ones.to_json(given.words))


def show(what: str, **figures: float) -> None:
    """A line of JSON."""
    print(json.dumps({"what": what, **figures}), flush=True)


if __name__ == "__main__":
    main()
