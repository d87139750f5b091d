"""A run that is killed or fails at any step: what was shown was charged, and files are whole or
absent.

All that the world sees of a run happens in calls of C functions that write, sync, rename or run SQL.
A copy of this process runs to one of them and is killed there; then what it left is looked at. No
step has to be named, so none is forgotten when the house is built otherwise.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import inkblur
from tests import test_doors as doors
from tests.laws.test_draws import KEY
from tests.test_doors import IDS, TEXTS, Ask, House

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork"),  # Python 3.12 warns of it beside threads
]
EFFECTS = {
    *("write", "writelines", "flush", "close", "fsync", "fdatasync", "fchmod", "chmod", "truncate"),
    *("open", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "sendall", "send"),
    *("execute", "executemany", "executescript", "commit", "rollback"),
}
Scene = Callable[[House, int], None]  # writes what a user would see into a pipe


def watched(then: Callable[[int], None]) -> None:
    """Call `then` with the number of each effect, before and after it, in all threads."""
    numbers = itertools.count()

    def spied(frame: FrameType, event: str, what: Any) -> None:
        named = event in ("c_call", "c_return") and getattr(what, "__name__", "") in EFFECTS
        if named and "importlib" not in frame.f_code.co_filename:
            then(next(numbers))

    threading.setprofile(spied)
    sys.setprofile(spied)


def child(scene: Scene, house: House, stop: int | None, *, kill: bool = True) -> tuple[int, bytes]:
    """A copy of this process plays the scene, killed (or interrupted) at effect `stop`: how many
    there were, if it lived, and what came through the pipe.
    """
    out, told = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:  # no test framework here: leave by os._exit or be killed
        status, last, stopped = 1, 0, False
        try:
            os.close(out[0])

            def count(number: int) -> None:
                nonlocal last, stopped
                last = number
                if number == stop and kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                main = threading.current_thread() is threading.main_thread()
                if stop is not None and number >= stop and main and not stopped:  # as Ctrl-C is
                    stopped = True
                    raise KeyboardInterrupt

            watched(count)
            scene(house, out[1])
            sys.setprofile(None)
            os.write(told[1], b"%d" % last)
            status = 0
        finally:
            os._exit(status)
    os.close(out[1])
    os.close(told[1])
    with os.fdopen(out[0], "rb") as file:
        seen = file.read()
    with os.fdopen(told[0], "rb") as file:
        count_told = file.read()
    _, status = os.waitpid(process, 0)
    if stop is None:
        assert status == 0
    return int(count_told or 0), seen


SPEC = Ask(keep=("id",))
# More than a pipe's buffer holds, so that it is written before the end.
MANY = Ask({"id": [str(i) for i in range(400)], "text": TEXTS * 50}, keep=("id",))


def by_file(house: House, out: int) -> None:
    inkblur.privatize_file(
        house.csv(SPEC),
        house.out / "out.csv",
        house.spec(SPEC),
        rng=inkblur.keyed_rng(KEY),
        ledger=house.ledger,
        report=house.out / "report.json",
        workers=1,
    )


def by_pipe(house: House, out: int) -> None:
    os.dup2(out, 1)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8")
    inkblur.privatize_file(
        house.csv(MANY),
        "-",
        house.spec(MANY),
        rng=inkblur.keyed_rng(KEY),
        ledger=house.ledger,
        workers=1,
    )
    sys.stdout.flush()


def by_list(house: House, out: int) -> None:
    told = inkblur.privatize(
        TEXTS,
        spec=house.spec(SPEC, id_column=None, keep_columns=()),
        ids=IDS,
        rng=inkblur.keyed_rng(KEY),
        ledger=house.ledger,
    )
    os.write(out, "\n".join(told.texts).encode())


def by_http(house: House, out: int) -> None:
    with house.server(SPEC) as client:
        answer = client.post("/v1/release", json={"texts": TEXTS, "ids": IDS, **doors.asked(SPEC)})
        assert answer.status_code == 200
        os.write(out, "\n".join(answer.json()["texts"]).encode())


def by_upload(house: House, out: int) -> None:
    with house.server(SPEC) as client:
        sent = client.post("/v1/uploads?suffix=csv", content=house.csv(SPEC).read_bytes())
        place = f"/v1/uploads/{sent.json()['upload']}"
        chosen = {
            "columns": ["text"],
            "id_column": "id",
            "keep_columns": ["id"],
            **doors.asked(SPEC),
        }
        client.post(f"{place}/release", json=chosen)
        while client.get(place).json()["state"] != "done":
            time.sleep(0.1)
        os.write(out, client.get(f"{place}/output").content)


WRITTEN = {"out.csv", "report.json"}


def cost(ask: Ask) -> int:
    """Micro-units of all texts."""
    return 2_000_000 * sum(len(text.split()) for text in ask.columns["text"])


def looked_at(house: House, seen: bytes, expected: bytes, whole: int) -> None:
    """After a run that ended anywhere."""
    shown = bool(seen)
    for file in house.out.iterdir():
        if file.name == "out.csv":
            assert file.read_bytes() == expected  # whole
            shown = True
        elif file.name == "report.json":
            assert json.loads(file.read_text())["spec"]["epsilon"] == 2.0
        else:  # what the next run removes; from the last moment before its new name, others read it
            assert ".partial" in file.name
            shown |= file.stat().st_size > 0 and bool(file.stat().st_mode & 0o077)
    if shown:
        assert house.charged() >= whole
    if house.ledger.exists() and house.ledger.stat().st_size:
        with inkblur.open_ledger(house.ledger) as ledger:
            assert ledger.verify() == []
            assert house.charged() in (0, whole)


@pytest.mark.parametrize(
    "scene", [by_file, by_pipe, by_list, by_http, by_upload], ids=lambda scene: scene.__name__
)
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["some", "every"]
)
def test_a_run_that_is_killed(
    scene: Scene, every: bool, tmp_path: Path, rng: np.random.Generator
) -> None:
    for name in ("warm", "whole"):
        (tmp_path / name).mkdir()
    warm, whole = House(tmp_path / "warm"), House(tmp_path / "whole")
    if scene in (by_http, by_upload):  # the copies have everything imported
        doors.by_upload(warm, SPEC)
    else:
        doors.by_file(warm, SPEC)
    paid = cost(MANY if scene is by_pipe else SPEC)
    effects, seen = child(scene, whole, None)
    assert {file.name for file in whole.out.iterdir()} == (WRITTEN if scene is by_file else set())
    assert bool(seen) == (scene is not by_file)
    assert whole.charged() == paid
    expected = (whole.out / "out.csv").read_bytes() if scene is by_file else seen
    assert effects > 20

    def shown_when_killed_at(stop: int, *, again: bool) -> bool:
        """Whether anything was: then all of it was charged."""
        house = House(fresh(tmp_path))
        _, part = child(scene, house, stop)
        assert expected.startswith(part)
        looked_at(house, part, expected, paid)
        shown = bool(part) or (house.out / "out.csv").exists()
        if again:  # under the same key: the same words, and all of it is paid once
            _, part = child(scene, house, None)
            got = (house.out / "out.csv").read_bytes() if scene is by_file else part
            assert got == expected
            assert house.charged() == paid
            assert {file.name for file in house.out.iterdir()} <= WRITTEN
        return shown

    if every:
        for stop in range(0, effects, 1 if scene in (by_file, by_list) else 7):
            shown_when_killed_at(stop, again=False)
        return
    before, after = 0, effects  # halved until they are the two sides of the first sight
    while after - before > 1:
        middle = (before + after) // 2
        if shown_when_killed_at(middle, again=False):
            after = middle
        else:
            before = middle
    for stop in (before, after, *rng.integers(0, effects, size=3).tolist()):
        shown_when_killed_at(stop, again=True)


def test_a_run_that_fails(tmp_path: Path, rng: np.random.Generator) -> None:
    """It also cleans up, and takes back what it charged for what nobody saw."""
    (tmp_path / "whole").mkdir()
    whole = House(tmp_path / "whole")
    effects, _ = child(by_file, whole, None)
    expected, held, left = (whole.out / "out.csv").read_bytes(), 0, 0
    stops = rng.choice(effects, size=40, replace=False).tolist()
    for stop in stops:
        house = House(fresh(tmp_path))
        child(by_file, house, stop, kill=False)
        looked_at(house, b"", expected, cost(SPEC))
        files = {file.name for file in house.out.iterdir()}
        held += "out.csv" not in files and house.charged() > 0
        left += not files <= WRITTEN
    # A few steps: from the moment before the new name on; and between making a file and guarding it.
    assert held + left <= len(stops) // 4


def fresh(folder: Path) -> Path:
    made = folder / str(len([*folder.iterdir()]))
    made.mkdir()
    return made
