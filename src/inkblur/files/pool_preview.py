"""A look at texts as a pool would release them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import Guarantee
from inkblur.pools.choice import PoolExpectation
from inkblur.pools.pool import Pool
from inkblur.rng import secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record

POOL_EPSILONS = (6.0, 4.0, 2.0)  # for a text or a sentence, where none is given


@dataclass(frozen=True, slots=True)
class PoolLook:
    """The texts at one epsilon, each replaced by texts of the pool."""

    heads: ClassVar = ("strength", "share near", "label kept", "cosine", "cosine of random pairs")

    spec: ReleaseSpec
    epsilon: float  # for a text or a sentence
    guarantee: Guarantee
    texts: tuple[str, ...]
    pool: Pool
    expected: PoolExpectation  # measured on the pool
    refusal: str = ""

    @property
    def name(self) -> str:
        """epsilon 6."""
        return f"epsilon {self.epsilon:g}"

    def figures(self) -> tuple[str, ...]:
        """What `heads` names."""
        labeled = len(self.pool.label_names) > 1
        return (
            self.name,
            f"{self.expected.share:g}",
            f"{self.expected.label:.0%}" if labeled else "-",
            f"{self.expected.meaning:.2f}",
            f"{self.expected.random:.2f}",
        )

    def facts(self) -> list[tuple[str, str]]:
        """The pool, a line each."""
        size = f"{len(self.pool):,} texts"
        lines = [("pool", f"{self.pool.name}, {size}, license: {self.pool.license}")]
        if len(self.pool.label_names) > 1:
            lines.append(("labels", ", ".join(self.pool.label_names[:20])))
        return lines


def pool_looks(
    specs: Iterable[ReleaseSpec], table: Embedding, texts: Sequence[str]
) -> list[PoolLook]:
    """The texts under each spec; the key of these draws is thrown away."""
    rng = secure_rng()
    records = [Record(str(place), text) for place, text in enumerate(texts)]
    looks = []
    for spec in specs:
        blur = spec.pool_privatizer(table)
        looks.append(
            PoolLook(
                spec,
                blur.mechanism.epsilon,
                blur.guarantee,
                blur.release_batch(records, rng.next_child("preview")).texts,
                blur.mechanism.pool,
                blur.mechanism.expected,
            )
        )
    return looks
