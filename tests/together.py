"""Requests of several callers that wait together, under one key and in one ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from inkblur import InkblurError, Ledger, Limits, ReleaseSpec, Rng
from inkblur.arrow import CountedRelease, release_together
from inkblur.release import Release, prepare


@dataclass(frozen=True)
class Order:
    rows: pa.RecordBatch
    spec: ReleaseSpec
    caller: str = ""


@dataclass
class Desk:
    rng: Rng
    ledger: Ledger
    limits: Limits | None = None
    laws: dict[ReleaseSpec, Release] = field(default_factory=dict)

    def release(self, orders: Sequence[Order]) -> list[CountedRelease | InkblurError]:
        given = []
        for order in orders:
            law = order.spec.law
            if law not in self.laws:
                self.laws[law] = prepare(law, self.rng)
            release = self.laws[law]
            mechanism = release.privatizer.mechanism
            spec = order.spec.resolved(mechanism.embedding, mechanism)
            given.append((replace(release, spec=spec).for_caller(order.caller), order.rows))
        return release_together(given, self.ledger, self.limits)
