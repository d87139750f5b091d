"""Release the texts of a Hugging Face dataset."""

import os
import tempfile
from pathlib import Path

from datasets import Dataset

import inkblur
from inkblur.engines.datasets import privatize
from inkblur.rng import write_key

ids, texts = [1, 2], ["the soup was cold", "a kind waiter"]
spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

with tempfile.TemporaryDirectory() as folder:
    write_key(Path(folder, "key"))  # yours comes from `inkblur keygen`
    os.environ["INKBLUR_KEY_FILE"] = f"{folder}/key"  # where workers find it
    os.environ["INKBLUR_LEDGER"] = f"{folder}/ledger.db"
    print(privatize(Dataset.from_dict({"id": ids, "text": texts}), spec).to_list())
