"""How long does a large GloVe text file take to import, and how much memory?

Generates a file of the size of GloVe 6B 300-d (400,000 x 300, about 1 GB) in a temporary folder,
imports it in a process of its own, opens the result, and removes everything.

    python benchmarks/embedding_import.py
    python benchmarks/embedding_import.py --words 40000 --suffix .gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

POOL = 200_000  # distinct numbers; each line is a window into them

IMPORT = """
import json, resource, sys
from inkblur import import_embedding
done = import_embedding(sys.argv[1], sys.argv[2])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": done.seconds,
    "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),  # holds on a busy machine too
    "peak_bytes": usage.ru_maxrss * 1024,
    "words": len(done.embedding),
}))
"""

OPEN = """
import json, sys, time
from pathlib import Path
import numpy, pyarrow
from inkblur import load_embedding
times = []
for _ in range(5):
    began = time.perf_counter()
    table = load_embedding(Path(sys.argv[1]))
    opened = time.perf_counter()
    table.id("w17")
    times.append((opened - began, time.perf_counter() - opened))
    del table  # or the next opening would be charged for tearing this one down
print(json.dumps({"first": times[0], "best": min(times)}))
"""


def generate(path: Path, words: int, dimension: int, seed: int) -> None:
    """Write lines such as "w17 0.12345 -0.2345 ...": five significant digits, as GloVe does."""
    rng = np.random.default_rng(seed)
    fields = [f"{value:.5g}".encode() for value in rng.normal(0, 0.38, POOL)]
    text = b" ".join(fields)
    starts = np.cumsum([0] + [len(field) + 1 for field in fields]).tolist()
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        for word, first in enumerate(rng.integers(0, POOL - dimension, words).tolist()):
            numbers = text[starts[first] : starts[first + dimension] - 1]
            file.write(b"w%d %b\n" % (word, numbers))


def in_a_process(script: str, *arguments: Path) -> dict[str, object]:
    """Run `script` apart, so that its peak memory is its own; its JSON line."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


def main() -> None:
    """Measure once and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--suffix", choices=["", ".gz"], default="")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"glove.txt{options.suffix}"
        dest = Path(folder) / "glove.ink"
        began = time.perf_counter()
        generate(source, options.words, options.dimension, options.seed)
        print(f"generated in {time.perf_counter() - began:.1f} s", file=sys.stderr)
        size = source.stat().st_size
        imported = in_a_process(IMPORT, source, dest)
        opened = in_a_process(OPEN, dest)
    seconds, peak = imported["seconds"], imported["peak_bytes"]
    assert isinstance(seconds, float)
    assert isinstance(peak, int)
    record = {
        "words": imported["words"],
        "dimension": options.dimension,
        "source_mb": round(size / 1e6, 1),
        "seconds": round(seconds, 2),
        "cpu_seconds": imported["cpu_seconds"],
        "mb_per_second": round(size / 1e6 / seconds, 1),
        "peak_mb": round(peak / 1e6, 1),
        "open_and_first_lookup_seconds": opened,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
