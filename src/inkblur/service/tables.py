"""The public tables that a server releases with: chosen by whoever starts it, not by a caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicTables:
    """Paths; None is the bundled embedding, and no pool."""

    embedding: str | None = None
    pool: str | None = None
