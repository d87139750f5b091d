"""What attackers hold of one release: texts, settings, and the chances of what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.channel import Channel, CopyingChannel
from inkblur.evaluation.attacks.entering import Flags, channel_around
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.intervals import share_over_texts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import (
    PoolReleaser,
    Released,
    Releaser,
    TextReleaser,
    VectorReleaser,
)
from inkblur.evaluation.results import Interval
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import Rng
from inkblur.types import Ids, ReleaseKind

LARGEST_POOL = 50_000  # texts: the attacker holds the probability of each under every author
Standing = tuple[Ids, Flags]  # a text's places by number, and which are copied
# The chances of what comes out, or why nobody knows them.
Known: TypeAlias = Channel | PoolStaircase | str


def unknown_chances(releaser: Releaser) -> str:
    """Why nobody knows the chances of what comes out of a release; empty where they are known."""
    if isinstance(releaser, TextReleaser | VectorReleaser):
        return ""
    if not isinstance(releaser, PoolReleaser):
        return "the chances of what this tool writes are not known"
    large = len(releaser.blur.mechanism.pool) > LARGEST_POOL
    return f"the pool has more than {LARGEST_POOL:,} texts" if large else ""


def known_chances(releaser: Releaser, rng: Rng) -> Known:
    """What an attacker knows of a release's chances, or why that is nothing."""
    if isinstance(releaser, TextReleaser | VectorReleaser):
        return channel_around(releaser.blur, rng)
    if isinstance(releaser, PoolReleaser) and not unknown_chances(releaser):
        return releaser.blur.mechanism
    return unknown_chances(releaser)


@dataclass(frozen=True, slots=True)
class Target:
    """One release under attack, and what the attacker has besides it."""

    data: Dataset
    order: Sequence[int]  # rows of the test part that are not blank, by chance: samples come first
    public: Sequence[str]  # texts to learn which words follow which; may be empty
    embedding: Embedding
    plan: Plan
    releaser: Releaser
    released_train: Released
    released_test: Released
    known: Known
    rng: Rng

    @property
    def in_places(self) -> bool:
        """Whether each released word stands in the place of a true one."""
        releaser = self.releaser
        return isinstance(releaser, TextReleaser) and releaser.blur.kind is not ReleaseKind.BAG

    @property
    def words_in_places(self) -> tuple[Privatizer, Channel]:
        """The privatizer and the channel of a release whose words stand in places."""
        assert isinstance(self.releaser, TextReleaser)
        assert not isinstance(self.known, PoolStaircase | str)
        return self.releaser.blur, self.known

    def share(self, hits: Ids | Flags, totals: Ids) -> Interval | None:
        """A share of what the texts hold, with its interval over texts."""
        plan = self.plan
        counts = np.asarray(hits, np.int64)
        return share_over_texts(counts, totals, confidence=plan.confidence, seed=plan.seed)


def with_copies(channel: Channel, texts: Sequence[Standing], others: int) -> Channel:
    """The channel where these texts' copied words come out as they stand."""
    if not isinstance(channel, CopyingChannel):
        return channel
    seen = np.concatenate([ids[copied] for ids, copied in texts])
    return channel.with_copies(seen[seen < channel.size], others)


def drawn_again(blur: Privatizer, texts: Sequence[Standing], releases: int, rng: Rng) -> list[Ids]:
    """What comes out, (places, releases) per text."""
    ids, copied = (np.concatenate(part) for part in zip(*texts, strict=True))
    outs = np.tile(ids[:, None], releases)
    for release in range(releases):
        drawn = blur.mechanism.replace(ids[~copied], rng.child(str(release)))
        outs[~copied, release] = drawn
    return np.split(outs, np.cumsum([len(text) for text, _ in texts])[:-1])
