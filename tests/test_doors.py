"""Every door times everything that must not get through: refused, with nothing left behind; or
consented to, and then said, and nobody's budget taken for what promises nothing.

A cell that is red is `xfail(strict=True)`, with what the house has to mend.
"""

from __future__ import annotations

import csv
import json
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inkblur
from inkblur import InkblurError, Limits, ReleaseSpec
from inkblur.embeddings.store import write_store
from inkblur.errors import PrivateCalibration, WeakSetting
from inkblur.ledger import micros
from tests.laws.test_draws import KEY, STAIRCASE, WORDS, numbers, toy

DRAWN = numbers(60 * 6, 0, len(WORDS), start=11)
PUBLIC = [" ".join(WORDS[i] for i in DRAWN[at : at + 6]) for at in range(0, 60 * 6, 6)]
TEXTS = [f"{text} and {text}" for text in PUBLIC[:8]]
IDS = [f"record {number}" for number in range(8)]
WORD_LAW: dict[str, Any] = {**STAIRCASE, "epsilon": 2.0}
POOL_LAW: dict[str, Any] = {"mechanism": "staircase", "epsilon": 4.0, "unit": "text", "tau": 0.1}
VOID_LAW: dict[str, Any] = {"mechanism": "angular-laplace", "epsilon": 2.0}


@dataclass(frozen=True)
class Ask:
    """What somebody asks of a door."""

    columns: Mapping[str, Sequence[Any]] = field(default_factory=lambda: {"id": IDS, "text": TEXTS})
    law: Mapping[str, Any] = field(default_factory=lambda: WORD_LAW)
    table: str = "toy.ink"
    pool: str | None = None
    texts: tuple[str, ...] = ("text",)
    id: str | None = "id"
    keep: tuple[str, ...] = ()
    budget: float | None = None
    seed: int | None = None
    consents: tuple[str, ...] = ()  # fields that are True
    suffix: str = "csv"  # of the output


@dataclass(frozen=True)
class Answer:
    """What came out."""

    columns: Mapping[str, Sequence[Any]]
    said: str  # the guarantee, or all that was printed
    raw: bytes = b""  # of everything that was handed out


class Refused(InkblurError):
    """A command's message, or a server's."""


