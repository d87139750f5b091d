"""What a worker process of an engine keeps: privatizers by spec, its key, its ledger."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa

from inkblur.documents.base import AnyTextPrivatizer
from inkblur.errors import ParameterError
from inkblur.files.arrow_rows import ArrowRows
from inkblur.files.formats import Layout, layout_of
from inkblur.files.public_records import PublicRecords
from inkblur.files.records import Batch
from inkblur.files.worker_pool import WorkerCopy, each_search
from inkblur.ledger import Ledger, open_ledger
from inkblur.mechanisms.nearest.engine import Device
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


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a process makes once from a spec."""

    spec: ReleaseSpec  # resolved
    privatizer: AnyTextPrivatizer
    layout: Layout


_KEPT = 4  # specs whose tables a process holds at a time
_made: dict[tuple[str, int], WorkerState] = {}  # by spec and process: threads do not survive a fork
_making = threading.Lock()


def made_from(described: str) -> WorkerState:
    """The privatizer of a spec, made when a process first needs it."""
    process = os.getpid()
    with _making:
        if (described, process) not in _made:
            spec = ReleaseSpec.from_json(json.loads(described))
            privatizer = WorkerCopy(spec, *each_search(Device.AUTO, None)).privatizer()
            mechanism = privatizer.mechanism
            if privatizer.bound:
                raise ParameterError(
                    "engines run tasks again, and on another machine a sentence transformer may "
                    "place a text elsewhere: use `privatize_file`, or a pool encoded by words"
                )
            resolved = spec.resolved(mechanism.embedding, mechanism)
            made = WorkerState(resolved, privatizer, layout_of(resolved))
            _made[described, process] = _made[as_json(resolved), process] = made
            while len(_made) > 2 * _KEPT:
                del _made[next(iter(_made))]
        return _made[described, process]


def read_batch(batch: pa.RecordBatch, rows: ArrowRows, made: WorkerState) -> Batch:
    """A batch's records, without those that `skip_public` leaves out."""
    spec, privatizer = made.spec, made.privatizer
    whole = rows.batch(batch).with_ids_by_column(spec.columns)
    privatizer.refuse_own(whole.texts, whole.width)
    whole = whole.entering(privatizer.hides_length)
    left = list(PublicRecords(privatizer.corpora, skip=spec.skip_public).screened(iter([whole])))
    return left[0] if left else whole.take([])


def as_json(spec: ReleaseSpec) -> str:
    """The spec as it travels; equal ones have equal text."""
    return json.dumps(spec.to_json(), sort_keys=True)


@cache
def opened_ledger(place: str | None, process: int) -> Ledger:
    """A process's connection: opened once, and never one that was opened before a fork."""
    return open_ledger(place)
