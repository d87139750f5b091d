"""How fast, how large and how near is a pool of a million sentences?

    python benchmarks/large_pool.py [--sentences 1000000] [--release 20000] [--folder DIR]
    python benchmarks/large_pool.py --cuda [--release 200000]

Sentences are those of the corpora that INKBLUR_DATA names, and more of them put together from the
first half of one and the second half of another. Building and releasing are processes of their own;
seconds, processor time and peak memory are theirs, reading and starting included. What
cells cost in nearness is measured on private sentences: the mean cosine of a sentence and of texts
drawn from its near set, by cells and exactly. With --cuda, draws from an exact pool of made texts
(no data needed): how many a second, and whether they are those of the processor.
A JSON line a result.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import inkblur

SHARES = (0.0001, 0.001, 0.01)
LETTERS = "bcdfghjklmnpqrstvwxyz"
COMPARED = 100  # private sentences whose near texts are looked at


def shown(**values: Any) -> None:
    """Print a result."""
    print(json.dumps(values), flush=True)


def sentences(text: str) -> list[str]:
    """The sentences of a text, on one line each."""
    return re.split(r"(?<=[.!?]) ", " ".join(text.split()))


def real_sentences() -> Iterator[str]:
    """Sentences of the corpora, private ones (C50's test part) left out."""
    from reproduction.corpora import english_novels, newsgroups, reuters_c50
    from reproduction.newsgroups import bare

    for part in (reuters_c50().train, english_novels().train, bare(newsgroups().train)):
        for text in part.texts:
            yield from sentences(text)


def made_sentences(count: int) -> Iterator[list[str]]:
    """So many distinct sentences of at least five words, as rows of a table."""
    seen: set[int] = set()
    kept: list[str] = []
    for sentence in real_sentences():
        if len(sentence.split()) >= 5 and hash(sentence) not in seen and len(sentence) < 400:
            seen.add(hash(sentence))
            kept.append(sentence)
            if len(kept) <= count:
                yield [sentence]
    rng = np.random.default_rng(0)
    for _ in range(count - len(kept)):
        first, second = (kept[i].split() for i in rng.integers(0, len(kept), 2))
        yield [" ".join(first[: len(first) // 2] + second[len(second) // 2 :])]


def step(folder: Path, *words: str) -> dict[str, float]:
    """Run a step in a process of its own: seconds, processor seconds, peak memory in MB."""
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called = [sys.executable, __file__, "--folder", str(folder), "--step", *words]
    subprocess.run(called, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(used, 1),
        "peak_mb": round(after.ru_maxrss / 1024),  # of the largest process so far
    }


def build(folder: Path) -> None:
    """What `inkblur pool build` does."""
    with (folder / "public.csv").open(newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    inkblur.write_pool(
        folder / "large.pool", inkblur.build_pool(texts, inkblur.load_embedding(), name="large")
    )


def release(folder: Path, *, processes: bool) -> None:
    """What `inkblur privatize --unit text --pool FILE` does."""
    spec = inkblur.ReleaseSpec.of(
        epsilon=6.0, unit="text", pool=str(folder / "large.pool"), tau=0.001
    )
    inkblur.privatize_file(
        folder / "private.csv",
        folder / "out.csv",
        spec,
        workers=2,
        processes=processes,
        ledger=False,
    )


def build_and_release(folder: Path, count: int, released: int) -> None:
    """Both, and what cells cost."""
    from reproduction.corpora import reuters_c50

    if not (folder / "public.csv").exists():
        _write(folder / "public.csv", made_sentences(count))
    texts = [s for t in reuters_c50().test.texts for s in sentences(t)]
    _write(folder / "private.csv", ([text] for text in texts[:released]))
    load = os.getloadavg()[0]
    shown(what="build", sentences=count, load=load, **step(folder, "build"))
    for words in (("release",), ("release", "--processes")):
        found = step(folder, *words)
        rate = min(released, len(texts)) / found["seconds"]
        shown(what=" ".join(words), sentences_per_second=round(rate), **found)
    pool = inkblur.open_pool(folder / "large.pool")
    nearness(pool, texts[:: max(1, len(texts) // COMPARED)][:COMPARED])


def nearness(pool: inkblur.Pool, texts: Sequence[str]) -> None:
    """Mean cosines within the near set, by cells and exactly."""
    mechanism = inkblur.PoolStaircase(pool, inkblur.load_embedding(), epsilon=6.0, tau=0.001)
    middles = pool.cell_points.astype(np.float32)
    sums = {share: np.zeros(2) for share in SHARES}
    for point in mechanism.encode(texts).points.astype(np.float32):
        blocks = [
            pool.points[first:stop].astype(np.float32) @ point
            for first, stop in pairwise(pool.cells.tolist())
        ]
        cells = np.argsort(-(middles @ point), kind="stable").tolist()
        by_cells = np.concatenate([-np.sort(-blocks[cell]) for cell in cells])
        exactly = -np.sort(-np.concatenate(blocks))
        for share in SHARES:
            near = max(1, round(share * len(pool)))
            sums[share] += [float(each[:near].mean()) / 2**24 for each in (by_cells, exactly)]
    for share in SHARES:
        by_cell, exact = sums[share] / len(texts)
        shown(what="nearness", share=share, by_cells=round(by_cell, 4), exact=round(exact, 4))


def on_a_gpu(count: int, draws: int, device: str) -> None:
    """The exact search: random texts of a made vocabulary, and a pool of points around them."""
    rng = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in LETTERS]
    table = inkblur.Embedding(words, rng.standard_normal((len(words), 200)), name="made")
    texts = [" ".join(rng.choice(words, 12)) for _ in range(draws)]
    sample = inkblur.build_pool(texts[:2000], table, name="made")
    # A million texts at points between those of two real ones, in one cell.
    points = np.empty((count, 200), dtype=np.int16)
    for start in range(0, count, 1 << 16):
        pairs = rng.integers(0, len(sample), (2, min(1 << 16, count - start)))
        near = sample.points[pairs].astype(np.float32).sum(axis=0)
        near *= 4060 / np.linalg.norm(near, axis=1, keepdims=True)
        points[start : start + len(near)] = np.rint(near)
    pool = inkblur.Pool(
        texts=range(count),  # type: ignore[arg-type]  # nobody reads them here
        points=points,
        center=sample.center,
        cells=np.array([0, count]),
        cell_points=points[:1],
        cell_labels=np.array([0]),
        label_names=("",),
        given=np.zeros(count, dtype=np.int64),
        classifier=None,
        encoder=sample.encoder,
        provenance={"name": "made"},
    )
    bits = inkblur.seeded_rng(1).bits(draws, 1)[:, 0]
    mechanism = inkblur.PoolStaircase(pool, table, epsilon=6.0, tau=0.001)
    began = time.perf_counter()
    encoded = mechanism.encode(texts)
    shown(what="encoding", texts_per_second=round(draws / (time.perf_counter() - began)))
    few = mechanism.encode(texts[:100])
    for share in SHARES:
        mechanism = inkblur.PoolStaircase(pool, table, epsilon=6.0, tau=share)
        checked = mechanism.draw(few, bits[:100])  # on the processor
        mechanism.search_on(device)
        mechanism.draw(few, bits[:100])
        began = time.perf_counter()
        found = mechanism.draw(encoded, bits)
        seconds = time.perf_counter() - began
        shown(
            what="exact draws", device=device, texts=count, share=share, draws=draws,
            draws_per_second=round(draws / seconds),
            as_on_the_processor=int((found[:100] == checked).sum()), of=100,
        )  # fmt: skip


def _write(path: Path, rows: Iterator[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text"]])
        csv.writer(file).writerows(rows)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--release", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--step", choices=("build", "release"), help=argparse.SUPPRESS)
    parser.add_argument("--processes", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    if given.step == "build":
        build(given.folder)
    elif given.step == "release":
        release(given.folder, processes=given.processes)
    elif given.cuda:
        on_a_gpu(given.sentences, given.release, given.device)
    else:
        with tempfile.TemporaryDirectory() as made:
            build_and_release(given.folder or Path(made), given.sentences, given.release)


if __name__ == "__main__":
    main()
