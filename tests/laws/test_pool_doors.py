"""A pool made from the texts to protect would publish them word for word: no door lets it through."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inkblur
from inkblur import arrow
from inkblur.embeddings.store import write_store
from inkblur.errors import PrivateCalibration
from inkblur.files.folder import privatize_folder
from inkblur.files.records import Batch
from inkblur.pools import Pool, PoolPrivatizer, PoolStaircase, build_pool
from inkblur.pools.building import Identifiers
from inkblur.pools.mechanism import sentences
from inkblur.pools.pool import write_pool
from inkblur.release import Columns, Limits, prepare
from inkblur.rng import write_key
from inkblur.spec import ReleaseSpec
from inkblur.types import Record
from tests.pools.test_building import TABLE, TEXTS
from tests.together import Desk, Order

OTHERS = [f"{text} alpha sigma alpha" for text in TEXTS]
MIXED = {
    "its own": [text.upper().replace(" ", "  ") for text in TEXTS],
    "its own between texts too short for a pool": [
        x for text in TEXTS for x in (text, *["hi"] * 4)
    ],
    "some": [*OTHERS, *TEXTS[:50]],
    "few of its own": TEXTS[:20],
    "one of its own": TEXTS[:1],
}


@pytest.fixture(scope="module")
def made() -> Pool:
    return build_pool(TEXTS, TABLE, name="toy", license="CC0")


@pytest.fixture
def spec(made: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseSpec:
    write_store(tmp_path / "toy.ink", TABLE)
    write_pool(tmp_path / "toy.pool", made)
    write_key(tmp_path / "key")
    monkeypatch.setenv(arrow.KEY_FILE, str(tmp_path / "key"))
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "ledger.db"))
    return ReleaseSpec(
        epsilon=4.0,
        unit="text",
        pool=str(tmp_path / "toy.pool"),
        embedding=str(tmp_path / "toy.ink"),
        id_column="id",
    )


def rows(texts: list[str]) -> pa.RecordBatch:
    return pa.record_batch({"id": list(range(len(texts))), "text": texts})


def by_list(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    inkblur.privatize(texts, spec=spec.varied(id_column=None))


def by_file(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    (folder / "in.txt").write_text("\n".join(texts) + "\n")
    inkblur.privatize_file(folder / "in.txt", folder / "out.txt", spec.varied(id_column=None))


def by_batch(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    arrow.release(rows(texts), spec, limits=Limits(budget=100.0))


def by_plan(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    arrow.plan_release(spec)(rows(texts))


def by_desk(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    with inkblur.open_ledger() as ledger:
        desk = Desk(inkblur.keyed_rng(os.urandom(32)), ledger)
        [answer] = desk.release([Order(rows(texts), spec)])
    if isinstance(answer, Exception):
        raise answer


def by_transformer(spec: ReleaseSpec, texts: list[str], folder: Path) -> None:
    pool = inkblur.open_pool(str(spec.pool))
    own = PoolPrivatizer(PoolStaircase(pool, TABLE, epsilon=4.0))
    inkblur.TextPrivatizer(privatizer=own, seed=1).transform(texts)


DOORS = (by_list, by_file, by_batch, by_plan, by_desk, by_transformer)


@pytest.mark.parametrize("door", DOORS)
def test_no_door_releases_the_texts_that_the_pool_is_made_of(
    door: Callable[[ReleaseSpec, list[str], Path], None], spec: ReleaseSpec, tmp_path: Path
) -> None:
    for which in ("its own", "its own between texts too short for a pool", "few of its own"):
        with pytest.raises(PrivateCalibration, match="built from the texts being protected"):
            door(spec, MIXED[which], tmp_path)
    with inkblur.open_ledger() as ledger:
        assert not [
            each for each in ledger.history() if each["records"] and each["state"] != "void"
        ]
    for which in ("some", "one of its own"):
        door(spec, MIXED[which], tmp_path)


def test_a_file_is_judged_by_as_many_long_texts_as_short_ones(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    """Few of these come in one batch."""
    texts = [f"{text} " * 300 for text in TEXTS]
    write_pool(tmp_path / "toy.pool", build_pool(texts, TABLE))
    with pytest.raises(PrivateCalibration, match="built from the texts being protected"):
        by_file(spec, [text.upper() for text in texts], tmp_path)
    assert not (tmp_path / "out.txt").exists()


def test_a_pools_texts_are_known_behind_very_long_ones(
    spec: ReleaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not so many letters are held, and the look went no further."""
    monkeypatch.setattr("inkblur.release._LETTERS_HELD", 100)
    with prepare(spec).charged_to(False, ids=None) as release:
        stream = release.stream(Columns())
        stream.check(Batch((Record("", "something else entirely, and more of it. " * 9),)))
        batches = [tuple(Record("", t) for t in TEXTS[i : i + 3]) for i in range(0, 30, 3)]
        with pytest.raises(PrivateCalibration, match="built from the texts being protected"):
            list(map(stream.check, map(Batch, batches)))


