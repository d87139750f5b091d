"""How fast words are privatized, beside the other ways to do it, and whether the answers are exact.

All contenders take turns on the same vectors, words and epsilon in one process, so a busy machine
slows them alike: what counts is the ratio, with its spread over the turns, not the rate.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.peak_memory import peak_of
from benchmarks.peer_process import Peer, PeerProcess, Unavailable
from benchmarks.plain_search import NearestSearch, brute_force, numpy_product, numpy_tiled
from inkblur import Embedding, ReleaseSpec, import_embedding, privatize_file
from inkblur.evaluation import Array, Device, Engine, Reference, backend_on, exhaustive

LAMBDA = 0.5  # shape of the Mahalanobis noise, for this program and its peers
BASELINE = "NumPy product + argmax"
TILED = "NumPy tiled"
ENGINE = "inkblur engine"
REFERENCE = "inkblur without its extension"
PRIVATIZE = "inkblur privatize, file to file"
_MOST_SCORES = 1 << 28  # float32 scores the plain way may hold: 1 GB
_DOCUMENT = 50  # words a line of the text that is privatized
_BLOCK = 1 << 15  # rows made at a time where a table is grown

Clock = Callable[[], float]
Turn = Callable[[Clock], float]  # given a clock, the seconds it took
MakeContender = Callable[[], "Contender"]


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to find or replace words, ready to take its turns."""

    name: str
    words: int  # handled in one turn
    turn: Turn
    search: NearestSearch | None = None  # where its answers can be checked
    own_memory: Callable[[], int | None] | None = None  # where it runs in a process of its own


@dataclass(frozen=True, slots=True)
class RaceSetting:
    """What one race is about."""

    words: int  # of the vocabulary
    batch: int  # queries a search
    tokens: int  # words of the text that is privatized
    epsilon: float


@dataclass(frozen=True, slots=True)
class Speed:
    """A contender's result: rates in words a second, ratios to the first contender's."""

    setting: RaceSetting
    name: str
    rate: float  # the median turn's
    slowest: float
    fastest: float
    ratio: float  # median over turns, each against the first contender's turn beside it
    least_ratio: float
    most_ratio: float
    memory: int | None  # bytes at its peak beside the vectors; None where nobody can tell
    agreement: float | None  # share of answers that are the float64 nearest word
    checked: int  # answers compared

    def to_json(self) -> dict[str, Any]:
        """The record with its setting beside it."""
        record = asdict(self)
        return {**record.pop("setting"), **record}


def compare(
    table: Embedding,
    setting: RaceSetting,
    *,
    clock: Clock,
    repeat: int = 5,
    check: int = 0,
    device: Device = Device.CPU,
    threads: int | None = None,
    only: Sequence[str] = (),
    on_skip: Callable[[str], None] = lambda reason: None,
) -> list[Speed]:
    """Race everything that can run here; compare `check` answers with a float64 brute force.

    `table` has as many words as the setting says (see :func:`grown`). `only` names parts of
    contenders' names; `on_skip` hears why one of them cannot run.
    """
    rng = np.random.default_rng()
    queries = noisy(table.vectors, setting.epsilon, setting.batch, rng)
    with TemporaryDirectory() as folder, ExitStack() as opened:
        makers = _makers(table, setting, queries, Path(folder), device, threads, opened)
        wanted = {
            name: make
            for name, make in makers.items()
            if not only or any(part in name for part in only)
        }
        made: list[Contender] = []
        memory: dict[str, int | None] = {}
        for name, make in wanted.items():
            try:
                contender, memory[name] = peak_of(partial(_warmed, make, clock))
            except Unavailable as reason:
                on_skip(f"{name} is not measured: {reason}")
                continue
            if contender.own_memory is not None:
                memory[name] = contender.own_memory()
            made.append(contender)
        seconds = race(made, repeat=repeat, clock=clock)
    searches = {c.name: c.search for c in made if c.search is not None}
    agreed = (
        agreement(table.vectors, searches, noisy(table.vectors, setting.epsilon, check, rng))
        if check
        else {}
    )
    first = made[0] if made else None
    out = []
    for contender in made:
        assert first is not None
        rates = [contender.words / taken for taken in seconds[contender.name]]
        beside = [first.words / taken for taken in seconds[first.name]]
        ratios = [own / other for own, other in zip(rates, beside, strict=True)]
        out.append(
            Speed(
                setting,
                contender.name,
                statistics.median(rates),
                min(rates),
                max(rates),
                statistics.median(ratios),
                min(ratios),
                max(ratios),
                memory[contender.name],
                agreed.get(contender.name),
                check if contender.name in agreed else 0,
            )
        )
    return out


