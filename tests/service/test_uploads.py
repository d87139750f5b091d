"""Files over HTTP: what is kept, for how long, and what is refused."""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from inkblur.service import uploads
from inkblur.service.limits import RequestLimits
from inkblur.service.problems import FAULT
from inkblur.service.tokens import LOCAL
from inkblur.service.uploads import KEPT_SECONDS
from tests.service.conftest import MakeClient

MEDIUM: dict[str, Any] = {"setting": "medium"}


def send(client: TestClient, body: bytes, suffix: str) -> Any:
    return client.post(f"/v1/uploads?suffix={suffix}", content=body)


def finished(client: TestClient, name: str) -> dict[str, Any]:
    for _ in range(600):
        state: dict[str, Any] = client.get(f"/v1/uploads/{name}").json()
        if state["state"] in ("done", "failed"):
            return state
        time.sleep(0.1)
    raise AssertionError(state)


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"id": [1], "text": ["the doctor was angry"]}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("suffix", "body", "columns", "delimiter"),
    [
        ("csv", b"id,text\n1,hello\n", ["id", "text"], None),
        ("csv", b"id;text\n1;a, b\n", ["id", "text"], ";"),
        ("csv.gz", gzip.compress(b"id,text\n1,hello\n", mtime=0), ["id", "text"], None),
        ("tsv", b"id\ttext\n1\thello\n", ["id", "text"], None),
        ("jsonl", b'{"id": 1, "text": "hello"}\n', ["id", "text"], None),
        ("parquet", parquet(), ["id", "text"], None),
        ("txt", b"hello\n", [], None),
    ],
)
def test_every_format_is_released(
    client: TestClient, suffix: str, body: bytes, columns: list[str], delimiter: str | None
) -> None:
    told = send(client, body, suffix).json()
    assert (told["columns"], told["delimiter"]) == (columns, delimiter)
    place = f"/v1/uploads/{told['upload']}"
    sent = {**MEDIUM, "delimiter": delimiter}
    assert client.post(f"{place}/release", json=sent).status_code == 202
    state = finished(client, told["upload"])
    assert (state["state"], state["error"]) == ("done", None)
    assert state["results"] == ["output", "report", "statement"]
    answer = client.get(f"{place}/output")
    assert answer.headers["content-disposition"] == f'attachment; filename="output.{suffix}"'
    assert client.get(f"{place}/output").status_code == 404  # deleted when it was sent
    assert client.post(f"{place}/release", json=sent).status_code == 409
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_jsonl_in_another_encoding(client: TestClient) -> None:
    """It was always read as UTF-8."""
    rows = '{"Käse": "the soup was hot"}'
    for encoding in ("utf-8", "utf-16", "cp1252"):
        place = f"/v1/uploads?suffix=jsonl&encoding={encoding}"
        told = client.post(place, content=rows.encode(encoding)).json()
        assert told["columns"] == ["Käse"]
        sent = {**MEDIUM, "columns": ["Käse"]}
        client.post(f"/v1/uploads/{told['upload']}/release", json=sent)
        assert finished(client, told["upload"])["error"] is None
        client.delete(f"/v1/uploads/{told['upload']}")
    refused = send(client, rows.encode("utf-16"), "jsonl").json()["error"]["message"]
    assert "is not utf-8" in refused


def test_a_csv_with_a_broken_quote_is_not_read_with_another_delimiter(client: TestClient) -> None:
    """Its lines were taken for texts: ids and all."""
    refused = send(client, b'id,text\n1,"hello\n2,bye\n', "csv")
    assert refused.status_code == 422
    assert "quote" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("suffix", "body", "sent"),
    [
        ("csv", b'id,text\n1,hello\n2,"hello" there\n', {}),
        ("jsonl", b'{"text": "hello"}\n', {"delimiter": ";"}),
    ],
)
def test_a_refused_file_is_advised_only_what_a_request_can_ask_for(
    client: TestClient, suffix: str, body: bytes, sent: dict[str, Any]
) -> None:
    name = send(client, body, suffix).json()["upload"]
    refused = client.post(f"/v1/uploads/{name}/preview", json={**MEDIUM, **sent})
    assert refused.status_code == 422
    advice = "double the quotes inside quoted cells" if suffix == "csv" else "leave them out"
    assert advice in refused.text
    client.delete(f"/v1/uploads/{name}")


