"""Who may ask: tokens, roles, origins; and how much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from inkblur.errors import InputError
from inkblur.files.spending import Limits
from inkblur.service.limits import RequestLimits
from inkblur.service.tokens import Tokens, read_tokens
from tests.service.conftest import MakeClient

ALICE, BOB, READER = "0123456789abcdef" * 2, "fedcba9876543210" * 2, "02468ace13579bdf" * 2
SENT = {"texts": ["the doctor was angry"], "ids": ["7"], "mechanism": "staircase", "epsilon": 2.5}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(
        f"# who may ask\nalice release,ledger {ALICE}\nbob release {BOB}\nauditor ledger {READER}\n"
    )
    file.chmod(0o600)
    return file


@pytest.fixture
def guarded(make_client: MakeClient, token_file: Path) -> TestClient:
    return make_client(tokens=read_tokens(token_file), limits=Limits(budget=10.0))


@pytest.mark.parametrize(
    ("token", "release", "ledger"),
    [(ALICE, 200, 200), (BOB, 200, 403), (READER, 403, 200), (ALICE[:-1] + "x", 401, 401)],
)
def test_roles(guarded: TestClient, token: str, release: int, ledger: int) -> None:
    headers = bearer(token)
    assert guarded.post("/v1/release", json=SENT, headers=headers).status_code == release
    assert guarded.get("/v1/ledger", headers=headers).status_code == ledger


def test_without_a_token_only_the_page_and_its_health(guarded: TestClient) -> None:
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/").status_code == 200
    for path in ("/v1/mechanisms", "/v1/ledger", "/metrics", "/v1/uploads/x"):
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
    assert other.json()["largest_loss"] == mine["largest_loss"] == 10.0
    assert "first release" in " ".join(other.json()["guarantee"]["lines"])
    third = guarded.post("/v1/release", json={**SENT, "ids": ["8"]}, headers=bearer(BOB))
    assert third.status_code == 409  # his own text under another id


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


def test_too_many_at_a_time(make_client: MakeClient) -> None:
    client = make_client(requests=RequestLimits(waiting=0))
    answer = client.post("/v1/release", json=SENT)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert client.get("/healthz").status_code == 200