@dataclass(frozen=True, slots=True)
class Quotient:
    """How many times as fast one contender is as another, by their medians in one race."""

    of: str
    to: str
    ratio: float


def quotients(speeds: Sequence[Speed]) -> list[Quotient]:
    """The comparisons that people ask for, of those that ran."""
    rates = {speed.name: speed.rate for speed in speeds}
    pairs = [
        (ENGINE, BASELINE),
        (ENGINE, TILED),
        (ENGINE, peers.FAISS),
        (REFERENCE, BASELINE),
        (PRIVATIZE, ENGINE),
        *((PRIVATIZE, name) for name in peers.MECHANISMS),
    ]
    return [
        Quotient(of, to, rates[of] / rates[to]) for of, to in pairs if of in rates and to in rates
    ]


def race(contenders: Sequence[Contender], *, repeat: int, clock: Clock) -> dict[str, list[float]]:
    """Seconds of each turn by contender; a first round, which only warms up, is not counted."""
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for turn in range(repeat + 1):
        for contender in contenders:
            taken = contender.turn(clock)
            if turn:
                seconds[contender.name].append(max(taken, 1e-9))  # a clock may not have ticked
    return seconds


def grown(table: Embedding, words: int) -> Embedding:
    """The first words of the table; beyond its end, noisy copies of them under made-up names."""
    size = len(table)
    if words <= size:
        return Embedding(table.words[:words], table.vectors[:words], name=table.name)
    rng = np.random.default_rng(0)
    vectors = np.empty((words, table.dimension), dtype=np.float32)
    vectors[:size] = table.vectors
    spread = 0.3 * float(np.std(table.vectors))
    for start in range(size, words, _BLOCK):
        part = vectors[start : start + _BLOCK]
        part[:] = table.vectors[rng.integers(0, size, len(part))]
        part += spread * rng.standard_normal(part.shape, np.float32)
    spelled = (f"grown{_letters(number)}" for number in count())
    fresh = islice((name for name in spelled if name not in table), words - size)  # not "grownup"
    return Embedding((*table.words, *fresh), vectors, name=f"{table.name}, grown")


def noisy(
    vectors: NDArray[np.float32], epsilon: float, count: int, rng: np.random.Generator
) -> Array:
    """Queries of the n-dimensional Laplace mechanism; not for publishing, so NumPy may draw."""
    dimension = vectors.shape[1]
    noise = rng.standard_normal((count, dimension))
    noise *= rng.gamma(dimension, 1 / epsilon, (count, 1)) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    return np.add(vectors[rng.integers(0, len(vectors), count)], noise, dtype=np.float64)


def agreement(
    vectors: NDArray[np.float32], searches: dict[str, NearestSearch], queries: Array
) -> dict[str, float]:
    """The share of each one's answers that are the nearest word by float64 brute force.

    Where an answer differs from the brute force's, `canonical.exhaustive` says which is right: the
    product of a brute force rounds as well.
    """
    wrong = dict.fromkeys(searches, 0)
    for start in range(0, len(queries), 1000):
        part = queries[start : start + 1000]
        plain = brute_force(vectors, part)
        for name, search in searches.items():
            ids = search(part)
            differ = np.flatnonzero(ids != plain)
            if len(differ):
                wrong[name] += int((ids[differ] != exhaustive(vectors, part[differ])).sum())
    return {name: 1 - count / len(queries) for name, count in wrong.items()}


