"""Which noise a file's records draw: by content and occurrence, apart for each column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur import Privatizer
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import PrivateCalibration
from inkblur.files import open_sink, open_source
from inkblur.files.records import Occurrences, digest
from inkblur.files.summary import Summary
from inkblur.files.vectors import run_vectors
from inkblur.mechanisms.laplace import Laplace
from inkblur.release import Release
from inkblur.rng import keyed_rng, secure_rng
from tests.files.passing import opened
from tests.files.releasing import run
from tests.laws.catalogue import PRIVATE, label, make

KEY = bytes(range(32))


def released(
    folder: Path, lines: list[str], toy: Embedding, skip: bool = False, **options: Any
) -> tuple[list[str], Summary]:
    path, out = folder / "in.csv", folder / "out.csv"
    path.write_text("\n".join(lines) + "\n")
    blur = Privatizer(Laplace(toy, epsilon=0.3))
    with opened(path, **options) as source, open_sink(out, source) as sink:
        summary = run(source, sink, blur, keyed_rng(KEY), batch_records=3, skip_public=skip)
    assert isinstance(summary, Summary)
    return out.read_text().splitlines()[1:], summary


def test_a_deleted_row_redraws_no_other(tmp_path: Path, toy: Embedding) -> None:
    texts = [" ".join(toy.words[i : i + 6]) for i in range(10)]
    before, _ = released(tmp_path, ["text", *texts], toy)
    for gone in (0, 4, 9):
        after, _ = released(tmp_path, ["text", *texts[:gone], *texts[gone + 1 :]], toy)
        assert after == before[:gone] + before[gone + 1 :]
    # One that is changed changes alone, and one that moves keeps its draw.
    changed, _ = released(tmp_path, ["text", *texts[:4], "wordaa wordab", *texts[5:]], toy)
    assert [i for i in range(10) if changed[i] != before[i]] == [4]
    assert released(tmp_path, ["text", *texts[::-1]], toy)[0] == before[::-1]


def test_equal_texts_draw_independently_and_are_counted(tmp_path: Path, toy: Embedding) -> None:
    text = " ".join(toy.words)
    out, summary = released(tmp_path, ["text", *[text] * 7], toy)
    assert len(set(out)) == 7  # in batches of three, too
    assert any(line.startswith("6 texts repeat an earlier one") for line in summary.lines())
    assert summary.to_json()["documents"]["repeated"] == 6
    # The same with ids of the user's own.
    _, summary = released(
        tmp_path, ["id,text", *(f"{i},{text}" for i in range(7))], toy, id_column="id"
    )
    assert summary.fate.repeated == 6


def test_columns_of_one_record_draw_independently(tmp_path: Path, toy: Embedding) -> None:
    text = " ".join(toy.words)
    for options in ({}, {"id_column": "id"}):
        given: dict[str, Any] = {"column": ["a", "b"], **options}
        (row,), _ = released(tmp_path, ["id,a,b", f"7,{text},{text}"], toy, **given)
        _, left, right = row.split(",")
        same = sum(x == y for x, y in zip(left.split(), right.split(), strict=True))
        assert same < len(toy) / 3


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_every_guarantee_says_that_releases_add_up(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    guarantee = make(setting, toy, 1.0).guarantee
    assert any("releases of the same text are added up" in line for line in guarantee.assumptions)


def test_under_a_key_the_guarantee_says_what_runs_show(tmp_path: Path, toy: Embedding) -> None:
    _, summary = released(tmp_path, ["text", "wordaa"], toy)
    assert "under one key, whether a text recurs or was changed between runs" in (
        summary.guarantee.passed
    )
    with open_source(tmp_path / "in.csv") as source, open_sink(tmp_path / "o.csv", source) as sink:
        fresh = run(source, sink, Privatizer(Laplace(toy, epsilon=1.0)), secure_rng())
    assert not any("under one key" in line for line in fresh.guarantee.passed)


def test_ids_that_are_hashes_of_true_texts_never_leave(tmp_path: Path, toy: Embedding) -> None:
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.documents.vectorizer import Vectorizer
    from inkblur.mechanisms.exponential import Exponential

    vectorizer = Vectorizer(toy)
    synthetic = SyntheticVectors(Exponential(vectorizer.embedding, epsilon=2.0), vectorizer, 5)
    (tmp_path / "in.txt").write_text("wordaa\nwordab\n")
    with open_source(tmp_path / "in.txt") as source:
        run_vectors(Release(synthetic, secure_rng()), source, str(tmp_path / "out.jsonl"))
    body = (tmp_path / "out.jsonl").read_text()
    assert '"id": "0"' in body
    assert digest("wordaa").hex() not in body


def test_occurrences_are_those_of_a_plain_count() -> None:
    import random

    chooser = random.Random(1)
    texts = [str(chooser.randrange(200)) for _ in range(2000)]
    counted = Occurrences()
    numbers: list[int] = []
    while len(numbers) < len(texts):
        part = texts[len(numbers) : len(numbers) + chooser.randrange(1, 60)]
        marks = b"".join(digest(text)[:8] for text in part)
        numbers += counted.number(np.frombuffer(marks, dtype="<u8"))
    seen: dict[str, int] = {}
    for text, number in zip(texts, numbers, strict=True):
        seen[text] = seen.get(text, 0) + 1
        assert number == seen[text]
    assert sum(number > 1 for number in numbers) == len(texts) - len(seen)


CORPUS = ["wordaa wordab", "wordab wordac 7", "wordba wordbb", "wordbb wordbc", "wordca wordaa"]


def test_records_of_the_public_corpus_refuse_the_file_or_are_left_out(
    tmp_path: Path, toy: Embedding
) -> None:
    adapted = adapt_embedding(
        toy, CORPUS, {"topic": ["one", "one", "two", "two", "three"]}, alpha=1.0, smoothing=0.5
    )
    rows = ["id,text"]
    rows += [f"{i},{CORPUS[i % 5] if i % 4 == 1 else 'wordca wordcb'}" for i in range(20)]
    with pytest.raises(PrivateCalibration) as caught:
        released(tmp_path, rows, adapted)
    assert "line 3 has the same content words" in str(caught.value)  # in the first batch
    assert "skip_public=True" in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    out, summary = released(tmp_path, rows, adapted, skip=True)
    assert [line.split(",")[0] for line in out] == [str(i) for i in range(20) if i % 4 != 1]
    assert "5 records of the public corpus were left out" in summary.lines()
    assert any("left out" in line for line in summary.guarantee.passed)
