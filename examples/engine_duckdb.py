"""Release the texts of a DuckDB query."""

import os
import tempfile
from pathlib import Path

import duckdb

import inkblur
from inkblur.engines.duckdb import privatize
from inkblur.rng import write_key

ids, texts = [1, 2], ["the soup was cold", "a kind waiter"]
spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

with tempfile.TemporaryDirectory() as folder:
    write_key(Path(folder, "key"))  # yours comes from `inkblur keygen`
    os.environ["INKBLUR_KEY_FILE"] = f"{folder}/key"  # where workers find it
    os.environ["INKBLUR_LEDGER"] = f"{folder}/ledger.db"
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE reviews AS SELECT unnest(?) AS id, unnest(?) AS text", [ids, texts]
        )
        print(privatize(connection, "FROM reviews", spec).fetchall())