def _makers(
    table: Embedding,
    setting: RaceSetting,
    queries: Array,
    folder: Path,
    device: Device,
    threads: int | None,
    opened: ExitStack,
) -> dict[str, MakeContender]:
    """Every contender's maker by name; the baseline comes first."""
    vectors = table.vectors

    def searching(name: str, make: Callable[[], NearestSearch]) -> Contender:
        search = make()
        return Contender(name, len(queries), _timed(lambda: search(queries)), search)

    def backend() -> NearestSearch:
        engine = Engine(table, backend_on(device, threads=threads))
        return engine.nearest

    def reference() -> NearestSearch:
        plain = Reference(threads=threads)
        plain.put(vectors)
        return plain.nearest

    searches: dict[str, Callable[[], NearestSearch]] = {}
    if setting.batch * len(vectors) <= _MOST_SCORES:
        searches[BASELINE] = lambda: numpy_product(vectors, setting.batch)
    searches[TILED] = lambda: numpy_tiled(vectors)
    searches[peers.FAISS] = lambda: peers.faiss_flat(vectors)
    searches[REFERENCE] = reference
    searches[ENGINE] = backend
    makers: dict[str, MakeContender] = {
        name: partial(searching, name, make) for name, make in searches.items()
    }
    makers[PRIVATIZE] = lambda: _privatize(table, setting, folder, device, threads)
    for name, peer in peers.MECHANISMS.items():
        makers[name] = partial(_peer, name, peer, table, setting, opened)
    return makers


def _peer(
    name: str, peer: Peer, table: Embedding, setting: RaceSetting, opened: ExitStack
) -> Contender:
    running = PeerProcess(peer, table, epsilon=setting.epsilon, lam=LAMBDA)
    opened.enter_context(running)
    return Contender(
        name,
        peer.words,
        partial(running.turn, _sampled(table, peer.words)),
        own_memory=lambda: running.memory,
    )


def _privatize(
    table: Embedding, setting: RaceSetting, folder: Path, device: Device, threads: int | None
) -> Contender:
    """A file of texts to a file of texts: from the loaded table to the last batch written."""
    words = _sampled(table, setting.tokens)
    lines = [
        " ".join(words[start : start + _DOCUMENT]) for start in range(0, len(words), _DOCUMENT)
    ]
    text = folder / "text.txt"
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(folder / "table.npy", table.vectors)
    (folder / "table.vocab.txt").write_text("\n".join(table.words) + "\n", encoding="utf-8")
    import_embedding(folder / "table.npy", folder / "table.ink")
    spec = ReleaseSpec(
        "mahalanobis",
        setting.epsilon,
        parameters={"lam": LAMBDA},
        embedding=str(folder / "table.ink"),
        accept_weak=True,
    )
    drawn = [0]

    def turn(clock: Clock) -> float:
        looks: list[float] = []  # the first when the table is loaded, then one a batch

        def look(done: int, total: int | None, count: int) -> None:
            drawn[0] = count
            looks.append(clock())

        out = folder / "out.txt"
        privatize_file(
            text, out, spec, device=device, threads=threads, ledger=False, on_progress=look
        )
        return looks[-1] - looks[0]

    turn(lambda: 0.0)
    return Contender(PRIVATIZE, drawn[0], turn)  # a word like "don't" may be more tokens than one


def _sampled(table: Embedding, count: int) -> list[str]:
    """Words of the table that a text can hold as one word, evenly drawn."""
    known = [word for word in table.words if word.isalpha() and word.islower()]
    picks = np.random.default_rng(1).integers(0, len(known) or 1, count).tolist()
    return [known[pick] for pick in picks] if known else list(table.words[:1]) * count


def _warmed(make: MakeContender, clock: Clock) -> Contender:
    contender = make()
    contender.turn(clock)
    return contender


def _timed(work: Callable[[], object]) -> Turn:
    def turn(clock: Clock) -> float:
        start = clock()
        work()
        return clock() - start

    return turn


def _letters(number: int) -> str:
    """A number spelled with letters, so that it is a word like any other."""
    spelled = ""
    while number or not spelled:
        number, digit = divmod(number, 26)
        spelled = chr(97 + digit) + spelled
    return spelled
