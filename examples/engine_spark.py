"""Release the texts of a Spark frame."""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import inkblur
from inkblur.engines.spark import privatize
from inkblur.rng import write_key

ids, texts = [1, 2], ["the soup was cold", "a kind waiter"]
spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

with tempfile.TemporaryDirectory() as folder:
    write_key(Path(folder, "key"))  # yours comes from `inkblur keygen`
    os.environ["INKBLUR_KEY_FILE"] = f"{folder}/key"  # where workers find it
    os.environ["INKBLUR_LEDGER"] = f"{folder}/ledger.db"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").getOrCreate()
    reviews = session.createDataFrame(list(zip(ids, texts, strict=True)), ["id", "text"])
    print(privatize(reviews, spec).collect())
    session.stop()
