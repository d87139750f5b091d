"""Release the texts of a Polars frame."""

import os
import tempfile
from pathlib import Path

import polars as pl

import inkblur
from inkblur.engines.polars import privatize
from inkblur.rng import write_key

ids, texts = [1, 2], ["the soup was cold", "a kind waiter"]
spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

with tempfile.TemporaryDirectory() as folder:
    write_key(Path(folder, "key"))  # yours comes from `inkblur keygen`
    os.environ["INKBLUR_KEY_FILE"] = f"{folder}/key"  # where workers find it
    os.environ["INKBLUR_LEDGER"] = f"{folder}/ledger.db"
    released = privatize(pl.DataFrame({"id": ids, "text": texts}), spec)
    again = privatize(pl.DataFrame({"id": ids, "text": texts}), spec)
    print(released, "the same again:", released.equals(again))