def test_a_folder_is_judged_as_a_whole(spec: ReleaseSpec, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for number in range(0, len(TEXTS), 20):
        lines = [f"{number + i},{text}" for i, text in enumerate(TEXTS[number : number + 20])]
        (parts / f"{number}.csv").write_text("\n".join(["id,text", *lines]) + "\n")
    rng = inkblur.keyed_rng(os.urandom(32))
    with pytest.raises(PrivateCalibration, match="built from the texts being protected"):
        privatize_folder(parts, tmp_path / "out", spec, rng=rng)
    with inkblur.open_ledger() as ledger:
        assert not ledger.history()
    assert not list((tmp_path / "out").glob("**/*.csv"))


def by_csv(spec: ReleaseSpec, batch: pa.RecordBatch, folder: Path) -> None:
    with (folder / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [batch.schema.names, *zip(*batch.to_pydict().values(), strict=True)]
        )
    inkblur.privatize_file(folder / "in.csv", folder / "out.csv", spec)


def by_folder(spec: ReleaseSpec, batch: pa.RecordBatch, folder: Path) -> None:
    parts = folder / "parts"
    parts.mkdir()
    pq.write_table(pa.Table.from_batches([batch]), parts / "a.parquet")
    privatize_folder(parts, folder / "out", spec, rng=inkblur.keyed_rng(os.urandom(32)))


def by_arrow(spec: ReleaseSpec, batch: pa.RecordBatch, folder: Path) -> None:
    arrow.release(batch, spec)


def by_order(spec: ReleaseSpec, batch: pa.RecordBatch, folder: Path) -> None:
    with inkblur.open_ledger() as ledger:
        desk = Desk(inkblur.keyed_rng(os.urandom(32)), ledger)
        [answer] = desk.release([Order(batch, spec)])
    if isinstance(answer, Exception):
        raise answer


@pytest.mark.parametrize("door", [by_csv, by_folder, by_arrow, by_order])
def test_each_column_is_judged_by_itself(
    door: Callable[[ReleaseSpec, pa.RecordBatch, Path], None], spec: ReleaseSpec, tmp_path: Path
) -> None:
    """Beside titles that do not stand there, the bodies would be half of the texts at most."""
    ids = list(range(len(TEXTS)))
    batch = pa.record_batch({"id": ids, "title": OTHERS, "body": TEXTS})
    with pytest.raises(PrivateCalibration):
        door(spec.varied(columns=("title", "body")), batch, tmp_path)


@pytest.mark.parametrize("identifiers", list(Identifiers))
def test_a_pool_is_known_whatever_became_of_identifiers(identifiers: Identifiers) -> None:
    """Also one that left out most of the texts, because they point at somebody."""
    texts = [f"{text} {who}" for who in ("", "a@b.org", "Maria") for text in TEXTS]
    pool = build_pool(texts, TABLE, identifiers=identifiers)
    blur = PoolPrivatizer(PoolStaircase(pool, TABLE, epsilon=4.0))
    with pytest.raises(PrivateCalibration):
        blur.refuse_own(texts)


@pytest.mark.parametrize("built_from", ["texts", "sentences"])
def test_a_pool_is_known_whether_it_holds_texts_or_their_sentences(built_from: str) -> None:
    """A sentence of a protected text comes out as it is, too."""
    parts = [f"{text} once. {text} twice. {text} thrice." for text in TEXTS]
    split = [sentence for text in parts for sentence in sentences(text)]
    pool = build_pool(parts if built_from == "texts" else split, TABLE)
    blur = PoolPrivatizer(PoolStaircase(pool, TABLE, epsilon=4.0))
    with pytest.raises(PrivateCalibration):
        blur.refuse_own(parts)
    blur.refuse_own([f"{text} once. {text} twice." for text in OTHERS])
