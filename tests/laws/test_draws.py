"""The words that a key draws, through every mechanism, kind of release and door, as digests.

Whoever draws again under a key counts on it: the same words, in every later version. A change that
means to draw otherwise writes the digests anew, and says so: `python -m tests.laws.test_draws`.

Every setting is named, so that a new default changes nothing here. The toy vectors, counts and pool
are small whole numbers, so that they are the same bytes on every machine.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inkblur
from inkblur import Embedding, ReleaseSpec
from inkblur.documents import Treatment
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.embeddings.store import write_store
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.pools import Pool, PoolPrivatizer, PoolStaircase
from inkblur.pools.classifier import LabelClassifier
from inkblur.pools.encoder import WordEncoder

STORED = Path(__file__).with_name("draws.json")
KEY = hashlib.sha256(b"a key that is no secret").digest()
Case = Callable[[Path, Path], list[str]]  # the folders of ingredients and of what is written
WORDS = (
    *("the", "and", "was", "with", "doctor", "nurse", "angry", "happy", "tired", "hungry"),
    *("cat", "dog", "horse", "house", "garden", "street", "train", "ticket", "price", "money"),
    *("bank", "river", "water", "bread", "cheese", "apple", "music", "song", "guitar", "friend"),
    *(
        "maria",
        "london",
        "winter",
        "summer",
        "morning",
        "night",
        "letter",
        "phone",
        "child",
        "hope",
    ),
)
TEXTS = [
    "The doctor was angry, and the nurse was tired.",
    "Maria paid 12.50 for bread and cheese! Was the price fair?",
    "",
    "Mail anna@example.org or see www.example.org/x: the HOUSE with a garden.",
    "A cat; a dog. A cat; a dog. A cat?",
    "  Zorblatt met\tMaria's friend (in London)\nand sang the song with a guitar ... ",
    "water water water water water water water water water water water water",
    "The doctor was angry, and the nurse was tired.",
]
IDS = ["7", "x", "1:a", "2", "é", "5", "6", "8"]
OPEN = ("punctuation", "sentence-ends")  # the classes that are dropped unless something is said


def numbers(count: int, low: int, high: int, start: int) -> list[int]:
    """Whole numbers that look random, by arithmetic that no library changes."""
    found, state = [], start
    for _ in range(count):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        found.append(low + (state >> 33) % (high - low))
    return found


def toy(columns: int = 6) -> Embedding:
    """Forty words, in eighths."""
    cells = numbers(len(WORDS) * columns, -32, 33, start=columns)
    vectors = np.array(cells).reshape(len(WORDS), columns) / 8
    return Embedding(WORDS, vectors, name="toy", counts=numbers(len(WORDS), 1, 500, start=1))


def adapted() -> Embedding:
    """The toy with a profile of two labels in its last column."""
    plain = toy(5)
    profiles = np.array(numbers(len(WORDS), -16, 17, start=9))[:, None] / 4
    column = {
        "name": "topic",
        "counts": {"home": 30, "work": 20},
        "dimensions": 1,
        "reduction": "none",
    }
    about = {
        **{"base": "toy", "base_sha256": plain.sha256, "corpus_sha256": "0" * 64},
        **{"documents": 50, "skipped": 0, "words": 40, "columns": [column]},
        **{"alpha": 1.0, "beta": 1.0, "smoothing": 1.0},
    }
    return Embedding(
        WORDS,
        np.hstack([plain.vectors, profiles]),
        name="toy+topic",
        provenance={"adapted": [about]},
        corpus=np.array([1, 2, 3], dtype=np.uint64),
        counts=plain.counts,
    )


def pool(labels: int) -> Pool:
    """Sixty public texts; of several labels, thirty each."""
    table, count = toy(), 60
    drawn = numbers(5 * count, 0, len(WORDS), start=3)
    texts = [" ".join(WORDS[i] for i in drawn[at : at + 5]) for at in range(0, 5 * count, 5)]
    cells = np.array([0, 30, 60]) if labels > 1 else np.array([0, 60])
    points = np.array(numbers(count * table.dimension, -1000, 1001, start=4)).reshape(count, -1)
    middles = np.stack([points[a:b].sum(axis=0) // 30 for a, b in pairwise(cells)])
    weights = np.array(numbers(len(WORDS) * labels, -(10**6), 10**6, start=5))
    model = LabelClassifier(
        WORDS,
        np.array(numbers(len(WORDS), 1000, 4000, start=6), dtype=np.int32),
        weights.reshape(-1, labels).astype(np.int32),
        np.zeros(labels, dtype=np.int64),
        np.zeros((table.dimension, labels), dtype=np.int32),
    )
    return Pool(
        texts=texts,
        points=points.astype(np.int16),
        center=np.zeros(table.dimension, dtype=np.int64),
        cells=cells,
        cell_points=middles.astype(np.int16),
        cell_labels=np.arange(labels),
        label_names=("home", "work") if labels > 1 else ("",),
        given=np.array(numbers(count, 0, labels, start=7)),
        classifier=model if labels > 1 else None,
        encoder=WordEncoder(table).name,
        provenance={"name": "toy", "license": "CC0"},
    )


def ingredients(folder: Path) -> Path:
    write_store(folder / "toy.ink", toy())
    write_store(folder / "adapted.ink", adapted())
    inkblur.write_pool(folder / "labels.pool", pool(2))
    inkblur.write_pool(folder / "plain.pool", pool(1))
    (folder / "key").write_text(KEY.hex())
    (folder / "reference.txt").write_text(
        "\n".join([*pool(1).texts, "the doctors and the nurses", "cats"]) + "\n"
    )
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingredients(tmp_path_factory.mktemp("ingredients"))


STAIRCASE = {
    "mechanism": "staircase",
    "tau": 0.06,
    "frequency_power": 0.5,
    "near": "vector",
}
USUAL: dict[str, Any] = {
    **{"release": "sequence", "length": "exact", "keep": (), "drop": OPEN, "names": "null"},
    **{"accept_weak": True, "columns": ("text",)},
}
POOLED: dict[str, Any] = {
    **{"mechanism": "staircase", "release": "sequence", "unit": "text", "length": None},
    **{"accept_weak": True, "columns": ("text",), "embedding": "toy.ink"},
}


def words(**own: Any) -> dict[str, Any]:
    return {**USUAL, "embedding": "toy.ink", **own}


def staircase(epsilon: float = 4.0, **own: Any) -> dict[str, Any]:
    return words(**{**STAIRCASE, "epsilon": epsilon, **own})


SETTINGS: dict[str, dict[str, Any]] = {
    "staircase": staircase(),
    "staircase, packed sets": staircase(tau=0.4),
    "staircase, no frequencies": staircase(tau=0.1, frequency_power=0.0),
    "staircase, weak": staircase(14.0, tau=0.003),
    "staircase, adapted": staircase(embedding="adapted.ink"),
    "staircase, by label": words(
        mechanism="staircase",
        epsilon=3.0,
        near="label",
        frequency_power=0.5,
        embedding="adapted.ink",
    ),
    # epsilon and tau as the strengths have them, whatever these become
    "staircase, bundled, as light": staircase(3.0, tau=0.1, frequency_power=1.0, embedding=None),
    "staircase, bundled, as medium": staircase(2.0, tau=0.15, frequency_power=1.0, embedding=None),
    "staircase, bundled, as strong": staircase(1.0, tau=0.3, frequency_power=1.0, embedding=None),
    "staircase, bundled, sets as ids": staircase(
        8.0, tau=0.0004, frequency_power=0.0, embedding=None
    ),
    "mahalanobis, round": words(mechanism="mahalanobis", epsilon=2.0, lam=0.0),
    "mahalanobis, half": words(mechanism="mahalanobis", epsilon=2.0, lam=0.5),
    "mahalanobis, full": words(mechanism="mahalanobis", epsilon=2.0, lam=1.0),
    "mahalanobis, adapted": words(
        mechanism="mahalanobis", epsilon=2.0, lam=0.5, embedding="adapted.ink"
    ),
    "laplace": words(mechanism="laplace", epsilon=2.0),
    "laplace, far out": words(mechanism="laplace", epsilon=0.01),
    "component-laplace": words(mechanism="component-laplace", epsilon=1.5),
    "angular-laplace": words(mechanism="angular-laplace", epsilon=3.0, accept_no_guarantee=True),
    "exponential": words(mechanism="exponential", epsilon=6.0, bigram=0.0, bounding="clip"),
    "exponential, rescaled": words(
        mechanism="exponential", epsilon=6.0, bigram=0.0, bounding="rescale"
    ),
    "exponential, spelling": words(
        mechanism="exponential", epsilon=6.0, bigram=0.25, bounding="clip"
    ),
    # kinds, lengths, classes of tokens
    "staircase, bag": staircase(release="bag"),
    "staircase, bag of 6": staircase(release="bag", length=6),
    # filled to the next size, which is what None says
    "staircase, grid": staircase(length=None),
    "staircase, grid, bag": staircase(length=None, release="bag"),
    "staircase, grid, kept": staircase(length=None, keep=(*OPEN, "unknown"), drop=()),
    "laplace, grid": words(mechanism="laplace", epsilon=2.0, length=None),
    "staircase, length 5": staircase(length=5),
    "staircase, length 30": staircase(length=30),
    "laplace, bag of 6": words(mechanism="laplace", epsilon=2.0, release="bag", length=6),
    "laplace, length 30": words(mechanism="laplace", epsilon=2.0, length=30),
    "staircase, names replaced": staircase(names="blur"),
    "staircase, names kept": staircase(names="keep"),
    "staircase, sentence ends": staircase(keep=("sentence-ends",), drop=("punctuation",)),
    "staircase, punctuation": staircase(keep=OPEN, drop=()),
    "staircase, rest kept": staircase(keep=("unknown", "numbers", "addresses", "stop-words")),
    "staircase, rest dropped": staircase(
        drop=(*OPEN, "unknown", "numbers", "addresses", "stop-words")
    ),
    "staircase, kept in length 5": staircase(keep=("punctuation", "unknown"), drop=(), length=5),
    # whole texts
    "pool": {**POOLED, "pool": "plain.pool", "epsilon": 5.0, "tau": 0.05},
    "pool, labels": {**POOLED, "pool": "labels.pool", "epsilon": 5.0, "tau": 0.05},
    "pool, strong": {**POOLED, "pool": "labels.pool", "epsilon": 1.0, "tau": 0.3},
}
VECTORS: dict[str, Any] = {
    **{"release": "tf", "length": 8, "drop": (), "names": "null"},
    **{"morphology": "lower", "weighting": "tf", "wordnet": False},
}
TF: dict[str, dict[str, Any]] = {
    name: {**words(), **VECTORS, **own}
    for name, own in {
        "tf exponential": {
            "mechanism": "exponential", "epsilon": 5.0, "bigram": 0.0, "bounding": "clip",
        },
        "tf staircase": {**STAIRCASE, "epsilon": 4.0},
        "tf names count": {**STAIRCASE, "epsilon": 4.0, "names": "blur"},
        "tf lemmas": {**STAIRCASE, "epsilon": 4.0, "morphology": "lemma"},
        "tf reference": {**STAIRCASE, "epsilon": 4.0, "tau": 0.1, "reference": "reference.txt"},
        "tf-idf": {
            **STAIRCASE,
            **{"epsilon": 4.0, "tau": 0.1, "weighting": "tf-idf", "reference": "reference.txt"},
        },
    }.items()
}  # fmt: skip
_FILES = ("embedding", "pool", "reference")


def spec_of(setting: dict[str, Any], place: Path, **own: Any) -> ReleaseSpec:
    given = {"keep_order": True, **setting, **own}
    files = {name: str(place / given[name]) for name in _FILES if given.get(name) is not None}
    return ReleaseSpec.of(**{**given, **files})


def key() -> inkblur.Rng:
    return inkblur.keyed_rng(KEY)


def listed(spec: ReleaseSpec, *, ids: Sequence[str] | None = None, rng: Any = None) -> list[str]:
    rng = key() if rng is None else rng
    texts: list[str] = inkblur.privatize(TEXTS, spec=spec, ids=ids, rng=rng, ledger=False).texts
    return texts


def counted(file: Path) -> list[str]:
    """The rows of a file of tf vectors, a line each."""
    rows = [json.loads(line)["counts"] for line in file.read_text().splitlines()]
    return [json.dumps(row, sort_keys=True) for row in rows]


def write(folder: Path, suffix: str, columns: Mapping[str, Sequence[str]]) -> Path:
    """A file of these columns."""
    file, rows = folder / f"in.{suffix}", list(zip(*columns.values(), strict=True))
    if suffix == "txt":
        file.write_text("".join(text.replace("\n", " ") + "\n" for text in columns["text"]))
    elif suffix == "jsonl":
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
        file.write_text("".join(line + "\n" for line in lines))
    elif suffix == "parquet":
        pq.write_table(pa.table({name: list(cells) for name, cells in columns.items()}), file)
    else:
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t" if suffix == "tsv" else ",")
            writer.writerows([tuple(columns), *rows])
    return file


def read(file: Path, column: str = "text") -> list[str]:
    """A column of a released file."""
    if file.suffix == ".txt":
        return file.read_text().split("\n")[:-1]
    if file.suffix == ".jsonl":
        return [json.loads(line)[column] for line in file.read_text().splitlines()]
    if file.suffix == ".parquet":
        return [str(text) for text in pq.read_table(file)[column].to_pylist()]
    with file.open(newline="") as opened:
        rows = csv.DictReader(opened, delimiter="\t" if file.suffix == ".tsv" else ",")
        return [row[column] for row in rows]


def by_file(
    spec: ReleaseSpec, folder: Path, suffix: str, columns: Mapping[str, Sequence[str]], **how: Any
) -> Path:
    source, out = write(folder, suffix, columns), folder / f"out.{suffix}"
    out.unlink(missing_ok=True)
    inkblur.privatize_file(source, out, spec, **{"rng": key(), "ledger": False, **how})
    return out


def digest(drawn: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(drawn).encode()).hexdigest()[:20]


def two_columns(place: Path, folder: Path, **own: Any) -> list[str]:
    spec = spec_of(SETTINGS["staircase"], place, columns=("title", "text"), **own)
    columns = {"id": IDS, "title": TEXTS[::-1], "text": TEXTS}
    out = by_file(spec, folder, "csv", columns)
    return [*read(out, "title"), *read(out)]


def vectors(name: str, place: Path, folder: Path, **own: Any) -> list[str]:
    source = write(folder, "csv", {"id": IDS, "text": TEXTS})
    out = folder / "out.jsonl"
    spec = spec_of(TF[name], place, id_column="id", **own)
    inkblur.privatize_file(source, out, spec, rng=key(), ledger=False)
    return counted(out)


def one_by_one(place: Path, folder: Path) -> list[str]:
    """Texts and words through their own doors: each call draws anew."""
    law, rng = inkblur.Privatizer(_laplace(), release="sequence", length="exact"), key()
    texts = [law.release(text, rng).text for text in (*TEXTS, *TEXTS)]
    single = [" ".join(_laplace().release(text.split(), rng).words) for text in TEXTS]
    return [*texts, *single]


def _laplace() -> Laplace:
    return Laplace(toy(), epsilon=2.0)


def every_class(treatment: str) -> Case:
    """Every policy by its name, so that none of them is a default."""
    named = inkblur.TokenPolicies(
        stop_words=Treatment(treatment),
        unknown=Treatment(treatment),
        numbers=Treatment(treatment),
        addresses=Treatment(treatment),
        punctuation=Treatment.DROP,
        sentence_ends=Treatment.DROP,
        names=Treatment.NULL,
    )

    def drawn(place: Path, folder: Path) -> list[str]:
        law = inkblur.Privatizer(_laplace(), release="sequence", policies=named, length="exact")
        records = [inkblur.Record(id, text) for id, text in zip(IDS, TEXTS, strict=True)]
        return list(law.release_batch(records, key()).texts)

    return drawn


def of_caller(caller: str) -> Case:
    def drawn(place: Path, folder: Path) -> list[str]:
        spec = spec_of(SETTINGS["staircase"], place, id_column="id")
        return read(by_file(spec, folder, "csv", {"id": IDS, "text": TEXTS}, caller=caller))

    return drawn


def by_list(name: str, **own: Any) -> Case:
    return lambda place, folder: listed(spec_of(SETTINGS[name], place), **own)


def by_seed(name: str) -> Case:
    return lambda place, folder: listed(spec_of(SETTINGS[name], place), rng=inkblur.seeded_rng(7))


def as_vectors(name: str) -> Case:
    return lambda place, folder: vectors(name, place, folder)


def by_column(**own: Any) -> Case:
    return lambda place, folder: two_columns(place, folder, **own)


CASES: dict[str, Case] = {
    **{name: by_list(name) for name in SETTINGS},
    **{f"{name}; ids": by_list(name, ids=IDS) for name in ("staircase", "laplace", "pool, labels")},
    **{f"{name}; seed": by_seed(name) for name in ("staircase", "laplace", "pool, labels")},
    **{name: as_vectors(name) for name in TF},
    "two columns": by_column(),
    "two columns; ids": by_column(id_column="id"),
    "caller alice": of_caller("alice"),
    "caller é:1": of_caller("é:1"),
    "calls": one_by_one,
    "laplace, every class dropped; ids": every_class("drop"),
}


def stored() -> dict[str, str]:
    known: dict[str, str] = json.loads(STORED.read_text())
    return known


@pytest.mark.parametrize("name", CASES)
def test_a_key_draws_the_words_that_it_always_drew(name: str, place: Path, tmp_path: Path) -> None:
    assert digest(CASES[name](place, tmp_path)) == stored()[name]


def test_classes_that_are_named_draw_what_a_spec_draws(place: Path, tmp_path: Path) -> None:
    assert digest(every_class("blur")(place, tmp_path)) == stored()["laplace; ids"]


def test_nothing_is_stored_that_is_not_drawn() -> None:
    assert [*stored()] == sorted(CASES)
    assert len(set(stored().values())) == len(CASES)


def by_folder(spec: ReleaseSpec, folder: Path, columns: Mapping[str, Sequence[str]]) -> list[str]:
    from inkblur.files.folder import privatize_folder

    for number, rows in enumerate((slice(0, 3), slice(3, None))):
        part = folder / "parts" / f"part={number}"
        part.mkdir(parents=True)
        write(part, "csv", {name: cells[rows] for name, cells in columns.items()})
    privatize_folder(folder / "parts", folder / "out", spec, rng=key(), ledger=False)
    out = folder / "out"
    return [text for number in (1, 2) for text in read(out / f"part-0000{number}.csv")]


FORMATS = ("csv", "tsv", "jsonl", "parquet")
LIFTS = ("staircase", "laplace", "staircase, bag of 6", "pool, labels")


@pytest.mark.parametrize("suffix", [*FORMATS, "txt"])
@pytest.mark.parametrize("name", LIFTS)
def test_a_file_draws_what_a_list_draws(
    name: str, suffix: str, place: Path, tmp_path: Path
) -> None:
    spec = spec_of(SETTINGS[name], place)
    drawn = read(by_file(spec, tmp_path, suffix, {"text": TEXTS}))
    if suffix == "txt":  # a line has no line end: another text
        lines = [text.replace("\n", " ") for text in TEXTS]
        same = inkblur.privatize(lines, spec=spec, rng=key(), ledger=False).texts
        assert drawn == same
        assert digest(drawn[:5]) == digest(CASES[name](place, tmp_path)[:5])
    else:
        assert digest(drawn) == stored()[name]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", ["staircase", "laplace", "pool, labels"])
def test_a_file_with_ids_draws_what_a_list_with_ids_draws(
    name: str, suffix: str, place: Path, tmp_path: Path
) -> None:
    """Whoever's records they are, however many workers draw, in whatever batches."""
    spec = spec_of(SETTINGS[name], place, id_column="id", person_column="who")
    columns = {"who": ["ann", "bob"] * 4, "id": IDS, "text": TEXTS}
    for workers in (1, 4):
        drawn = read(by_file(spec, tmp_path, suffix, columns, workers=workers, caller=""))
        assert digest(drawn) == stored()[f"{name}; ids"]