class House:
    """A folder of public ingredients, one to write into, and a ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.ledger = folder, folder / "out", folder / "ledger.db"
        self.out.mkdir()
        write_store(folder / "toy.ink", toy())
        (folder / "key").write_text(KEY.hex())
        (folder / "key").chmod(0o600)

    def spec(self, ask: Ask, **own: Any) -> ReleaseSpec:
        given: dict[str, Any] = {
            **ask.law,
            "embedding": str(self.folder / ask.table),
            "pool": None if ask.pool is None else str(self.folder / ask.pool),
            "columns": ask.texts,
            "id_column": ask.id,
            "keep_columns": ask.keep,
            **dict.fromkeys(ask.consents, True),
            **own,
        }
        return ReleaseSpec.of(**given)

    def rng(self, ask: Ask) -> inkblur.Rng:
        return inkblur.keyed_rng(KEY) if ask.seed is None else inkblur.seeded_rng(ask.seed)

    def limits(self, ask: Ask) -> Limits | None:
        return None if ask.budget is None else Limits(budget=ask.budget)

    def csv(self, ask: Ask, folder: Path | None = None) -> Path:
        place = (self.folder if folder is None else folder) / "in.csv"
        with place.open("w", newline="") as file:
            rows = zip(*ask.columns.values(), strict=True)
            csv.writer(file).writerows([[*ask.columns], *rows])
        return place

    def charged(self) -> int:
        """Micro-units that count as spent."""
        if not self.ledger.exists():
            return 0
        with inkblur.open_ledger(self.ledger) as ledger:
            return sum(e["amount"] for e in ledger.history() if e["state"] != "void")

    def read(self, file: Path) -> dict[str, list[str]]:
        with file.open(newline="") as opened:
            header, *rows = csv.reader(opened)
        return {name: [row[i] for row in rows] for i, name in enumerate(header)}

    @contextmanager
    def server(self, ask: Ask, **settings: Any) -> Iterator[Any]:
        pytest.importorskip("fastapi")
        pytest.importorskip("httpx")
        from fastapi.testclient import TestClient

        from inkblur.service.application import ServiceSettings, make_application

        served = ServiceSettings(
            self.rng(ask),
            self.folder / "uploads",
            str(self.ledger),
            embedding=str(self.folder / ask.table),
            pool=None if ask.pool is None else str(self.folder / ask.pool),
            limits=self.limits(ask) or Limits(),
            **settings,
        )
        with TestClient(make_application(served), "http://127.0.0.1:8642") as client:
            yield client


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


Door = Callable[[House, Ask], Answer]


def by_command(house: House, ask: Ask) -> Answer:
    from typer.testing import CliRunner

    from inkblur.cli.app import app

    out = house.out / f"out.{ask.suffix}"
    flags = {
        **{"--output": out, "--ledger": house.ledger, "--key-file": house.folder / "key"},
        **({} if ask.id is None else {"--id": ask.id}),
        **({} if ask.budget is None else {"--budget": ask.budget}),
        **({} if ask.pool is None else {"--pool": house.folder / ask.pool}),
    }
    given = [str(part) for pair in flags.items() for part in pair]
    given += [part for name in ask.texts for part in ("--column", name)]
    given += [part for name in ask.keep for part in ("--keep-column", name)]
    described = {**ask.law, "embedding": house.folder / ask.table}
    described |= dict.fromkeys(ask.consents, "true")
    given += [part for name, value in described.items() for part in ("--set", f"{name}={value}")]
    told = CliRunner().invoke(app, ["privatize", str(house.csv(ask)), *given])
    if told.exit_code:
        assert told.exception is None or isinstance(told.exception, SystemExit), told.exception
        raise Refused(told.output)
    return Answer(house.read(out), told.output, out.read_bytes())


def by_file(house: House, ask: Ask) -> Answer:
    out = house.out / f"out.{ask.suffix}"
    summary = inkblur.privatize_file(
        house.csv(ask),
        out,
        house.spec(ask),
        rng=house.rng(ask),
        ledger=house.ledger,
        limits=house.limits(ask),
    )
    said = "\n".join([*summary.lines(), summary.guarantee.statement()])
    return Answer(house.read(out), said, out.read_bytes())


def by_folder(house: House, ask: Ask) -> Answer:
    from inkblur.files.folder import privatize_folder

    source, out = house.folder / "parts", house.out / "parts"
    for part, rows in (("a", slice(0, 5)), ("b", slice(5, None))):
        (source / part).mkdir(parents=True, exist_ok=True)
        cells = {name: values[rows] for name, values in ask.columns.items()}
        house.csv(replace(ask, columns=cells), source / part)
    summary = privatize_folder(
        source,
        out,
        house.spec(ask),
        rng=house.rng(ask),
        ledger=house.ledger,
        limits=house.limits(ask),
    )
    assert summary is not None
    files = [out / f"part-0000{number}.csv" for number in (1, 2)]
    parts = [house.read(file) for file in files]
    columns = {name: [*parts[0][name], *parts[1][name]] for name in parts[0]}
    said = "\n".join([*summary.lines(), summary.guarantee.statement()])
    return Answer(columns, said, b"".join(file.read_bytes() for file in files))


def _in_memory(house: House, ask: Ask, texts: Any) -> Answer:
    told = inkblur.privatize(
        texts,
        spec=house.spec(ask, id_column=None, keep_columns=ask.keep),
        ids=None if ask.id is None else ask.columns[ask.id],
        rng=house.rng(ask),
        ledger=house.ledger,
        limits=house.limits(ask),
    )
    said = told.guarantee.statement()
    return Answer({"text": list(told.texts)}, said, pickle.dumps(told.texts))


def by_list(house: House, ask: Ask) -> Answer:
    return _in_memory(house, ask, list(ask.columns["text"]))


def by_series(house: House, ask: Ask) -> Answer:
    pandas = pytest.importorskip("pandas")
    return _in_memory(house, ask, pandas.Series(list(ask.columns["text"])))


def by_transformer(house: House, ask: Ask) -> Answer:
    pytest.importorskip("sklearn")
    how: dict[str, Any] = {"seed": ask.seed} if ask.seed is not None else {"key": KEY}
    law = inkblur.TextPrivatizer(spec=house.spec(ask, id_column=None), **how)
    texts = law.fit_transform(list(ask.columns["text"]))
    return Answer({"text": texts}, law.guarantee.statement(), pickle.dumps(texts))


def _batch(ask: Ask) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(cells) for name, cells in ask.columns.items()})


def _serialized(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def by_arrow(house: House, ask: Ask) -> Answer:
    from inkblur import arrow

    spec, key = house.spec(ask), house.folder / "key"
    out = arrow.release(
        _batch(ask), spec, key_file=key, ledger=house.ledger, limits=house.limits(ask)
    )
    plan = arrow.plan_release(spec, key_file=key)
    said = plan.guarantee(_batch(ask).schema).statement()
    return Answer(out.to_pydict(), said, _serialized(out))


def by_worker(house: House, ask: Ask) -> Answer:
    """What Spark and Ray run on another machine: one batch, with a plan."""
    from inkblur import arrow

    plan = arrow.plan_release(house.spec(ask), key_file=house.folder / "key")
    plan = plan.counted_in(house.ledger, house.limits(ask))
    out = plan(_batch(ask))
    said = plan.guarantee(_batch(ask).schema).statement()
    return Answer(out.to_pydict(), said, _serialized(out))


def asked(ask: Ask) -> dict[str, Any]:
    """As the body of a request."""
    plain = ("mechanism", "epsilon", "unit", "length", "keep", "names", "release")
    own = {name: value for name, value in ask.law.items() if name not in plain}
    own.pop("near", None)  # the page and requests know numbers alone
    setting = {name: ask.law[name] for name in plain if name in ask.law}
    return {"setting": {**setting, "parameters": own, **dict.fromkeys(ask.consents, True)}}


def _sent(client: Any, way: str, **body: Any) -> Any:
    told = client.post(way, **body)
    if 400 <= told.status_code < 500:
        raise Refused(told.text)
    assert told.status_code < 300, told.text
    return told.json()


def by_http(house: House, ask: Ask) -> Answer:
    ids = {} if ask.id is None else {"ids": ask.columns[ask.id]}
    with house.server(ask) as client:
        body = {"texts": ask.columns["text"], **ids, **asked(ask)}
        told = _sent(client, "/v1/release", json=body)
    return Answer({"text": told["texts"]}, json.dumps(told["guarantee"]), json.dumps(told).encode())


def _uploaded(house: House, ask: Ask, client: Any) -> tuple[str, dict[str, Any]]:
    told = _sent(client, "/v1/uploads?suffix=csv", content=house.csv(ask).read_bytes())
    chosen = {"columns": ask.texts, "id_column": ask.id, "keep_columns": ask.keep, **asked(ask)}
    return f"/v1/uploads/{told['upload']}", chosen


def _released(house: House, client: Any, place: str, chosen: dict[str, Any]) -> Answer:
    _sent(client, f"{place}/release", json=chosen)
    state = client.get(place).json()
    while state["state"] not in ("done", "failed"):
        time.sleep(0.02)
        state = client.get(place).json()
    if state["error"] is not None:
        assert state["results"] == []
        assert client.get(f"{place}/output").status_code == 404
        raise Refused(state["error"])
    raw = client.get(f"{place}/output").content
    (house.folder / "got.csv").write_bytes(raw)
    return Answer(house.read(house.folder / "got.csv"), "\n".join(state["lines"]), raw)


def by_upload(house: House, ask: Ask) -> Answer:
    with house.server(ask) as client:
        return _released(house, client, *_uploaded(house, ask, client))


def by_page(house: House, ask: Ask) -> Answer:
    """What the page shows of a file before anything is released: a refusal stands there too."""
    with house.server(ask) as client:
        place, chosen = _uploaded(house, ask, client)
        told = _sent(client, f"{place}/preview", json=chosen)
    for look in told["looks"]:
        if look["refusal"]:
            raise Refused(look["refusal"])
    columns = dict.fromkeys((*ask.texts, *told["copied"]), ())
    return Answer(columns, json.dumps(told["facts"]), json.dumps(told["copied"]).encode())


def _elsewhere(house: House, ask: Ask) -> dict[str, Any]:
    key = house.folder / "key"
    return {"key_file": key, "ledger": house.ledger, "limits": house.limits(ask)}


@contextmanager
def _on_a_worker() -> Iterator[None]:
    """A refusal there arrives in an engine's own error, below all that was called."""
    try:
        yield
    except InkblurError:
        raise
    except Exception as error:
        told = [line for line in str(error).splitlines() if "inkblur.errors." in line]
        if not told:
            raise
        raise Refused(told[-1]) from error


