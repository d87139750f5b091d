"""Release the texts of a Ray dataset, by one actor."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import ray

import inkblur
from inkblur.engines.ray import privatize
from inkblur.rng import write_key

ids, texts = [1, 2], ["the soup was cold", "a kind waiter"]
spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

with tempfile.TemporaryDirectory() as folder:
    write_key(Path(folder, "key"))  # yours comes from `inkblur keygen`
    os.environ["INKBLUR_KEY_FILE"] = f"{folder}/key"  # where workers find it
    os.environ["INKBLUR_LEDGER"] = f"{folder}/ledger.db"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    reviews = ray.data.from_arrow(pa.table({"id": ids, "text": texts}))
    print(privatize(reviews, spec, workers=1).take_all())
    ray.shutdown()
