"""Made rows, and what the one-machine run makes of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from inkblur.files.release import privatize_file
from inkblur.ledger import Ledger
from inkblur.rng import keyed_rng, read_key
from inkblur.spec import ReleaseSpec

WORDS = [
    "the",
    "doctor",
    "was",
    "angry",
    "about",
    "a",
    "cold",
    "soup",
    "and",
    "my",
    "late",
    "train",
    "in",
    "rainy",
    "Zürich",
    "42",
    "xqzv",
]


def rows(count: int) -> pa.Table:
    """Texts of two to twelve words, equal ones among them, some empty and some missing."""
    texts = [
        " ".join(WORDS[(i * k + k * k) % len(WORDS)] for k in range(2 + i % 11))
        if i % 17
        else ("" if i % 2 else None)
        for i in range(count)
    ]
    return pa.table(
        {
            "id": pa.array([7 * i for i in range(count)], pa.int64()),
            "text": pa.array(texts, pa.string()),
            "stars": pa.array([i % 5 for i in range(count)], pa.int64()),
            "spare": pa.array(["x"] * count),
        }
    )


def one_machine(table: pa.Table, spec: ReleaseSpec, key_file: Path, folder: Path) -> pa.Table:
    """What `privatize_file` writes for the same rows."""
    source, target = folder / "one-machine.parquet", folder / "one-machine-out.parquet"
    pq.write_table(table, source)
    rng, in_order = keyed_rng(read_key(key_file)), spec.varied(keep_order=True)
    privatize_file(source, target, in_order, rng=rng, ledger=False)
    return pq.read_table(target)


def charged(ledger: Ledger) -> int:
    """Micro-units that all releases in a ledger were charged together."""
    return sum(release["amount"] for release in ledger.history())
