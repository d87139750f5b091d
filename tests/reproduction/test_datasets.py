"""Data that is missing or other than stated is named, with the place of the original."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inkblur.errors import InputError
from reproduction.context import Context
from reproduction.datasets import SOURCES, Datasets


@pytest.mark.parametrize(
    ("attribute", "key"), [("glove", "glove"), ("sms", "sms"), ("newsgroups", "newsgroups")]
)
def test_a_missing_file_says_where_it_is_downloaded(
    tmp_path: Path, attribute: str, key: str
) -> None:
    with pytest.raises(InputError, match="public original is at") as error:
        getattr(Datasets(tmp_path), attribute)
    assert SOURCES[key].origin in str(error.value)


def test_other_counts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / SOURCES["sms"].path
    file.parent.mkdir()
    file.write_text("ham\thello\nspam\twin\n")
    with pytest.raises(InputError, match="its makers state"):
        _ = Datasets(tmp_path).sms


def test_an_experiment_gets_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    work = Context("made/up", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path)
    assert len(work.datasets.bundled) > 0  # part of Inkblur
    for name in (*SOURCES, "syntf"):
        with pytest.raises(RuntimeError, match="not among its needs"):
            getattr(work.datasets, name)


def test_what_is_lent_is_loaded_once(tmp_path: Path) -> None:
    datasets = Datasets(tmp_path)
    assert datasets.restricted_to("a", ()).bundled is datasets.restricted_to("b", ()).bundled


def test_other_words_for_the_same_vectors_are_other_data(tmp_path: Path) -> None:
    (vectors, _), (words, _) = SOURCES["glove"].files
    (tmp_path / vectors).parent.mkdir()
    (tmp_path / vectors).write_bytes(b"rows")

    def digest(names: str) -> str:
        (tmp_path / words).write_text(names)
        return Datasets(tmp_path).digest("glove")

    assert digest("cat dog") == digest("cat dog") != digest("dog cat")
    (tmp_path / words).unlink()
    with pytest.raises(InputError, match=r"vocab\.txt is not in the data folder"):
        Datasets(tmp_path).digest("glove")


def test_real_collections_are_what_they_say(data_folder: Path) -> None:
    datasets = Datasets(data_folder)
    assert len(datasets.sms) == 5_574
    assert len(datasets.tweets) == 7_613
    assert len(datasets.pan18(2).test) == 21
    assert len(datasets.word2vec) == 7_895
    assert datasets.notes == []


def test_another_packing_is_used_and_noted(data_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / SOURCES["sms"].path
    file.parent.mkdir()
    shutil.copyfile(data_folder / SOURCES["sms"].path, file)
    file.chmod(0o644)
    with file.open("ab") as stream:
        stream.write(b"\n")
    datasets = Datasets(tmp_path)
    assert len(datasets.sms) == 5_574
    assert len(datasets.notes) == 1
    assert "another packing" in datasets.notes[0]