def by_spark(house: House, ask: Ask) -> Answer:
    pyspark = pytest.importorskip("pyspark", minversion="4.0")
    import os
    import shutil
    import sys

    if shutil.which("java") is None:
        pytest.skip("java is not installed (Debian: openjdk-17-jre-headless)")
    from inkblur.engines import spark as engine

    os.environ.update(
        {
            **{"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1"},
            "PYSPARK_PYTHON": sys.executable,
        }
    )
    from pyspark.sql import SparkSession

    built = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    built = built.config("spark.sql.warehouse.dir", str(house.folder / "warehouse"))
    session = built.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        session.sparkContext.setLogLevel("OFF")
        frame = session.createDataFrame(pa.Table.from_batches([_batch(ask)]))
        with _on_a_worker():
            out = engine.privatize(frame, house.spec(ask), **_elsewhere(house, ask)).toArrow()
    finally:
        session.stop()
    return Answer(out.to_pydict(), "", str(out.to_pydict()).encode())


def by_ray(house: House, ask: Ask) -> Answer:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    import os

    from inkblur.engines import ray as engine

    paths = (str(Path(inkblur.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    os.environ.update(
        {
            "PYTHONPATH": os.pathsep.join(paths),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
    )
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        data = ray.data.from_arrow(pa.Table.from_batches([_batch(ask)]))
        with _on_a_worker():
            released = engine.privatize(data, house.spec(ask), **_elsewhere(house, ask))
            out = pa.concat_tables(ray.get(released.to_arrow_refs()))
    finally:
        ray.shutdown()
    return Answer(out.to_pydict(), "", str(out.to_pydict()).encode())


LONG = (by_spark, by_ray)
FILES = (by_command, by_file, by_folder, by_upload)
TABLES = (*FILES, by_arrow, *LONG)
MEMORY = (by_list, by_series)
NAMED = (*TABLES, *MEMORY, by_http)  # that know ids
EVERY = (*NAMED, by_transformer, by_page)


def cells(doors: Sequence[Door], **red: str) -> pytest.MarkDecorator:
    """The doors of a row; `red` says what is wrong with some of them, by name."""
    params = []
    for door in doors:
        marks: list[Any] = []
        if door in LONG:
            marks += [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
        if why := red.get(door.__name__, red.get("all")):
            marks.append(pytest.mark.xfail(strict=True, reason=why))
        params.append(pytest.param(door, id=door.__name__.removeprefix("by_"), marks=marks))
    return pytest.mark.parametrize("door", params)


@contextmanager
def refused(house: House, about: str, kind: type[InkblurError] = InkblurError) -> Iterator[None]:
    """Refused in a line that is `about` what is wrong, with no file left and nothing spent."""
    with pytest.raises((kind, Refused), match=f"(?is){about}") as caught:
        yield
    assert "Traceback" not in str(caught.value)
    left = [file for file in house.out.rglob("*") if file.is_file()]
    assert left == []
    assert house.charged() == 0


# Public ingredients that hold the protected texts, known by what they hold.


def adapted(house: House, texts: Sequence[str]) -> None:
    """A table whose profiles were learned from these texts."""
    labels = {"topic": ["one", "two"] * (len(texts) // 2)}
    made = inkblur.adapt_embedding(toy(), texts, labels, alpha=1.0, smoothing=0.5)
    write_store(house.folder / "own.ink", made)


def pooled(house: House, texts: Sequence[str]) -> None:
    made = inkblur.build_pool(texts, toy(), name="own", license="CC0")
    inkblur.write_pool(house.folder / "own.pool", made)


@cells(EVERY)
def test_a_table_that_was_adapted_on_the_texts(door: Door, house: House) -> None:
    adapted(house, [*PUBLIC[:4], *TEXTS[:2]])
    with refused(house, "adapted|corpus", PrivateCalibration):
        door(house, Ask(table="own.ink"))


@cells((by_command, by_file, by_folder, by_arrow, *LONG))
def test_texts_that_a_table_was_adapted_on_may_be_left_out(door: Door, house: House) -> None:
    """And then they are charged to nobody."""
    adapted(house, [*PUBLIC[:4], *TEXTS[:2]])
    told = door(house, Ask(table="own.ink", consents=("skip_public",)))
    assert len(told.columns["text"]) == len(TEXTS) - 2
    assert house.charged() == 2_000_000 * sum(len(text.split()) for text in TEXTS[2:])
    if door not in LONG:
        assert "public corpus" in told.said


@cells(EVERY)
def test_a_pool_that_was_built_from_the_texts(door: Door, house: House) -> None:
    texts = [f"{text} and {text}" for text in PUBLIC]
    pooled(house, texts)
    ids = [str(number) for number in range(len(texts))]
    with refused(house, "pool was built", PrivateCalibration):
        door(house, Ask({"id": ids, "text": texts}, law=POOL_LAW, pool="own.pool"))


@cells(EVERY)
def test_a_pool_that_holds_all_of_a_few_texts(door: Door, house: House) -> None:
    pooled(house, [*TEXTS, *(f"{text} with a letter" for text in PUBLIC)])
    with refused(house, "pool was built", PrivateCalibration):
        door(house, Ask(law=POOL_LAW, pool="own.pool"))


@cells((by_command, by_file, by_transformer))
def test_a_reference_corpus_that_holds_the_texts(door: Door, house: House) -> None:
    """Its words are the columns of every vector, and it may hold more texts than these."""
    reference = house.folder / "reference.txt"
    reference.write_text("".join(f"{text}\n" for text in [*PUBLIC, *TEXTS]))
    law = {**WORD_LAW, "tau": 0.1, "release": "tf", "length": 5, "reference": str(reference)}
    with refused(house, "corpus", PrivateCalibration):
        door(house, Ask(law=law, suffix="jsonl"))


@cells((by_command, by_file, by_folder))
def test_a_vocabulary_that_is_the_file_itself(door: Door, house: House) -> None:
    ask = Ask({"id": ["1", "2"], "text": ["cat", "dog"]})
    source = house.folder / "parts" / "a" / "in.csv" if door is by_folder else house.csv(ask)
    with refused(house, "vocabulary", PrivateCalibration):
        door(house, replace(ask, law={**WORD_LAW, "vocabulary": str(source)}))


# Settings that hide nothing.


@cells(EVERY)
def test_a_weak_setting(door: Door, house: House) -> None:
    with refused(house, "stay.{1,9}unchanged", WeakSetting):
        door(house, Ask(law={**WORD_LAW, "epsilon": 16.0, "tau": 0.001}))


@cells([door for door in EVERY if door not in (by_http, by_upload, by_page)])
def test_a_weak_setting_that_is_accepted_is_charged(door: Door, house: House) -> None:
    law = {**WORD_LAW, "epsilon": 16.0, "tau": 0.001}
    told = door(house, Ask(law=law, consents=("accept_weak",)))
    assert len(told.columns["text"]) == len(TEXTS)
    loss = house.spec(Ask(law=law)).privatizer().largest_loss
    assert 15.0 < loss <= 16.0  # what this near set attains
    charged = sum(micros(loss, len(text.split())) for text in TEXTS)
    assert house.charged() == (0 if door is by_transformer else charged)


@cells(EVERY)
def test_a_mechanism_without_a_guarantee(door: Door, house: House) -> None:
    with refused(house, "guarantee"):
        door(house, Ask(law=VOID_LAW))


@cells([door for door in EVERY if door not in (by_http, by_upload, by_page, *LONG)])
def test_a_mechanism_without_a_guarantee_says_so_and_takes_no_budget(
    door: Door, house: House
) -> None:
    told = door(house, Ask(law=VOID_LAW, consents=("accept_no_guarantee",)))
    assert "no privacy guarantee" in told.said.lower()
    assert house.charged() == 0


@cells((by_file, by_folder, *MEMORY, by_transformer))
def test_a_seed_says_so_and_takes_no_budget(door: Door, house: House) -> None:
    told = door(house, Ask(seed=3))
    assert "not private" in " ".join(told.said.split())
    assert house.charged() == 0


@cells((by_http, by_upload))
def test_a_server_with_a_seed_releases_nothing(door: Door, house: House) -> None:
    with refused(house, "guarantee|private|seed"):
        door(house, Ask(seed=3))


@cells((by_command, by_file, by_folder, *MEMORY, by_http, by_upload))
def test_what_promises_nothing_fits_no_budget(door: Door, house: House) -> None:
    void = Ask(law=VOID_LAW, consents=("accept_no_guarantee",), budget=1000.0)
    with refused(house, "budget|guarantee|private"):
        door(house, void if door is by_command else Ask(seed=3, budget=1000.0))


# Records and budgets.

TWICE = {"id": [*IDS[:7], IDS[0]], "text": TEXTS}


@cells((*NAMED, by_page, by_worker))
def test_a_repeated_id(door: Door, house: House) -> None:
    with refused(house, "repeat|different name"):
        door(house, Ask(TWICE))


@cells(NAMED)
def test_a_missing_id(door: Door, house: House) -> None:
    ids: list[Any] = [*IDS[:7], None]
    with refused(house, "missing|null|id"):
        door(house, Ask({"id": ids, "text": TEXTS}))


@cells((*NAMED, by_worker))
def test_a_budget_that_one_record_would_exceed(door: Door, house: House) -> None:
    texts = [*TEXTS[:-1], f"{TEXTS[-1]} and {TEXTS[-1]}"]
    most = 2.0 * max(len(text.split()) for text in TEXTS)
    with refused(house, "budget"):
        door(house, Ask({"id": IDS, "text": texts}, budget=most))
    if door in LONG:
        return
    told = door(house, Ask(budget=most))  # nothing was spent on the way
    assert len(told.columns["text"]) == len(TEXTS)


@cells((by_command, by_file, *MEMORY, by_http, by_upload, by_arrow))
def test_a_budget_is_one_over_all_releases(door: Door, house: House) -> None:
    """And the same words again cost nothing."""
    most = 2.0 * max(len(text.split()) for text in TEXTS)
    first = door(house, Ask(budget=most))
    spent = house.charged()
    again = door(house, Ask(budget=most))
    assert again.columns == first.columns
    for file in house.out.iterdir():
        file.unlink()
    with pytest.raises(InkblurError):
        door(house, Ask(budget=most, law={**WORD_LAW, "epsilon": 1.5}))
    assert house.charged() == spent
    assert not [*house.out.iterdir()]


DOORS_OF_ONE_RECORD = [by_command, by_file, by_list, by_http, by_upload, by_arrow]


@pytest.mark.parametrize("second", DOORS_OF_ONE_RECORD, ids=lambda door: door.__name__)
@pytest.mark.parametrize("first", [by_file, by_list, by_http], ids=lambda door: door.__name__)
def test_a_record_has_one_account_whatever_door_it_takes(
    first: Door, second: Door, house: House
) -> None:
    """Its words too: through another door they are a replay."""
    most = 2.0 * max(len(text.split()) for text in TEXTS)
    told = first(house, Ask(budget=most))
    for file in house.out.iterdir():
        file.unlink()
    spent = house.charged()
    again = second(house, Ask(budget=most))
    assert sorted(again.columns["text"]) == sorted(told.columns["text"])  # files are in no order
    with pytest.raises(InkblurError):
        second(house, Ask(budget=most, law={**WORD_LAW, "epsilon": 1.5}))
    assert house.charged() == spent


def test_a_caller_has_one_account_at_a_server(house: House) -> None:
    """By text or by file: the same words, paid once, and a budget over both."""
    pytest.importorskip("fastapi")
    from inkblur.service.tokens import read_tokens

    token = "0123456789abcdef" * 2
    (house.folder / "tokens").write_text(f"alice release,ledger {token}\n")
    (house.folder / "tokens").chmod(0o600)
    ask = Ask(budget=2.0 * max(len(text.split()) for text in TEXTS), keep=("id",))
    named = {
        name: inkblur.ReleaseSpec.of(**{**WORD_LAW, **law}, embedding=str(house.folder / ask.table))
        for name, law in {"one": {}, "other": {"epsilon": 1.5}}.items()
    }
    tokens = read_tokens(house.folder / "tokens")
    with house.server(ask, tokens=tokens, named=named) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        body = {"texts": TEXTS, "ids": IDS, "setting": "one"}
        told = _sent(client, "/v1/release", json=body)
        spent = house.charged()
        assert spent > 0
        place, chosen = _uploaded(house, ask, client)
        answer = _released(house, client, place, {**chosen, "setting": "one"})
        assert answer.columns["text"] == told["texts"]
        assert house.charged() == spent
        place, chosen = _uploaded(house, ask, client)
        with pytest.raises(Refused, match="budget"):
            _released(house, client, place, {**chosen, "setting": "other"})
        assert house.charged() == spent


# Columns.

NOTES = [f"quixotic {number}" for number in range(8)]
STARS = [str(number % 5) for number in range(8)]
WIDE = {"note": NOTES, "id": IDS, "text": TEXTS, "stars": STARS}


@cells((*TABLES, by_worker, by_page))
def test_what_was_not_named_does_not_come_out(door: Door, house: House) -> None:
    told = door(house, Ask(WIDE, keep=("stars",)))
    assert [*told.columns] == ["text", "stars"]
    assert b"quixotic" not in told.raw
    assert b"record" not in told.raw


def test_an_index_that_nobody_named(house: House) -> None:
    """A Series cannot come back without it, unless it is dropped by name."""
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(TEXTS, index=pandas.Index(NOTES, name="note"))
    spec = house.spec(Ask(id=None))
    with refused(house, "note"):
        inkblur.privatize(series, spec=spec, ledger=house.ledger)


@cells([door for door in (*TABLES, by_worker) if door not in LONG])
def test_a_named_column_comes_out_and_is_said(door: Door, house: House) -> None:
    told = door(house, Ask(WIDE, keep=("id", "note", "stars")))
    assert [*told.columns] == ["note", "id", "text", "stars"]
    assert list(told.columns["note"]) == NOTES
    if door is not by_upload:
        assert "'note'" in told.said or "note" in told.said


@cells((*TABLES, by_worker, by_page))
def test_a_kept_column_that_is_not_there(door: Door, house: House) -> None:
    with refused(house, "elsewhere"):
        door(house, Ask(keep=("elsewhere",)))


@cells((*TABLES, by_worker, by_page))
@pytest.mark.parametrize("own", [{"texts": ("body",)}, {"id": "number"}], ids=["text", "id"])
def test_a_column_that_is_not_there(door: Door, own: dict[str, Any], house: House) -> None:
    with refused(house, "body|number"):
        door(house, Ask(**own))


@cells([door for door in (*TABLES, by_worker) if door not in LONG])
def test_the_order_of_columns_changes_no_words(door: Door, house: House) -> None:
    columns = {"id": IDS, "title": TEXTS[::-1], "body": TEXTS}
    one = door(house, Ask(columns, texts=("title", "body"), keep=("id",)))
    there = {name: list(one.columns[name]) for name in ("title", "body")}
    other = House(_fresh(house))
    two = door(other, Ask(columns, texts=("body", "title"), keep=("id",)))
    assert {name: list(two.columns[name]) for name in ("title", "body")} == there
    swapped = {"body": TEXTS, "title": TEXTS[::-1], "id": IDS}
    third = House(_fresh(other))
    three = door(third, Ask(swapped, texts=("title", "body"), keep=("id",)))
    assert {name: list(three.columns[name]) for name in ("title", "body")} == there
    assert list(one.columns["id"]) == IDS


def _fresh(house: House) -> Path:
    folder = house.folder / "again"
    folder.mkdir()
    return folder


@cells((*TABLES, by_worker))
def test_a_text_column_that_is_the_id_too(door: Door, house: House) -> None:
    with refused(house, "text"):
        door(house, Ask(id="text"))


# Values of rows that are not there.

SECRET = "xylophone secret"


def _sliced() -> pa.RecordBatch:
    """Four rows of eight; what is kept of the others lies in the same memory."""
    kinds = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1, 2, 0, 0, 0, 0]), [SECRET, "a", "b"])
    full: Any = pa.array([SECRET, *NOTES[1:]]).buffers()  # a null that covers a value
    covered = pa.StringArray.from_buffers(8, full[1], full[2], pa.py_buffer(bytes([0b11111110])))
    whole = pa.record_batch(
        {
            "covered": covered,
            "id": pa.array(IDS),
            "text": pa.array([*TEXTS[:4], *[SECRET] * 4]),
            "kind": kinds,
            "note": pa.array([*NOTES[:4], *[SECRET] * 4]),
            "parts": pa.array([[note] for note in NOTES[:4]] + [[SECRET]] * 4),
        }
    )
    return whole.slice(0, 4)


def _keeping_all(house: House) -> ReleaseSpec:
    return house.spec(Ask(keep=("covered", "id", "kind", "note", "parts")))


def test_memory_of_other_rows_does_not_leave_with_arrow(house: House) -> None:
    from inkblur import arrow

    spec, key = _keeping_all(house), house.folder / "key"
    released = arrow.release(_sliced(), spec, key_file=key, ledger=False)
    worker = arrow.plan_release(spec, key_file=key)(_sliced())
    for out in (released, worker):
        assert len(out) == 4
        assert SECRET.encode() not in _serialized(out)
        assert SECRET.encode() not in pickle.dumps(out)
        buffers = [buffer for column in out.columns for buffer in column.buffers() if buffer]
        assert not any(SECRET.encode() in buffer.to_pybytes() for buffer in buffers)
        kinds = out.column("kind")
        if pa.types.is_dictionary(kinds.type):
            assert SECRET not in kinds.dictionary.to_pylist()  # type: ignore[attr-defined]


@pytest.mark.parametrize("upload", [False, True], ids=["file", "upload"])
def test_dictionaries_of_other_rows_do_not_leave_with_parquet(house: House, upload: bool) -> None:
    source = house.folder / "in.parquet"
    pq.write_table(pa.Table.from_batches([_sliced()]), source)
    if upload:
        ask = Ask(keep=("covered", "id", "kind", "note", "parts"))
        with house.server(ask) as client:
            told = _sent(client, "/v1/uploads?suffix=parquet", content=source.read_bytes())
            chosen = {"columns": ["text"], "id_column": "id", "keep_columns": ask.keep}
            place = f"/v1/uploads/{told['upload']}"
            _sent(client, f"{place}/release", json={**chosen, **asked(ask)})
            while client.get(place).json()["state"] not in ("done", "failed"):
                time.sleep(0.02)
            raw = client.get(f"{place}/output").content
    else:
        out = house.out / "out.parquet"
        inkblur.privatize_file(source, out, _keeping_all(house), ledger=False)
        raw = out.read_bytes()
    assert SECRET.encode() not in raw
    assert pq.read_table(pa.BufferReader(raw)).num_rows == 4


def test_texts_of_other_rows_do_not_leave_with_an_array(house: House) -> None:
    texts = pa.array([*TEXTS[:4], *[SECRET] * 4]).slice(0, 4)
    told = inkblur.privatize(texts, spec=house.spec(Ask(id=None)), ledger=False)
    assert SECRET.encode() not in pickle.dumps(told.texts)


def test_categories_of_other_rows_do_not_leave_with_a_series(house: House) -> None:
    pandas = pytest.importorskip("pandas")
    kinds = pandas.CategoricalIndex(["a", "b", "a", SECRET], name="kind")
    notes = [*NOTES[:3], SECRET]
    for index in (kinds, pandas.MultiIndex.from_arrays([kinds, notes], names=["kind", "note"])):
        series = pandas.Series([*TEXTS[:3], SECRET], index=index).iloc[:3]
        spec = house.spec(Ask(id=None, keep=tuple(index.names)))
        told = inkblur.privatize(series, spec=spec, ledger=False)
        assert told.texts.index.tolist() == index[:3].tolist()
        assert SECRET.encode() not in pickle.dumps(told.texts)


# Wrong types.

MIXED: list[list[Any]] = [
    [*TEXTS[:7], 7],
    [*TEXTS[:7], 7.5],
    [*TEXTS[:7], True],
    [*TEXTS[:7], b"bytes"],
    [*TEXTS[:7], ["a list"]],
    [*TEXTS[:7], {"an": "object"}],
]


@cells((*MEMORY, by_transformer, by_http))
@pytest.mark.parametrize("texts", MIXED, ids=lambda texts: type(texts[-1]).__name__)
def test_a_text_that_is_none(door: Door, texts: list[Any], house: House) -> None:
    if door is by_http and isinstance(texts[-1], bytes):
        pytest.skip("JSON has no bytes")
    with refused(house, "text 7|texts"):
        door(house, Ask({"id": IDS, "text": texts}))


ALIKE: list[Any] = [[1] * 8, [1.5] * 8, [True] * 8, [b"x"] * 8, [["x"]] * 8, [{"a": "x"}] * 8]


@cells((by_arrow, by_worker, *LONG))
@pytest.mark.parametrize("texts", ALIKE, ids=lambda texts: type(texts[0]).__name__)
def test_a_column_that_holds_no_texts(door: Door, texts: list[Any], house: House) -> None:
    with refused(house, "text"):
        door(house, Ask({"id": IDS, "text": texts}))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("texts", ALIKE, ids=lambda texts: type(texts[0]).__name__)
def test_a_file_whose_column_holds_no_texts(suffix: str, texts: list[Any], house: House) -> None:
    source = house.folder / f"in.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"id": IDS, "text": texts}), source)
    elif isinstance(texts[0], bytes):
        pytest.skip("JSON has no bytes")
    else:
        rows = [{"id": id, "text": text} for id, text in zip(IDS, texts, strict=True)]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = house.out / f"out.{suffix}"
    with refused(house, "text"):
        inkblur.privatize_file(source, out, house.spec(Ask()), ledger=house.ledger)


WRONG: list[dict[str, Any]] = [
    {"epsilon": -1.0},
    {"epsilon": 0},
    {"epsilon": [4]},
    {"tau": "much"},
    {"tau": 2.0},
    {"mechanism": "stairs"},
    {"length": 2.5},
    {"length": 0},
    {"keep": "numbers"},
    {"keep": ["everything"]},
    {"names": "hide"},
    {"release": "words"},
]
NO_JSON: list[dict[str, Any]] = [
    {"epsilon": "4"},
    {"epsilon": float("nan")},
    {"epsilon": float("inf")},
    {"tau": float("nan")},
]
SERVED = (by_http, by_upload, by_page)
DESCRIBED = [door for door in EVERY if door not in (by_command, by_transformer, *LONG)]


@cells(DESCRIBED)
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_setting_that_is_none(door: Door, wrong: dict[str, Any], house: House) -> None:
    with refused(house, "epsilon|tau|parameter|mechanism|length|token|keep|names|release"):
        door(house, Ask(law={**WORD_LAW, **wrong}))


@cells([door for door in DESCRIBED if door not in SERVED])
@pytest.mark.parametrize("wrong", NO_JSON, ids=str)
def test_a_number_that_is_none(door: Door, wrong: dict[str, Any], house: House) -> None:
    with refused(house, "epsilon|tau"):
        door(house, Ask(law={**WORD_LAW, **wrong}))


@pytest.mark.parametrize(
    "texts",
    ["one text", b"bytes", 7, None, {"a": "b"}, {"a"}, iter(["a"]), object()],
    ids=lambda texts: type(texts).__name__,
)
def test_what_is_no_list_of_texts(texts: Any, house: House) -> None:
    with refused(house, "texts"):
        inkblur.privatize(texts, spec=house.spec(Ask(id=None)), ledger=house.ledger)


@pytest.mark.parametrize(
    "ids",
    [
        ["a"],
        [["a"]] * 8,
        [None] * 8,
        "abcdefgh",
        7,
    ],
    ids=repr,
)
def test_ids_that_are_none(ids: Any, house: House) -> None:
    with refused(house, "ids"):
        inkblur.privatize(TEXTS, spec=house.spec(Ask(id=None)), ids=ids, ledger=house.ledger)
