"""What goes in and comes out: texts, previews; and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from inkblur.documents.fingerprints import ADAPTED, fingerprints, refuse_corpus
from inkblur.errors import InkblurError
from inkblur.release import Limits, prepare
from inkblur.service.problems import in_fields
from inkblur.service.releases import MOST_LETTERS, ReleaseTexts
from inkblur.service.settings import FreeSetting
from inkblur.service.uploads import FileSettings
from inkblur.spec import ReleaseSpec
from inkblur.types import Record
from tests import packaged_strengths
from tests.packaged_strengths import EPSILON
from tests.service.conftest import MakeClient

MEDIUM = {"setting": "medium"}
QUERY = "/v1/release?setting=medium"
SECRET = "zugzwang"


def test_texts_come_back_with_what_is_promised(client: TestClient) -> None:
    answer = client.post("/v1/release", json={"texts": ["The doctor was angry.", None], **MEDIUM})
    assert answer.status_code == 200
    told = answer.json()
    assert len(told["texts"][0].split()) == 8  # four, filled
    assert len(told["texts"][1].split()) == 8
    assert told["counts"] == {"texts": 2, "words": 16, "replayed": 0}
    assert "exp(N x epsilon)" in told["guarantee"]["sentence"]
    assert told["guarantee"]["epsilon"] == EPSILON["medium"]
    assert told["largest_loss"] == 8 * EPSILON["medium"]
    assert any("under one key" in line for line in told["guarantee"]["lines"])


def test_the_same_text_again_is_a_replay_and_costs_nothing(client: TestClient) -> None:
    sent = {"texts": ["rain again today"], **MEDIUM}
    first, second = (client.post("/v1/release", json=sent).json() for _ in range(2))
    assert first["texts"] == second["texts"]
    assert (first["counts"]["replayed"], second["counts"]["replayed"]) == (0, 1)
    assert first["largest_loss"] == second["largest_loss"]


def test_refusals_name_the_fields_of_a_request(client: TestClient) -> None:
    def refusal(**sent: Any) -> str:
        answer = client.post("/v1/release", json={"texts": ["one two"], **sent})
        assert answer.status_code == 422
        message: str = answer.json()["error"]["message"]
        return message

    assert "ids must be as many as the texts" in refusal(**MEDIUM, ids=["a", "b"])
    assert "`strength` light, medium or strong; or `epsilon`" in refusal(setting={})
    assert "light, medium, strong" in refusal(setting="weakest")


def test_a_release_is_in_the_ledger_when_it_is_answered(client: TestClient) -> None:
    told = client.post("/v1/release", json={"texts": ["one two"], **MEDIUM}).json()
    newest = client.get("/v1/ledger").json()["releases"][0]
    assert (newest["release"], newest["state"]) == (told["release"], "confirmed")
    assert (newest["records"], newest["words"]) == (1, 8)
    assert client.get("/v1/ledger").json()["largest_loss"]["record"] >= 8 * EPSILON["medium"]


def test_few_bytes_do_not_stand_for_many_draws(client: TestClient) -> None:
    filled = {"texts": [""] * 300, "setting": {"strength": "medium", "length": 10_000}}
    assert client.post("/v1/release", json=filled).status_code == 413
    short = {"texts": ["a " * (MOST_LETTERS // 2)] * 35, **MEDIUM}
    assert client.post("/v1/release", json=short).status_code == 413
    for few in ("a_", "@_ "):  # tokens that a simple count of words does not see
        short = {"texts": [few * (MOST_LETTERS // len(few))] * 60, **MEDIUM}
        assert client.post("/v1/release", json=short).status_code == 413
    long = {"texts": ["a" * (MOST_LETTERS + 1)], **MEDIUM}
    assert client.post("/v1/release", json=long).status_code == 422


def test_an_id_that_repeats_is_refused(client: TestClient) -> None:
    sent = {"texts": ["same", "same"], "ids": ["1", "1"], **MEDIUM}
    assert client.post("/v1/release", json=sent).status_code == 422


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"texts": []},
        {"texts": ["a"], "setting": {"strength": "medium", "epsilon": 2}},
        {"texts": ["a"], "setting": SECRET},
        {"texts": ["a"], "setting": {"strength": SECRET}},
        {"texts": ["a"], SECRET: 1, **MEDIUM},
        {"texts": ["a"], "setting": {"strength": "medium", "parameters": {SECRET: "x"}}},
        {"texts": ["a"], "setting": {"mechanism": SECRET, "epsilon": 1}},
        {"texts": [SECRET, {"a": SECRET}], **MEDIUM},
        {"texts": [SECRET], "ids": ["1", "2"], **MEDIUM},
        {"texts": [SECRET], "setting": {"epsilon": 1e5}},  # weak
        {"texts": [SECRET], "setting": "pool-2"},  # no pool
        {"texts": [SECRET], "setting": {"embedding": "/etc/passwd", "epsilon": 1}},
        {"texts": [SECRET], "setting": {"accept_weak": True, "epsilon": 1}},
    ],
)
def test_errors_have_one_shape_and_no_text(client: TestClient, sent: dict[str, Any]) -> None:
    answer = client.post("/v1/release", json=sent)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error"}
    assert {"kind", "message"} <= set(answer.json()["error"])
    assert SECRET not in answer.text


@pytest.mark.parametrize("how", [{"epsilon": 100.0}, {}, {"strength": "medium", "epsilon": 1}])
def test_a_refusal_advises_only_what_a_request_can_ask_for(
    client: TestClient, how: dict[str, Any]
) -> None:
    """It named `accept_weak`, `level` and `radius`, which are unknown here."""
    sent = {"setting": {"mechanism": "staircase", **how}}
    told = [
        client.post("/v1/release", json={"texts": ["hello there"], **sent}),
        client.post("/v1/preview", json={"text": "hello there", **sent}),
    ]
    name = client.post("/v1/uploads?suffix=txt", content=b"hello there\n").json()["upload"]
    seen = client.post(f"/v1/uploads/{name}/preview", json=sent)
    refusals = [seen.json()["looks"][0]["refusal"] if seen.status_code == 200 else seen.text]
    for answer in told:
        assert answer.status_code == 422
        refusals.append(answer.json()["error"]["message"])
    for refusal in refusals:
        named = set(re.findall(r"`(\w+)", refusal))
        assert named <= {*ReleaseTexts.model_fields, *FreeSetting.model_fields}, refusal
    client.delete(f"/v1/uploads/{name}")


def refused_as_public() -> None:
    refuse_corpus(
        [Record("7", "wordaa wordab", "line 2")], fingerprints(["wordaa wordab"]), ADAPTED
    )


def refused_without_ids() -> None:
    prepared = prepare(ReleaseSpec("staircase", strength="medium"))
    prepared.budget(Limits(budget=5.0), None, "`id_column=`")


def refused_by_a_pool() -> None:
    ReleaseSpec(epsilon=6.0, unit="text", pool="texts.pool", keep=("numbers",))


@pytest.mark.parametrize("refused", [refused_as_public, refused_without_ids, refused_by_a_pool])
def test_advice_of_the_library_names_fields_of_a_request(refused: Callable[[], None]) -> None:
    """It named `skip_public` and `person_budget`, which are unknown here."""
    with pytest.raises(InkblurError) as caught:
        refused()
    told = in_fields(str(caught.value))
    fields = {*FileSettings.model_fields, *FreeSetting.model_fields}
    assert set(re.findall(r"`(\w+)", told)) <= fields, told
    assert told.endswith(("or leave such records out", "records apart", "and `names`")), told


def test_the_ledger_is_verified_without_a_body(client: TestClient) -> None:
    """A body was required, though an anchor is not."""
    intact = {"intact": True, "problems": []}
    assert client.post("/v1/ledger/verify").json() == intact
    assert client.post("/v1/ledger/verify", json={}).json() == intact
    beyond = {"anchor": f"999:{'0' * 64}"}
    assert not client.post("/v1/ledger/verify", json=beyond).json()["intact"]


@pytest.mark.parametrize("kind", ["application/json", ""])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/release", '{"texts": ["a"], "setting": "strong", "setting": "light"}'),
        ("/v1/release", '{"texts": ["a"], "setting": {"epsilon": 1, "epsilon": 9}}'),
        ("/v1/ledger/spent", '{"person": "ada", "person": "bob"}'),
        ("/v1/ledger/verify", '{"anchor": null, "zugzwang": 1, "zugzwang": 2}'),
        ("/v1/uploads/none/release", '{"epsilon": 1, "epsilon": 9}'),
    ],
)
def test_a_key_that_is_there_twice_is_refused(
    client: TestClient, path: str, body: str, kind: str
) -> None:
    """The last one was taken without a word."""
    answer = client.post(path, content=body.encode(), headers={"Content-Type": kind})
    assert answer.status_code == 422
    message = "the body has a key twice; remove one"
    assert answer.json() == {"error": {"kind": "request", "message": message}}


@pytest.mark.parametrize(
    "path",
    [
        f"{QUERY}&setting=strong",
        f"{QUERY}&zugzwang=1&zugzwang=2",
        "/v1/uploads?suffix=txt&suffix=csv",
        "/v1/ledger?limit=1&limit=2",
    ],
)
def test_a_setting_that_is_in_the_query_twice_is_refused(client: TestClient, path: str) -> None:
    """The last one was taken without a word."""
    answer = client.request("GET" if "ledger" in path else "POST", path)
    message = "the query has a setting twice; remove one"
    assert answer.status_code == 422
    assert answer.json() == {"error": {"kind": "request", "message": message}}


@pytest.mark.parametrize("content", [None, b"not json", b'["texts"]'])
def test_a_body_that_is_no_request_is_refused(client: TestClient, content: bytes | None) -> None:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = client.post("/v1/release", content=content, headers=headers)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error"}


def test_a_setting_in_the_query_of_a_release_is_not_passed_over(client: TestClient) -> None:
    before = client.get("/v1/ledger").json()["total"]
    answer = client.post(QUERY, json={"texts": ["one two"], **MEDIUM})
    assert answer.status_code == 422
    assert "body" in answer.json()["error"]["message"]
    assert client.get("/v1/ledger").json()["total"] == before


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/v1/release", 405), ("POST", "/v1/release", 422)],
)
def test_what_is_not_there(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


def test_over_budget_nothing_is_released_and_what_is_left_is_said(make_client: MakeClient) -> None:
    client = make_client(limits=Limits(budget=8.5 * EPSILON["medium"]))  # words
    fits = {"texts": ["one two"], "ids": ["a"], **MEDIUM}
    assert client.post("/v1/release", json=fits).status_code == 200
    both = {"texts": ["three", "two three"], "ids": ["b", "a"], **MEDIUM}
    before = client.get("/v1/ledger").json()
    answer = client.post("/v1/release", json=both)
    assert answer.status_code == 409
    assert answer.json()["error"]["kind"] == "budget"
    assert answer.json()["error"]["left"] == {"a": 0.5 * EPSILON["medium"]}
    assert client.get("/v1/ledger").json() == before  # not even an open release
    assert client.post("/v1/release", json=fits).status_code == 200  # a replay still costs nothing


def test_a_record_budget_asks_for_the_ids_that_a_request_can_give(make_client: MakeClient) -> None:
    """It named `id_column`, which a JSON request does not know."""
    client = make_client(limits=Limits(budget=8.5 * EPSILON["medium"]))
    answer = client.post("/v1/release", json={"texts": ["one two"], **MEDIUM})
    assert answer.status_code == 422
    told = answer.json()["error"]["message"]
    assert told.startswith("without `ids` a text with")
    assert told.endswith("give what tells records apart")


def test_a_budget_for_people(make_client: MakeClient) -> None:
    client = make_client(limits=Limits(person_budget=8.5 * EPSILON["medium"]))  # words
    sent = {"texts": ["one two"], "ids": ["a"], "people": ["ada"], **MEDIUM}
    assert client.post("/v1/release", json=sent).status_code == 200
    assert client.post("/v1/ledger/spent", json={"person": "ada"}).json() == {
        "spent": 8 * EPSILON["medium"],
        "unbounded": False,
        "left": 0.5 * EPSILON["medium"],
    }
    more = {**sent, "texts": ["three"], "ids": ["b"]}
    assert client.post("/v1/release", json=more).status_code == 409
    assert client.post("/v1/release", json={"texts": ["three"], **MEDIUM}).status_code == 422


def test_a_preview_marks_words_and_writes_nothing(client: TestClient) -> None:
    before = client.get("/v1/ledger").json()["total"]
    sent: dict[str, Any] = {"text": "The doctor saw Maria at 5, and left.", **MEDIUM}
    told = client.post("/v1/preview", json=sent).json()
    assert [piece["written"] for piece in told["pieces"]] == sent["text"].split()
    marks = {piece["written"]: piece["mark"] for piece in told["pieces"]}
    assert (marks["Maria"], marks["5,"]) == ("null", "null")
    assert marks["doctor"] in ("kept", "near", "filling")
    assert told["words"] == 8
    assert packaged_strengths.times("medium") in told["loss_word"]
    assert packaged_strengths.loss("medium", 8) in told["loss_text"]
    assert len(told["risks"]) == 1
    assert "not measured" in told["risks"][0]  # of so few words
    assert client.get("/v1/ledger").json()["total"] == before


@pytest.mark.parametrize("words", [100, 400, 1_200])
def test_the_risks_are_those_of_a_text_as_long(client: TestClient, words: int) -> None:
    text = "the soup was hot " * (words // 4)
    told = client.post("/v1/preview", json={"text": text, **MEDIUM}).json()["risks"]
    assert len(told) == (1 if words > 500 else 4)
    assert ("not measured" in told[0]) == (words > 500)


def test_words_that_are_copied_stay(client: TestClient) -> None:
    sent: dict[str, Any] = {
        "text": "The doctor saw Maria at 5, and left.",
        "setting": {"strength": "medium", "keep": ["stop-words"]},
    }
    assert 0.5 <= client.post("/v1/preview", json=sent).json()["words_left"] < 0.7  # 3 of 6
    sent["setting"]["length"] = 2
    sent["text"] = "doctor nurse cat dog " + "the of and " * 20
    assert client.post("/v1/preview", json=sent).json()["words_left"] < 0.5  # none is copied


def test_a_preview_of_a_bag_has_no_places(client: TestClient) -> None:
    told = client.post("/v1/preview", json={"text": "a b c", "setting": "medium-topic"}).json()
    assert told["pieces"] is None
    assert told["released"].split() == sorted(told["released"].split())


def test_choices_are_what_was_measured(client: TestClient) -> None:
    choices = client.get("/v1/choices").json()
    stops = choices["words"]
    assert [stop["setting"] for stop in stops[:3]] == ["strong", "medium", "light"]
    assert [stop["strength"] for stop in stops[:3]] == ["strong", "medium", "light"]
    assert len(stops) > 3
    assert all(stop["risks"] == [] and stop["strength"] is None for stop in stops[3:])
    for stop in stops[:3]:
        assert stop["epsilon"] == EPSILON[stop["strength"]]
        assert len(stop["risks"]) == 3
        shares = [risk["share"] for risk in stop["risks"]]
        assert shares == sorted(shares, reverse=True)
    meanings = [stop["meaning"] for stop in stops]
    assert meanings == sorted(meanings)
    assert (choices["pool"], choices["own"]) == (None, [])


def test_settings_that_the_owner_named(make_client: MakeClient) -> None:
    own = ReleaseSpec("laplace", 30.0, length=6)
    client = make_client(named={"survey": own})
    told = client.post("/v1/release", json={"texts": ["one two"], "setting": "survey"}).json()
    assert len(told["texts"][0].split()) == 6
    assert [each["setting"] for each in client.get("/v1/choices").json()["own"]] == ["survey"]


def test_metrics_and_the_description(client: TestClient) -> None:
    client.post("/v1/release", json={"texts": [SECRET], **MEDIUM})
    page = client.get("/metrics").text
    assert 'inkblur_requests_total{route="/v1/release",status="200"}' in page
    assert SECRET not in page
    document = client.get("/openapi.json").json()
    assert document["components"]["schemas"]["PreviewText"]["examples"]