@pytest.mark.parametrize(("words", "found"), [(440, True), (504, False)])
def test_the_risks_of_a_file_are_those_of_texts_as_long(
    client: TestClient, words: int, found: bool
) -> None:
    name = send(client, b"the soup was hot " * (words // 4), "txt").json()["upload"]
    seen = client.post(f"/v1/uploads/{name}/preview", json=MEDIUM).json()
    for look in seen["looks"]:
        assert ("not measured" not in look["figures"]["measured risk"]) is found
        assert ("texts of 445 words" in look["figures"]["measured risk"]) is found


def bomb(suffix: str) -> bytes:
    """Few bytes that become many."""
    if suffix == "csv.gz":
        return gzip.compress(b"text\n" + (b"the soup was hot " * 60 + b"\n") * 100_000, mtime=0)
    out = io.BytesIO()
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x " * 750_000])
    pq.write_table(pa.table({"text": long}), out, compression="zstd", store_schema=False)
    return out.getvalue()


@pytest.mark.parametrize("suffix", ["csv.gz", "parquet"])
def test_limits_count_what_an_upload_becomes(make_client: MakeClient, suffix: str) -> None:
    """A release of either left 100 MB on the disk, or took 5 GB of memory."""
    client = make_client(requests=RequestLimits(upload=1_000_000))
    place = f"/v1/uploads/{send(client, bomb(suffix), suffix).json()['upload']}"
    for asked in ("preview", "release"):
        began = time.monotonic()
        answer = client.post(f"{place}/{asked}", json=MEDIUM)
        told = answer.text if asked == "preview" else finished(client, place[12:])["error"]
        assert "more than 1,000,000 bytes when it is unpacked" in told
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("suffix", ["exe", "csv.exe", "../csv", "parquet.gz", ""])
def test_suffixes_that_are_refused(client: TestClient, suffix: str) -> None:
    assert send(client, b"hello", suffix).status_code == 422


def test_a_release_that_is_refused_can_be_asked_for_again(client: TestClient) -> None:
    said = b"the doctor was angry"
    name = send(client, b"raw,mrn,text\n%b,7,%b\n" % (said, said), "csv").json()["upload"]
    place = f"/v1/uploads/{name}"
    seen = client.post(f"{place}/preview", json={**MEDIUM, "keep_columns": ["raw"]}).json()
    assert seen["telling"] == {"raw": "it holds the words of the texts"}
    assert (seen["copied"], seen["not_copied"]) == (["raw"], ["mrn"])
    assert seen["texts"] == ["the doctor was angry"]
    client.post(f"{place}/release", json={**MEDIUM, "keep_columns": ["user"]})
    state = finished(client, name)
    assert state["state"] == "failed"
    assert "`keep_columns`" in state["error"]
    client.post(f"{place}/release", json=MEDIUM)
    state = finished(client, name)
    assert state["state"] == "done"
    assert "not copied: raw, mrn (`keep_columns` raw copies it)" in state["lines"]
    again = client.post(f"{place}/release", json=MEDIUM)
    assert again.status_code == 409
    assert "released already" in again.json()["error"]["message"]


def test_a_release_that_fails_inside_is_logged_by_its_place(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever asked was told KeyError, and the log nothing."""

    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("must not be shown")

    monkeypatch.setattr(uploads, "privatize_file", fail)
    name = send(client, b"hello\n", "txt").json()["upload"]
    client.post(f"/v1/uploads/{name}/release", json=MEDIUM)
    state = finished(client, name)
    assert (state["state"], state["error"]) == ("failed", FAULT)
    assert [record.getMessage().split(" at ")[0] for record in caplog.records] == ["KeyError"]
    assert "must not be shown" not in caplog.text
    client.delete(f"/v1/uploads/{name}")


def test_after_an_hour_everything_is_gone(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(tmp_path)
    name = send(client, b"hello\n", "txt").json()["upload"]
    [folder] = [each for each in (tmp_path / "uploads").iterdir() if each.is_dir()]
    kept = client.app._app.state.uploads  # type: ignore[attr-defined]
    assert isinstance(kept, uploads.Uploads)
    kept.expire(time.monotonic() + KEPT_SECONDS - 5)
    assert client.get(f"/v1/uploads/{name}").status_code == 200
    kept.expire(time.monotonic() + KEPT_SECONDS + 5)
    assert client.get(f"/v1/uploads/{name}").status_code == 404
    assert not folder.exists()


def test_a_file_that_takes_long_to_arrive_is_not_swept_away(client: TestClient) -> None:
    kept = client.app._app.state.uploads  # type: ignore[attr-defined]

    async def slowly() -> AsyncIterator[bytes]:
        yield b"hello\n"
        kept.expire(time.monotonic() + 2 * KEPT_SECONDS)
        yield b"world\n"

    upload = client.portal.call(kept.receive, LOCAL, "txt", slowly())  # type: ignore[union-attr]
    assert upload.source.read_bytes() == b"hello\nworld\n"
    assert client.get(f"/v1/uploads/{upload.name}").json()["state"] == "received"
