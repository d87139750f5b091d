"""Who may ask: tokens, roles, origins; and how much."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from inkblur.errors import InputError
from inkblur.mechanisms.staircase import Staircase
from inkblur.release import Limits
from inkblur.service import limits
from inkblur.service.limits import Gate, RequestLimits
from inkblur.service.metrics import ServiceMetrics
from inkblur.service.settings import Settings
from inkblur.service.tokens import Tokens, read_tokens
from inkblur.service.uploads import MOST_OF_ONE
from tests.packaged_strengths import EPSILON
from tests.service.conftest import MakeClient

ALICE, BOB, READER = "0123456789abcdef" * 2, "fedcba9876543210" * 2, "02468ace13579bdf" * 2
MONITOR = "13579bdf02468ace" * 2
SENT = {"texts": ["the doctor was angry"], "ids": ["7"], "setting": "medium"}
LOSS = 8 * EPSILON["medium"]  # of these words, and four that fill them


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(
        f"# who may ask\nalice release,ledger {ALICE}\nbob release {BOB}\nauditor ledger {READER}\n"
        f"monitor operator {MONITOR}\n"
    )
    file.chmod(0o600)
    return file


@pytest.fixture
def guarded(
    make_client: MakeClient, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> TestClient:
    monkeypatch.setattr(Settings, "prepare_all", lambda self: None)  # takes minutes
    return make_client(tokens=read_tokens(token_file), limits=Limits(budget=20 * EPSILON["strong"]))


@pytest.mark.parametrize(
    ("token", "release", "ledger"),
    [(ALICE, 200, 200), (BOB, 200, 403), (READER, 403, 200), (ALICE[:-1] + "x", 401, 401)],
)
def test_roles(guarded: TestClient, token: str, release: int, ledger: int) -> None:
    headers = bearer(token)
    assert guarded.post("/v1/release", json=SENT, headers=headers).status_code == release
    assert guarded.get("/v1/ledger", headers=headers).status_code == ledger


def test_counts_are_for_an_operator_and_coarse(guarded: TestClient) -> None:
    """They showed one caller how much another released."""
    words = [f"doctor {'angry ' * n}" for n in range(13)]
    for number, text in enumerate(words):
        sent = {"texts": [text], "ids": [f"{number}"], "setting": "strong"}
        assert guarded.post("/v1/release", json=sent, headers=bearer(BOB)).status_code == 200
    for token in (ALICE, BOB, READER):
        assert guarded.get("/metrics", headers=bearer(token)).status_code == 403
    assert guarded.post("/v1/release", json=SENT, headers=bearer(MONITOR)).status_code == 403
    assert guarded.get("/v1/ledger", headers=bearer(MONITOR)).status_code == 403
    page = guarded.get("/metrics", headers=bearer(MONITOR))
    assert page.status_code == 200
    lines = [line for line in page.text.splitlines() if not line.startswith("#")]
    figures = [float(line.rsplit(" ", 1)[1]) for line in lines]
    assert "inkblur_texts_released_total 8.0" in lines  # of 13
    assert all(figure == 0 or math.frexp(figure)[0] == 0.5 for figure in figures)


@pytest.mark.parametrize("setting", [{"strength": "medium"}, {"epsilon": 2.0}, "words-6", "none"])
def test_with_tokens_only_named_settings(guarded: TestClient, setting: object) -> None:
    """Accounts were widened by options, and others held up by what takes long."""
    sent = {**SENT, "setting": setting}
    told = guarded.post("/v1/release", json=sent, headers=bearer(ALICE))
    assert told.status_code == 422
    assert "strong" in told.json()["error"]["message"]
    look = guarded.post("/v1/preview", json={"text": "a", "setting": setting}, headers=bearer(BOB))
    assert look.status_code == 422
    file = guarded.post("/v1/uploads?suffix=txt", content=b"hello\n", headers=bearer(ALICE))
    place = f"/v1/uploads/{file.json()['upload']}"
    body = {"setting": setting}
    assert guarded.post(f"{place}/release", json=body, headers=bearer(ALICE)).status_code == 422
    assert guarded.post(f"{place}/preview", json=body, headers=bearer(ALICE)).status_code == 422
    guarded.delete(place, headers=bearer(ALICE))


def test_everything_is_made_before_the_first_answer(
    make_client: MakeClient, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near sets were made on first use and shared: by its time a preview told whether another
    caller had released certain words.
    """
    prepared: list[Staircase] = []
    monkeypatch.setattr(Staircase, "prepare", lambda self: prepared.append(self))
    client = make_client(tokens=read_tokens(token_file))
    offered = client.app._app.state.settings  # type: ignore[attr-defined]
    mechanisms = [offered.release(spec).privatizer.mechanism for spec in offered.named.values()]
    assert list(map(id, prepared)) == list(map(id, mechanisms))
    assert len(prepared) == 6


