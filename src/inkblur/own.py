"""Privatizers that users bring: they read and draw, and the release does everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from types import SimpleNamespace
from typing import Any, Protocol

from inkblur.documents.base import AnyPrivatizer, Reading
from inkblur.documents.fingerprints import fingerprints
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import NoGuarantee, ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import require_rng
from inkblur.release import Release
from inkblur.rng import Rng
from inkblur.types import Metric, Unit

_WORDS = 1 << 16  # that are drawn in a call, as far as their texts' lengths tell


@dataclass(frozen=True, slots=True)
class PublicTexts:
    """Texts that something was learned from: no protected text may have their content words."""

    texts: Sequence[str]
    learned: str  # how a refusal ends: "a text of the public corpus that" the counts were made from


class OwnPrivatizer(Protocol):
    """What draws. Checks, charges, ids and noise that repeats under a key are the release's.

    >>> import inkblur
    >>> from inkblur.types import Metric
    >>> class Coin:
    ...     law, public = "a fair coin, 1", ()
    ...     guarantee = Guarantee(epsilon=0.1, metric=Metric.DISCRETE, unit=Unit.TEXT)
    ...     def read(self, texts):
    ...         return Reading(draws=(1,) * len(texts), entering=((b"",),) * len(texts), state=None)
    ...     def draw(self, reading, streams):
    ...         return [["no", "yes"][int(each.bits(1, 1)[0, 0]) & 1] for each in streams], {}
    >>> [answer] = inkblur.privatize(["Are you well?"], privatizer=Coin(), ledger=False).texts
    >>> answer in ("no", "yes")
    True
    """

    law: str  # of every draw, with all its settings: the first label of each text's stream
    guarantee: Guarantee  # of one draw, between any two words or texts
    public: Sequence[PublicTexts]

    def read(self, texts: Sequence[str]) -> Reading:
        """How many draws each text takes, and what they are bound to; no randomness."""
        ...

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[Sequence[Any], Any]:
        """What comes out for each text, from a stream of its own; and counts for the owner."""
        ...


class Brought(AnyPrivatizer):
    """One of a user's among those of the house."""

    length = None

    def __init__(self, own: OwnPrivatizer) -> None:
        for name in ("law", "guarantee", "public", "read", "draw"):
            if not hasattr(own, name):
                raise ParameterError(f"a privatizer has `{name}`: see inkblur.own.OwnPrivatizer")
        if not own.guarantee.private:
            raise NoGuarantee(own.guarantee.sentence())
        self._own, self.mechanism = own, SimpleNamespace(batch=_WORDS, name=own.law)
        self._corpora = [(fingerprints(each.texts), each.learned) for each in own.public]

    @property
    def guarantee(self) -> Guarantee:
        """As it was brought."""
        return self._own.guarantee

    @property
    def spec(self) -> str:
        """Its law: a stream of its own beside those of the house."""
        return f"own {self._own.law}"

    @property
    def largest_loss(self) -> float:
        """Its epsilon where any two words or texts were compared; else nobody knows."""
        bounded = self.guarantee.metric is Metric.DISCRETE or self.guarantee.unit is Unit.TEXT
        return self.guarantee.epsilon if bounded else inf

    @property
    def corpora(self) -> list[tuple[Fingerprints, str]]:
        """Its public texts, known again by content."""
        return self._corpora

    def refuse_weak(self, *, accept_weak: bool) -> None:
        """Nobody can measure here what would stay."""

    def read(self, texts: Sequence[str]) -> Reading:
        """As it reads; each text must be told its draws."""
        reading = self._own.read(texts)
        if len(reading.draws) != len(texts) or len(reading.entering) != len(texts):
            raise ParameterError("`read` must say for each text how many draws it takes")
        return reading

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[Any], Counter[str]]:
        """As it draws: a text each, never fewer."""
        released, counts = self._own.draw(reading, streams)
        if len(released) != len(streams):
            raise ParameterError(f"`draw` gave {len(released)} texts for {len(streams)}")
        return list(released), Counter(counts)


def prepare_own(
    privatizer: AnyPrivatizer | OwnPrivatizer,
    rng: Rng,
    *,
    accept_weak: bool = False,
    **described: Any,
) -> Release:
    """What draws in memory, whoever made it, as :func:`inkblur.release.prepare` does it of a spec:
    refused where nearly every word would stay, unless that is accepted. It cannot be `described`.
    """
    if any(value is not None for value in described.values()):
        raise ParameterError("`privatizer=` draws as it is: leave out the other settings")
    own = privatizer if isinstance(privatizer, AnyPrivatizer) else Brought(privatizer)
    own.refuse_weak(accept_weak=accept_weak)
    return Release(own, require_rng(rng))
