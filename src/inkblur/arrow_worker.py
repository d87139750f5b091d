"""What a worker process of an engine keeps: privatizers by spec, its key, its ledger."""

from __future__ import annotations

import json
import os
import threading
from functools import cache
from pathlib import Path

from inkblur.errors import ParameterError
from inkblur.files.run import each_search, search_with
from inkblur.ledger import Ledger, open_ledger
from inkblur.mechanisms.nearest.engine import Device
from inkblur.release import Release, prepare
from inkblur.rng import Rng, key_from_digits, keyed_rng, read_key
from inkblur.spec import ReleaseSpec

KEY = "INKBLUR_KEY"  # 64 hexadecimal digits
KEY_FILE = "INKBLUR_KEY_FILE"


def worker_key(key_file: str | Path | None = None) -> Rng:
    """The key of this process: from the file, or from the environment; never a fresh one."""
    path = key_file or os.environ.get(KEY_FILE)
    if path:
        return keyed_rng(read_key(Path(path)))
    digits = os.environ.get(KEY)
    if digits is None:
        raise ParameterError(
            "an engine may run a task again, and a fresh key would draw again: write a key with "
            f"`inkblur keygen FILE`, and name it in `key_file=` or in {KEY_FILE}"
        )
    return keyed_rng(key_from_digits(digits, KEY))


_KEPT = 4  # specs whose tables a process holds at a time
_made: dict[tuple[str, int], Release] = {}  # by spec and process: threads do not survive a fork
_making = threading.Lock()


def made_from(described: str) -> Release:
    """What draws by a spec, made when a process first needs it; its key is nobody's."""
    process = os.getpid()
    with _making:
        if (described, process) not in _made:
            release = prepare(ReleaseSpec.from_json(json.loads(described)))
            search_with(release.privatizer, *each_search(Device.AUTO, None))
            if release.privatizer.bound:
                raise ParameterError(
                    "engines run tasks again, and on another machine a sentence transformer may "
                    "place a text elsewhere: use `privatize_file`, or a pool encoded by words"
                )
            _made[described, process] = _made[as_json(release.resolved), process] = release
            while len(_made) > 2 * _KEPT:
                del _made[next(iter(_made))]
        return _made[described, process]


def as_json(spec: ReleaseSpec) -> str:
    """The spec as it travels; equal ones have equal text."""
    return json.dumps(spec.to_json(), sort_keys=True)


@cache
def opened_ledger(place: str | None, process: int) -> Ledger:
    """A process's connection: opened once, and never one that was opened before a fork."""
    return open_ledger(place)
