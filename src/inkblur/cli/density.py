"""Table 5 of the Mahalanobis paper for `inkblur audit --density`: measured, and printed."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from inkblur.cli.console import print_table, talk

if TYPE_CHECKING:
    from collections.abc import Generator

    from inkblur.embeddings import Embedding
    from inkblur.evaluation.measures.density import Density

_RECORDS, _CHARACTERS = 1 << 14, 1 << 26  # read at a time


def checked_texts(path: str, column: str) -> None:
    """Refuse a file that cannot be read now, and not after the measuring."""
    with closing(_texts(path, column)) as texts:
        next(texts, None)


def measured_density(table: Embedding, path: str | None, column: str) -> Density:
    """The vocabulary's distances and, where a file was named, its records' sparse words."""
    from inkblur.evaluation.measures.density import density

    with talk.status("measuring distances between words"):
        return density(table, None if path is None else _texts(path, column))


def print_density(found: Density) -> None:
    """The paper's columns, and what they mean."""
    from rich.markup import escape
    from rich.table import Table

    count = found.extremes
    table = Table(
        *("distance d to the nearest other word", "value"),
        title=f"density of {escape(found.embedding)}: {found.vocabulary:,} words",
    )
    rows = [
        ("d_max, the sparsest word", f"{found.largest:.3f}"),
        ("d_min, the densest word", f"{found.smallest:.3f}"),
        ("d_max / d_min", f"{found.extreme_ratio:.2f}"),
        (f"mean d of the {count} sparsest", f"{found.sparse_mean:.3f}"),
        (f"mean d of the {count} densest", f"{found.dense_mean:.3f}"),
        ("ratio of the means", f"{found.mean_ratio:.2f}"),
    ]
    if found.same_vector:
        rows.append(("words with the vector of another, d = 0", f"{found.same_vector:,}"))
    if found.mean_share is not None and found.any_share is not None:
        rows += [
            ("records read", f"{found.records:,}"),
            (f"p: share that holds one of the {count} sparsest, mean", f"{found.mean_share:.3%}"),
            (f"share that holds any of the {count} sparsest", f"{found.any_share:.3%}"),
        ]
    for name, value in rows:
        table.add_row(name, value)
    print_table(table)


def _texts(path: str, column: str) -> Generator[str, None, None]:
    from inkblur.files import Layout, open_source

    with open_source(path, Layout((column,), option="--text-column")) as source:
        for batch in source.batches(_RECORDS, _CHARACTERS):
            yield from batch.texts