def test_without_a_token_only_the_page_and_its_health(guarded: TestClient) -> None:
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/").status_code == 200
    for path in ("/v1/choices", "/v1/ledger", "/metrics", "/v1/uploads/x"):
        answer = guarded.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.post("/v1/release", json=SENT).status_code == 401


def test_no_caller_learns_from_anothers_ids_and_texts(guarded: TestClient) -> None:
    """Neither by the noise, which would be the same, nor by the budget, which would be gone."""
    mine = guarded.post("/v1/release", json=SENT, headers=bearer(ALICE)).json()
    other = guarded.post("/v1/release", json=SENT, headers=bearer(BOB))
    assert other.status_code == 200  # alice has spent her record's budget, not bob's
    assert other.json()["texts"] != mine["texts"]
    assert other.json()["counts"]["replayed"] == 0
    assert other.json()["largest_loss"] == mine["largest_loss"] == LOSS
    assert "first recorded release" in " ".join(other.json()["guarantee"]["lines"])
    third = guarded.post(
        "/v1/release", json={**SENT, "texts": ["three " * 20]}, headers=bearer(BOB)
    )
    assert third.status_code == 409  # another text under his own id


def test_no_caller_takes_the_room_of_the_others(guarded: TestClient) -> None:
    def send(token: str) -> int:
        sent = guarded.post("/v1/uploads?suffix=txt", content=b"hello\n", headers=bearer(token))
        return sent.status_code

    assert [send(ALICE) for _ in range(MOST_OF_ONE + 1)] == [201] * MOST_OF_ONE + [429]
    assert send(BOB) == 201


def test_a_caller_who_floods_leaves_places_for_the_others(token_file: Path) -> None:
    """Requests that never end took every place."""

    async def run() -> list[tuple[str, int]]:
        going = asyncio.Event()
        answers: list[tuple[str, int]] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await going.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        tokens, limits = read_tokens(token_file), RequestLimits(waiting=4)
        gate = Gate(app, tokens=tokens, limits=limits, metrics=ServiceMetrics())

        async def ask(token: str) -> None:
            headers = [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())]
            scope = {"type": "http", "path": "/v1/release", "query_string": b"", "headers": headers}

            async def receive() -> Message:
                return {"type": "http.request", "body": b"{}", "more_body": False}

            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    answers.append((token, message["status"]))

            await gate(scope, receive, send)

        asked = [asyncio.create_task(ask(token)) for token in (ALICE, ALICE, ALICE, BOB, BOB)]
        await asyncio.sleep(0.1)
        going.set()
        await asyncio.gather(*asked)
        return answers

    first, *others = asyncio.run(run())
    assert first == (ALICE, 429)
    assert {status for _, status in others} == {200}


def test_each_caller_has_uploads_of_its_own(guarded: TestClient) -> None:
    sent = guarded.post("/v1/uploads?suffix=txt", content=b"hello\n", headers=bearer(ALICE))
    place = f"/v1/uploads/{sent.json()['upload']}"
    assert guarded.get(place, headers=bearer(ALICE)).status_code == 200
    assert guarded.get(place, headers=bearer(BOB)).status_code == 404
    assert guarded.delete(place, headers=bearer(BOB)).status_code == 404
    assert guarded.delete(place, headers=bearer(ALICE)).status_code == 204


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("alice release short", "guessed"),
        (f"alice {ALICE}", "NAME ROLES TOKEN"),
        (f"alice admin {ALICE}", "NAME ROLES TOKEN"),
        (f"alice release {ALICE}\nalice release {BOB}", "once"),
        (f"al/ice release {ALICE}", "letters"),
        (f"alice release {ALICE}\nbob release {ALICE}", "another name has this token"),
        ("# nothing", "no token"),
    ],
)
def test_token_files_that_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(InputError, match=why) as raised:
        read_tokens(file)
    assert ALICE not in str(raised.value)


def test_a_token_file_that_others_may_read_is_refused(token_file: Path) -> None:
    token_file.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        read_tokens(token_file)


@pytest.mark.parametrize("sent", ["", "Bearer", f"Basic {ALICE}", f"Bearer {ALICE}x", "Bearer é"])
def test_headers_that_name_nobody(token_file: Path, sent: str) -> None:
    tokens = read_tokens(token_file)
    assert isinstance(tokens, Tokens)
    assert tokens.caller(sent) is None
    assert tokens.caller(f"bearer {ALICE}") is not None


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example:8642"},
        {"Host": "[::1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/v1/release", json=SENT, headers=headers).status_code == 403
    assert client.get("/v1/ledger", headers=headers).status_code == 403