@pytest.mark.parametrize("name", ["staircase", "laplace", "pool, labels"])
def test_memory_draws_what_a_list_draws(name: str, place: Path, tmp_path: Path) -> None:
    spec, expected = spec_of(SETTINGS[name], place), stored()[name]
    kinds: list[Any] = [pa.array(TEXTS), pa.chunked_array([TEXTS[:3], TEXTS[3:]]), tuple(TEXTS)]
    for texts in (*kinds, np.array(TEXTS, dtype=object)):
        drawn = inkblur.privatize(texts, spec=spec, rng=key(), ledger=False).texts
        assert digest([str(text) for text in drawn]) == expected
    pandas = pytest.importorskip("pandas")
    series = inkblur.privatize(pandas.Series(TEXTS), spec=spec, rng=key(), ledger=False).texts
    assert digest(list(series)) == expected


@pytest.mark.parametrize("name", ["staircase", "laplace", "pool, labels"])
def test_arrow_and_folders_draw_what_a_list_draws(name: str, place: Path, tmp_path: Path) -> None:
    spec = spec_of(SETTINGS[name], place, id_column="id")
    columns = {"id": IDS, "text": TEXTS}
    assert digest(by_folder(spec, tmp_path, columns)) == stored()[f"{name}; ids"]
    batch = pa.record_batch(columns)
    from inkblur import arrow

    out = arrow.release(batch, spec, key_file=place / "key", ledger=False)
    assert digest([str(text) for text in out["text"].to_pylist()]) == stored()[f"{name}; ids"]


