"""A real server as a process: killed, stopped, fuzzed, with a full disk; and what its log holds."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inkblur.ledger import open_ledger
from inkblur.rng import write_key
from tests.packaged_strengths import EPSILON
from tests.service.server import Server

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")


SECRET = "zugzwang"
MEDIUM = {"setting": "medium"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    write_key(tmp_path / "key")
    server = Server(tmp_path, "--key-file", str(tmp_path / "key"))
    yield server
    if server.process.poll() is None:
        server.stop()


def sent(place: int) -> dict[str, Any]:
    return {
        "texts": [f"the doctor was angry {SECRET}"] * 3,
        "ids": [f"{place}.{i}" for i in range(3)],
    }


class Load:
    """Clients that ask until they are told to stop or the server is gone."""

    def __init__(self, server: Server, clients: int = 4) -> None:
        self.confirmed: list[str] = []  # releases that were answered
        self.refused: list[int] = []
        self.broken = 0  # requests without an answer
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(server.url, first))
            for first in range(0, clients * 10_000, 10_000)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, url: str, place: int) -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            while not self._stop.is_set():
                place += 1
                try:
                    answer = client.post("/v1/release", json={**sent(place), **MEDIUM})
                except httpx.HTTPError:
                    self.broken += 1
                    return
                if answer.status_code == 200:
                    self.confirmed.append(answer.json()["release"])
                else:
                    self.refused.append(answer.status_code)
                    return

    def wait_for(self, answers: int) -> None:
        deadline = time.monotonic() + 120
        while len(self.confirmed) < answers and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(self.confirmed) >= answers

    def join(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(90)


def test_kill_minus_nine_loses_no_entry_that_was_answered(server: Server) -> None:
    load = Load(server)
    load.wait_for(20)
    server.stop(signal.SIGKILL)
    load.join()
    with open_ledger(server.folder / "ledger.db") as ledger:
        states = {each["release"]: each["state"] for each in ledger.history()}
        assert ledger.verify() == []
    assert {states.get(release) for release in load.confirmed} == {"confirmed"}
    server.start()  # and a text that was released comes out the same, at no cost
    again = httpx.post(f"{server.url}/v1/release", json={**sent(1), **MEDIUM}, timeout=60).json()
    assert again["counts"]["replayed"] == 3


def test_on_sigterm_what_was_accepted_is_answered(server: Server) -> None:
    load = Load(server)
    load.wait_for(10)
    assert server.stop(signal.SIGTERM) == 0
    load.join()
    with open_ledger(server.folder / "ledger.db") as ledger:
        states = {each["release"]: each["state"] for each in ledger.history()}
    assert set(states.values()) == {"confirmed"}
    # Nobody was cut off in the middle: a release that was entered was answered.
    assert set(states) == set(load.confirmed)
    assert load.refused == []


def begin_a_long_file(server: Server) -> None:
    """Upload it and wait until its first words are drawn."""
    with httpx.Client(base_url=server.url, timeout=120) as client:
        body = "".join(
            f"the doctor number {i} was angry with everyone here\n" for i in range(300_000)
        )
        name = client.post("/v1/uploads?suffix=txt", content=body.encode()).json()["upload"]
        assert client.post(f"/v1/uploads/{name}/release", json=MEDIUM).status_code == 202
        while client.get(f"/v1/uploads/{name}").json()["words"] == 0:
            time.sleep(0.05)


def test_on_sigterm_a_file_that_is_being_released_is_given_up(server: Server) -> None:
    begin_a_long_file(server)
    assert server.stop(signal.SIGTERM) == 0
    with open_ledger(server.folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["void"]
    assert [each.name for each in (server.folder / "uploads").iterdir()] == ["lock"]


def test_on_a_second_ctrl_c_a_file_that_is_being_released_is_given_up(server: Server) -> None:
    """The server does not wait for a request that arrives slowly, and still clears up."""
    begin_a_long_file(server)
    head = f"POST /v1/uploads?suffix=txt HTTP/1.1\r\nHost: {server.address}\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(f"{head}Content-Length: 1000\r\n\r\nhalf of".encode())
        began = time.monotonic()
        time.sleep(0.5)
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert server.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < 25  # after 30 seconds the slow request is given up anyway
    with open_ledger(server.folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["void"]
    assert [each.name for each in (server.folder / "uploads").iterdir()] == ["lock"]


def test_on_sigterm_a_file_that_is_being_charged_is_given_up(tmp_path: Path) -> None:
    """With a budget a file is read twice, and charged whole before the first draw."""
    server = Server(tmp_path, "--budget", "100000")
    body = "id,text\n" + "".join(f"{i},the doctor was angry {i}\n" for i in range(400_000))
    with httpx.Client(base_url=server.url, timeout=120) as client:
        name = client.post("/v1/uploads?suffix=csv", content=body.encode()).json()["upload"]
        asked = {**MEDIUM, "id_column": "id"}
        assert client.post(f"/v1/uploads/{name}/release", json=asked).status_code == 202
        while not client.get("/v1/ledger").json()["releases"]:
            time.sleep(0.02)
        assert client.get(f"/v1/uploads/{name}").json()["words"] == 0
    assert server.stop(signal.SIGTERM) == 0
    with open_ledger(server.folder / "ledger.db") as ledger:
        [release] = ledger.history()
    assert release["state"] == "void"
    assert release["records"] < 400_000


def test_a_look_does_not_wait_for_a_release(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=120) as client:
        long = b"the doctor was angry with everyone here\n" * 300_000
        names = [
            client.post("/v1/uploads?suffix=txt", content=content).json()["upload"]
            for content in (long, b"a short file\n")
        ]
        assert client.post(f"/v1/uploads/{names[0]}/release", json=MEDIUM).status_code == 202
        assert client.post(f"/v1/uploads/{names[1]}/preview", json=MEDIUM).status_code == 200
        assert client.get(f"/v1/uploads/{names[0]}").json()["state"] == "running"


def test_half_a_request_releases_nothing(server: Server) -> None:
    """What arrived looks like a whole request; its length says that more was to come."""
    half = json.dumps({"texts": ["the doctor was angry"], **MEDIUM}).encode()
    head = (
        f"POST /v1/release HTTP/1.1\r\nHost: {server.address}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {2 * len(half)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as broken:
        broken.sendall(head.encode() + half)
    whole = httpx.post(f"{server.url}/v1/release", json={**sent(1), **MEDIUM}, timeout=60)
    releases = httpx.get(f"{server.url}/v1/ledger").json()["releases"]
    assert [each["release"] for each in releases] == [whole.json()["release"]]


def test_a_download_that_breaks_off_can_be_made_again(server: Server) -> None:
    rows = "".join(f"{'x' * 1000},doctor\n" for _ in range(12_000))  # more than the sockets hold
    with httpx.Client(base_url=server.url, timeout=120) as client:
        body = f"filler,text\n{rows}".encode()
        name = client.post("/v1/uploads?suffix=csv", content=body).json()["upload"]
        place = f"/v1/uploads/{name}"
        asked = {**MEDIUM, "keep_columns": ["filler"]}
        assert client.post(f"{place}/release", json=asked).status_code == 202
        while (state := client.get(place).json())["state"] in ("waiting", "running"):
            time.sleep(0.1)
        assert state["error"] is None
        with socket.socket() as broken:
            broken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            broken.connect(("127.0.0.1", server.port))
            broken.sendall(
                f"GET {place}/output HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()
            )
            assert broken.recv(20).startswith(b"HTTP/1.1 200")
        while client.get("/metrics").text.count("inkblur_requests_in_progress 0.0") == 0:
            time.sleep(0.05)  # until the server has noticed
        assert client.get(place).json()["results"] == ["output", "report", "statement"]
        whole = client.get(f"{place}/output")
        assert len(whole.content) == int(whole.headers["content-length"]) > 12_000_000
        assert client.get(f"{place}/output").status_code == 404  # now it is deleted
    assert "Error" not in server.log.read_text()


def test_no_text_and_no_token_in_the_log(server: Server) -> None:
    wrong: list[dict[str, Any]] = [
        {"texts": [SECRET], SECRET: 1},
        {"texts": [SECRET], "ids": [SECRET, SECRET], **MEDIUM},
        {"texts": [{SECRET: SECRET}], **MEDIUM},
        {"texts": [SECRET], "setting": {"epsilon": 1e5}},
    ]
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for body in wrong:
            assert client.post("/v1/release", json=body).status_code == 422
        client.post(
            "/v1/release",
            content=f'{{"texts": ["{SECRET}',
            headers={"Content-Type": "application/json"},
        )
        client.get(f"/{SECRET}")
        client.post("/v1/uploads?suffix=csv", content=f"text,a\n{SECRET},1,2\n{SECRET}".encode())
        client.post("/v1/preview", json={"text": SECRET, **MEDIUM})
        assert client.post("/v1/release", json={**sent(1), **MEDIUM}).status_code == 200
        metrics = client.get("/metrics").text
    server.stop()
    assert SECRET not in server.log.read_text()
    assert SECRET not in metrics
    assert "Traceback" not in server.log.read_text()


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """The system refuses to write on, as it does where a disk is full."""
    server = Server(tmp_path, before=_small_files)
    try:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            answer = client.post("/v1/uploads?suffix=txt", content=b"hello world\n" * 500_000)
            assert answer.status_code == 507
            assert answer.json()["error"]["kind"] == "storage"
            assert [each.name for each in (tmp_path / "uploads").iterdir()] == ["lock"]
            assert client.post("/v1/uploads?suffix=txt", content=b"hello\n").status_code == 201
            # Where only the last bytes find no room, a file without them is not taken for whole.
            full = b"hello world\n" * 349_526
            assert 4 << 20 < len(full) < (4 << 20) + 100
            assert client.post("/v1/uploads?suffix=txt", content=full).status_code == 507
    finally:
        server.stop()


def test_only_its_own_folders_are_cleared(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir(mode=0o700)
    (uploads / "photos").mkdir()
    (uploads / "photos" / "dear.jpg").write_bytes(b"x")
    (uploads / "upload-left").mkdir()
    Server(tmp_path).stop()
    assert (uploads / "photos" / "dear.jpg").exists()
    assert not (uploads / "upload-left").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "--token-file"),
        (["--host", ""], "--token-file"),
        (["--token-file", "none"], "cannot read the token file"),
        (["--budget", "-1"], "budget"),
    ],
)
def test_what_is_not_started(tmp_path: Path, options: list[str], why: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "inkblur",
            "serve",
            "--port",
            "0",
            "--uploads",
            str(tmp_path),
            *options,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=60,
    )
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_refused_in_words(server: Server, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "inkblur", "serve", "--port", str(server.port)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"cannot listen on port {server.port} of 127.0.0.1 (address already in" in done.stderr
    assert "choose another --port" in done.stderr


def test_a_folder_that_others_may_look_into_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "uploads"
    shared.mkdir()
    shared.chmod(0o755)
    with pytest.raises(RuntimeError, match="others may look into"):
        Server(tmp_path)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


def test_two_servers_do_not_share_a_folder(server: Server) -> None:
    with pytest.raises(RuntimeError, match="another server keeps its uploads"):
        Server(server.folder)


@pytest.mark.parametrize("examples", [3, pytest.param(25, marks=pytest.mark.long)])
def test_fuzzed_by_its_own_description(server: Server, examples: int) -> None:
    """schemathesis: whatever fits or breaks /openapi.json is answered, and never with a fault."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from schemathesis.checks import not_a_server_error

    document = httpx.get(f"{server.url}/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.url)
    tried = 0
    with httpx.Client(timeout=60):
        for found in schema.get_all_operations():
            operation = found.ok()
            if examples < 25 and operation.path == "/v1/choices":
                continue  # nothing to vary, and seconds of work

            @given(case=operation.as_strategy())
            @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
            def ask(case: Any) -> None:
                nonlocal tried
                tried += 1
                answer = case.call(base_url=server.url, timeout=60)
                case.validate_response(answer, checks=[not_a_server_error])
                if answer.status_code >= 400:
                    assert set(json.loads(answer.content)) == {"error"}

            ask()
    assert tried > 4 * examples
    server.stop()
    assert "Traceback" not in server.log.read_text()


def test_a_ledger_in_postgresql(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INKBLUR_LEDGER_SECRET", os.urandom(32).hex())
    enough = str(1.5 * 24 * EPSILON["medium"])  # for three texts of one request, not of two
    server = Server(tmp_path, "--ledger", postgres_url, "--person-budget", enough)
    people = {"people": ["ada"] * 3}
    try:
        with httpx.Client(base_url=server.url, timeout=120) as client:
            first = client.post("/v1/release", json={**sent(1), **MEDIUM, **people})
            assert first.status_code == 200
            assert (
                client.post("/v1/release", json={**sent(2), **MEDIUM, **people}).status_code == 409
            )
            assert [each["release"] for each in client.get("/v1/ledger").json()["releases"]] == [
                first.json()["release"]
            ]
            assert client.post("/v1/ledger/verify", json={}).json()["intact"]
    finally:
        server.stop()


def test_it_says_which_port_it_was_given(tmp_path: Path) -> None:
    """It said port 0, and that it served, before it did."""
    places = ("--ledger", str(tmp_path / "ledger.db"), "--uploads", str(tmp_path / "uploads"))
    with subprocess.Popen(
        [sys.executable, "-m", "inkblur", "serve", "--port", "0", *places],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        url = said.removeprefix("serving on ").strip()
        try:
            assert httpx.get(f"{url}healthz", timeout=60).json() == {"status": "ok"}
        finally:
            process.terminate()
            process.stderr.read()
