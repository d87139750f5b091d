"""The keys of everything that is written as JSON: what others read by name is renamed on purpose.

`python -m tests.test_json_keys` writes the list anew.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur import ReleaseSpec
from inkblur.mechanisms.laplace import Laplace
from tests.laws.test_draws import KEY, pool, toy
from tests.test_doors import IDS, TEXTS, Ask, House, asked

STORED = Path(__file__).with_name("json_keys.json")
BY_DATA = (".parameters", ".bounds", ".figures")  # objects whose keys are values


def keys(value: Any, at: str = "") -> Iterator[str]:
    """The path of every key: `guarantee.bounds`, `releases[].state`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            inside = "*" if f".{at}".endswith(BY_DATA) else name
            yield f"{at}.{inside}".lstrip(".")
            yield from keys(inner, f"{at}.{inside}".lstrip("."))
    if isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{at}[]")


def paths(written: Any) -> list[str]:
    return sorted(set(keys(json.loads(json.dumps(written)))))


def report_of(house: House, **own: Any) -> Any:
    law = {**Ask().law, **own}
    inkblur.privatize_file(
        house.csv(Ask(keep=("id",))),
        house.out / f"out.{'jsonl' if own.get('release') == 'tf' else 'csv'}",
        house.spec(replace(Ask(), law=law, keep=() if "release" in own else ("id",))),
        rng=inkblur.keyed_rng(KEY),
        ledger=house.ledger,
        report=house.out / "report.json",
    )
    return json.loads((house.out / "report.json").read_text())


def of_words(house: House) -> Any:
    return report_of(house)


def of_vectors(house: House) -> Any:
    return report_of(house, release="tf", length=5)


def of_a_pool(house: House) -> Any:
    inkblur.write_pool(house.folder / "labels.pool", pool(2))
    law = {"mechanism": "staircase", "epsilon": 4.0, "unit": "text", "tau": 0.1}
    inkblur.privatize_file(
        house.csv(Ask()),
        house.out / "out.csv",
        house.spec(Ask(law=law, pool="labels.pool")),
        rng=inkblur.keyed_rng(KEY),
        ledger=house.ledger,
        report=house.out / "report.json",
    )
    return json.loads((house.out / "report.json").read_text())


def of_a_guarantee(house: House) -> Any:
    guarantee = inkblur.Privatizer(Laplace(toy(), epsilon=2.0)).guarantee
    return guarantee.to_json()


def of_an_evaluation(house: House) -> Any:
    from inkblur.evaluation import make_dataset
    from inkblur.evaluation.evaluate import evaluate
    from inkblur.evaluation.plan import Plan
    from tests.evaluation.made import corpus, table

    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, labels=labels, seed=5)
    plan = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=2)
    return evaluate(data, table(), [ReleaseSpec("laplace", 1.0)], plan).to_json()


def of_a_server(house: House) -> Any:
    """What each way answers, by its name."""
    ask = Ask(keep=("id",))
    with house.server(ask) as client:
        body = {"texts": TEXTS, "ids": IDS, "people": IDS, **asked(ask)}
        released = client.post("/v1/release", json=body)
        sent = client.post("/v1/uploads?suffix=csv", content=house.csv(ask).read_bytes())
        place = f"/v1/uploads/{sent.json()['upload']}"
        chosen = {"columns": ["text"], "id_column": "id", "keep_columns": ["id"], **asked(ask)}
        previewed = client.post(f"{place}/preview", json=chosen)
        started = client.post(f"{place}/release", json=chosen)
        while (state := client.get(place)).json()["state"] != "done":
            time.sleep(0.05)
        wrong = client.post("/v1/release", json={"texts": [1]})
        answers = {
            "release": released,
            "preview": client.post("/v1/preview", json={"text": TEXTS[0], **asked(ask)}),
            "choices": client.get("/v1/choices"),
            "ledger": client.get("/v1/ledger"),
            "ledger/spent": client.post("/v1/ledger/spent", json={"person": IDS[0]}),
            "ledger/verify": client.post("/v1/ledger/verify"),
            "uploads": sent,
            "uploads/preview": previewed,
            "uploads/release": started,
            "uploads/state": state,
            "healthz": client.get("/healthz"),
        }
        wrong_ones = {n: a.text for n, a in answers.items() if a.status_code >= 300}
        assert not wrong_ones, wrong_ones
        assert wrong.status_code == 422
        return {name: answer.json() for name, answer in (*answers.items(), ("error", wrong))}


WRITERS: dict[str, Callable[[House], Any]] = {
    "report of words": of_words,
    "report of vectors": of_vectors,
    "report of a pool": of_a_pool,
    "guarantee": of_a_guarantee,
    "evaluation": of_an_evaluation,
    "server": of_a_server,
}


@pytest.mark.parametrize("name", WRITERS)
def test_keys_are_those_that_others_read(name: str, tmp_path: Path) -> None:
    if name == "evaluation":
        pytest.importorskip("sklearn")
    if name == "server":
        pytest.importorskip("fastapi")
        pytest.importorskip("httpx")
    written = paths(WRITERS[name](House(tmp_path)))
    assert written == json.loads(STORED.read_text())[name]


if __name__ == "__main__":
    found = {}
    for each, writer in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[each] = paths(writer(House(Path(folder))))
    STORED.write_text(json.dumps(found, indent=1) + "\n")