def test_the_command_draws_what_a_list_draws(place: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from inkblur.cli.app import app

    source, out = write(tmp_path, "csv", {"id": IDS, "text": TEXTS}), tmp_path / "out.csv"
    given = (
        f"privatize {source} --output {out} --set embedding={place / 'toy.ink'} --key-file "
        f"{place / 'key'} --ledger none --mechanism staircase --epsilon 4 --set tau=0.06 "
        "--set frequency_power=0.5 --set near=vector --drop punctuation --drop sentence-ends "
        "--set names=null --column text --id id --keep-order --length exact --set accept_weak=true"
    )
    told = CliRunner().invoke(app, given.split())
    assert told.exit_code == 0, told.output
    assert digest(read(out)) == stored()["staircase; ids"]


def test_a_server_draws_what_a_list_draws(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from fastapi.testclient import TestClient

    from inkblur.service.application import ServiceSettings, make_application

    served = ServiceSettings(
        inkblur.keyed_rng(KEY),
        tmp_path / "uploads",
        str(tmp_path / "ledger.db"),
        embedding=str(place / "toy.ink"),
        pool=str(place / "labels.pool"),
    )
    staircase = {
        **{"mechanism": "staircase", "epsilon": 4.0, "drop": OPEN, "names": "null"},
        "length": "exact",
        "parameters": {"tau": 0.06, "frequency_power": 0.5},
    }
    pooled = {"unit": "text", "epsilon": 5.0, "parameters": {"tau": 0.05}}
    with TestClient(make_application(served), "http://127.0.0.1:8642") as client:
        for name, setting in (("staircase; ids", staircase), ("pool, labels; ids", pooled)):
            told = client.post("/v1/release", json={"texts": TEXTS, "ids": IDS, "setting": setting})
            assert told.status_code == 200, told.text
            assert digest(told.json()["texts"]) == stored()[name]


def test_scikit_learn_draws_what_a_list_draws_whose_ids_are_places(place: Path) -> None:
    places = [str(number) for number in range(len(TEXTS))]
    table = inkblur.load_embedding(str(place / "toy.ink"))
    words = inkblur.Privatizer(Laplace(table, epsilon=2.0), release="sequence", length="exact")
    drawn = PoolPrivatizer(PoolStaircase(pool(2), table, epsilon=5.0, tau=0.05))
    for name, own in (("laplace", words), ("pool, labels", drawn)):
        spec = spec_of(SETTINGS[name], place)
        expected = listed(spec, ids=places)
        for described in ({"privatizer": own}, {"spec": spec}):
            law = inkblur.TextPrivatizer(**described, key=KEY)
            assert law.fit_transform(TEXTS) == expected


def test_vectors_draw_alike_from_a_file_and_in_scikit_learn(place: Path, tmp_path: Path) -> None:
    table = inkblur.load_embedding(str(place / "toy.ink"))
    vectorizer = inkblur.Vectorizer(
        table, morphology="lower", weighting="tf", names="null", synonyms=False
    )
    mechanism = Exponential(vectorizer.embedding, epsilon=5.0, bigram=0.0, bounding="clip")
    own = SyntheticVectors(mechanism, vectorizer, 8)
    law = inkblur.TextPrivatizer(privatizer=own, key=KEY)
    rows = law.fit_transform(TEXTS).toarray()
    named = [
        json.dumps(
            {law.get_feature_names_out()[i]: int(row[i]) for i in row.nonzero()[0]}, sort_keys=True
        )
        for row in rows
    ]
    source = write(tmp_path, "csv", {"id": [str(i) for i in range(8)], "text": TEXTS})
    spec = spec_of(TF["tf exponential"], place, id_column="id")
    inkblur.privatize_file(source, tmp_path / "out.jsonl", spec, rng=key(), ledger=False)
    assert counted(tmp_path / "out.jsonl") == named


def write_digests() -> None:
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as spare:
        place = ingredients(Path(made))
        drawn = {name: digest(case(place, Path(spare))) for name, case in sorted(CASES.items())}
    STORED.write_text(json.dumps(drawn, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_digests()
