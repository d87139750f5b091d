"""Texts with their authors and labels, read for evaluation: what evaluate and tune share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.errors import InputError, OutputError, ParameterError

if TYPE_CHECKING:
    from inkblur.evaluation.dataset import Dataset
    from inkblur.evaluation.measures.meaning import Judge

_RECORDS, _CHARACTERS = 1 << 14, 1 << 26

Data = Annotated[
    str, typer.Argument(help="A .csv, .tsv, .jsonl or .parquet file with one text per row.")
]
TextColumn = Annotated[str, typer.Option(help="Column that holds the text.")]
AuthorColumn = Annotated[
    str | None,
    typer.Option(help="Column with the author of each text. Reports only number authors."),
]
LabelOption = Annotated[
    str | None, typer.Option(help="Column with the topic or class of each text.")
]
SplitColumn = Annotated[
    str | None,
    typer.Option(help="Column that says train or test (default: a random split by the seed)."),
]
TestShare = Annotated[float, typer.Option(help="Share of the texts to attack and score.")]
Attacks = Annotated[
    str,
    typer.Option(
        help="Comma-separated: likelihood, likelihood-texts, likelihood-lengths, svm-undone, "
        "svm, svm-words, koppel, koppel-cosine, writeprints, writeprints-naive-bayes, "
        "sentence-lengths, text-lengths, stacked."
    ),
]
Scenarios = Annotated[str, typer.Option(help="Suspects, comma-separated: all, top-N.")]
Models = Annotated[
    str,
    typer.Option(
        help="Classifiers of labels, comma-separated: logistic, naive-bayes, svm, neighbors."
    ),
]
USUAL_ATTACKS = (
    "likelihood,likelihood-lengths,text-lengths,sentence-lengths,svm,svm-words,koppel,stacked"
)
USUAL_MODELS = "logistic"


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """Which column holds what."""

    text: str
    author: str | None
    label: str | None
    split: str | None
    secret: str | None = None

    @property
    def others(self) -> list[str]:
        """All that were named but the text's, each once."""
        named = (self.author, self.label, self.split, self.secret)
        return list(dict.fromkeys(name for name in named if name is not None))


def read_dataset(path: str, columns: ChosenColumns, *, test_share: float, seed: int) -> Dataset:
    """All records of a file, numbered and split. A null, blank or NaN author or label is
    missing.
    """
    from inkblur.evaluation.dataset import make_dataset

    if columns.author is None and columns.label is None and columns.secret is None:
        raise ParameterError("nothing to measure: add --author-column, --label-column or both")
    texts, found = read_columns(path, columns.text, columns.others)
    return make_dataset(
        texts,
        authors=found[columns.author] if columns.author is not None else None,
        labels=found[columns.label] if columns.label is not None else None,
        secrets=found[columns.secret] if columns.secret is not None else None,
        parts=[value or "" for value in found[columns.split]] if columns.split else None,
        test_share=test_share,
        seed=seed,
    )


def read_columns(
    path: str, text: str, others: list[str]
) -> tuple[list[str], dict[str, list[str | None]]]:
    """All texts of a file and the values beside them; null, blank and NaN ones are None."""
    from inkblur.files import Format, Layout, formats, open_source

    texts: list[str] = []
    found: dict[str, list[str | None]] = {name: [] for name in others}
    # Nothing is written here, so every column may be read.
    with open_source(path, Layout((text,), keep=None, option="--text-column")) as source:
        if others and source.format is Format.TXT:
            raise InputError(f"{path} has no columns for authors and labels; use csv or jsonl")
        names = source.names
        for name in others:
            if names is not None and name not in names:
                raise InputError(
                    f"{path} has no column {name!r} among "
                    f"{formats.listed(names)}; check its first line"
                )
        for batch in source.batches(_RECORDS, _CHARACTERS):
            texts += batch.texts
            for row in batch.columns.rows(batch.texts):
                for name in others:
                    found[name].append(_value(row, name))
    if not texts:
        raise InputError(f"{path} has no records")
    for name in others:
        if all(value is None for value in found[name]):
            raise InputError(
                f"the column {name!r} of {path} is empty in every record; choose another, or leave "
                "its option out"
            )
    return texts, found


def _value(row: Mapping[str, object], name: str) -> str | None:
    """The value as text. NaN, which libraries write where a number is missing, is none."""
    from inkblur.files.jsonlines import JsonNumber
    from inkblur.types import is_missing

    value = row.get(name)
    if is_missing(value) or (isinstance(value, JsonNumber) and value == "NaN"):
        return None
    return str(value).strip() or None


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between; none for an empty text."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text: str | None, option: str) -> list[float]:
    """Numbers with commas between; none where the option was not given."""
    try:
        return [float(part) for part in text.split(",")] if text is not None else []
    except ValueError:
        raise ParameterError(
            f"{option} takes numbers separated by commas, such as 5,10,20; got {text!r}"
        ) from None


def make_folder(folder: Path) -> None:
    """Find out before the measuring whether the results can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the directory {folder}: {error.strerror}") from None


def judge(source: str) -> Judge:
    """The judge of meaning that an option names: word vectors, or a folder with a transformer."""
    from inkblur.embeddings.store import load_embedding
    from inkblur.evaluation.measures.meaning import WordMeans
    from inkblur.pools.encoder import TransformerEncoder

    if Path(source).is_dir():
        return TransformerEncoder(source)
    return WordMeans(load_embedding(source))


def write(path: Path, text: str) -> None:
    """Write a file for its owner alone: evaluations show true texts and figures about them."""
    from inkblur.atomic_file import PRIVATE, write_atomically

    write_atomically(path, text, mode=PRIVATE)