def test_the_page_itself_is_let_through(client: TestClient) -> None:
    headers = {"Origin": "http://127.0.0.1:8642", "Sec-Fetch-Site": "same-origin"}
    assert client.get("/v1/ledger", headers=headers).status_code == 200


def test_every_answer_has_the_headers(client: TestClient) -> None:
    for path in ("/", "/page.js", "/v1/ledger", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_too_large_before_it_is_read(make_client: MakeClient) -> None:
    client = make_client(requests=RequestLimits(body=1000, upload=2000))
    assert client.post("/v1/release", json={**SENT, "texts": ["a" * 1001]}).status_code == 413

    def unknown() -> Iterator[bytes]:  # without a length: refused while it arrives
        yield from [b"a" * 100] * 30

    sent = {"Content-Type": "application/json"}
    assert client.post("/v1/release", content=unknown(), headers=sent).status_code == 413
    upload = client.post("/v1/uploads?suffix=txt", content=unknown())
    assert upload.status_code == 413
    assert upload.json()["error"]["kind"] == "size"


def asgi(client: TestClient, receive: Receive, send: Send, path: str, query: str = "") -> None:
    """Ask the application as a server does, with a client that behaves badly."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "method": "POST" if query else "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:8642")],
    }
    assert client.portal is not None
    client.portal.call(client.app, scope, receive, send)


def test_who_stops_sending_a_file_keeps_no_place(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_STILL_SECONDS", 0.05)
    parts: list[Message] = [{"type": "http.request", "body": b"hello", "more_body": True}]
    answered: list[Message] = []

    async def receive() -> Message:
        if not parts:
            await asyncio.sleep(3600)
        return parts.pop()

    async def send(message: Message) -> None:
        answered.append(message)

    asgi(client, receive, send, "/v1/uploads", "suffix=txt")
    assert answered[0]["status"] == 408


def test_who_stops_taking_a_file_keeps_no_place(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent = {"setting": "medium"}
    name = client.post("/v1/uploads?suffix=txt", content=b"hello\n").json()["upload"]
    place = f"/v1/uploads/{name}"
    client.post(f"{place}/release", json=sent)
    while (state := client.get(place).json())["state"] in ("waiting", "running"):
        time.sleep(0.05)
    assert state["error"] is None
    monkeypatch.setattr(limits, "_STILL_SECONDS", 0.05)
    asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not asked:
            await asyncio.sleep(3600)
        return asked.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(3600)

    asgi(client, receive, send, f"{place}/output")
    assert client.get(place).json()["results"] == ["output", "report", "statement"]
    assert caplog.records == []


def test_who_is_cut_off_by_the_end_is_told(make_client: MakeClient) -> None:
    """uvicorn cancels what has not been answered a minute after SIGTERM."""
    client = make_client()
    begun = asyncio.Event()
    answered: list[Message] = []

    async def slow() -> None:
        begun.set()
        await asyncio.sleep(3600)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answered.append(message)

    async def ask_and_stop() -> None:
        app: Any = client.app
        scope = {"type": "http", "method": "GET", "path": "/v1/slow", "query_string": b""}
        headers = [(b"host", b"127.0.0.1:8642")]
        asked = asyncio.create_task(app({**scope, "headers": headers}, receive, send))
        await begun.wait()
        asked.cancel()
        await asked

    client.app._app.add_api_route("/v1/slow", slow)  # type: ignore[attr-defined]
    assert client.portal is not None
    client.portal.call(ask_and_stop)
    assert answered[0]["status"] == 503


def test_a_fault_has_the_shape_of_every_refusal(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()

    def broken() -> None:
        raise RuntimeError("a text that must not be shown")

    client.app._app.add_api_route("/v1/broken", broken)  # type: ignore[attr-defined]
    answer = client.get("/v1/broken")
    assert answer.status_code == 500
    assert answer.json()["error"]["kind"] == "fault"
    assert "must not be shown" not in answer.text
    assert [record.getMessage().split(" at ")[0] for record in caplog.records] == ["RuntimeError"]
    assert "must not be shown" not in caplog.text


def test_too_many_at_a_time(make_client: MakeClient) -> None:
    client = make_client(requests=RequestLimits(waiting=0))
    answer = client.post("/v1/release", json=SENT)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert client.get("/healthz").status_code == 200
