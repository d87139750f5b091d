"""How texts may be released here: settings that have a name, and, where only the server's owner can
ask, any other.

With tokens, callers choose among names and nothing else, and everything a setting needs is made
before the first answer. What a caller could make up would widen accounts, hold the others up with
tables that take long, and show by its speed which words somebody else had released before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag

from inkblur.errors import NoGuarantee, ParameterError
from inkblur.ledger import Budget
from inkblur.mechanisms import CATALOGUE
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.mechanisms.strengths import measured_strengths
from inkblur.release import Limits, Release, prepare
from inkblur.rng import Rng
from inkblur.service.problems import Problem
from inkblur.spec import POOL_EPSILONS, ReleaseSpec
from inkblur.types import ReleaseKind

OFFERED = "staircase"
WEAKER = (6.0, 8.0, 10.0)  # epsilons beyond light, for an owner to see: not attacked, not published
TOPIC = "-topic"  # ends the name of a setting whose words come sorted
_KEPT = 6  # settings without a name whose tables are held at a time
Name = Annotated[str, Field(max_length=200)]
TokenKind = Literal["stop-words", "unknown", "numbers", "addresses", "punctuation", "sentence-ends"]


def _known(name: str) -> str:
    if name not in CATALOGUE:
        raise ValueError(f"must be one of {', '.join(CATALOGUE)}")
    return name


class FreeSetting(BaseModel, extra="forbid"):
    """What the owner of a server without tokens may ask for. No paths are here, and no
    `accept_weak`.
    """

    mechanism: Annotated[str, AfterValidator(_known)] | None = None
    strength: Literal["light", "medium", "strong"] | None = None
    epsilon: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)
    unit: Literal["word", "text"] = Field("word", description="`text` draws from the pool.")
    release: Literal["sequence", "bag"] = "sequence"
    length: int | Literal["exact"] | None = Field(None, description="Words of a released text.")
    keep: list[TokenKind] = Field(default=[], max_length=8)
    drop: list[TokenKind] = Field(default=[], max_length=8)
    names: Literal["null", "blur", "keep"] = "null"
    parameters: dict[Name, float] = Field(default={}, max_length=8)


class Asked(BaseModel, extra="forbid"):
    """How to release."""

    setting: Annotated[
        Annotated[Name, Tag("name")] | Annotated[FreeSetting, Tag("free")],
        Discriminator(lambda given: "name" if isinstance(given, str) else "free"),
    ] = Field(
        description="A name from /v1/choices. A server without tokens also takes an object with "
        "`strength` or `epsilon`, and what else a release of words can be given."
    )


class Settings:
    """The settings of a server, each prepared once under its key and for its budgets."""

    def __init__(
        self,
        rng: Rng,
        limits: Limits,
        *,
        embedding: str | None = None,
        pool: str | None = None,
        own: Mapping[str, ReleaseSpec],
        open_to_all: bool,
    ) -> None:
        if not (rng.kept or rng.seeded):
            # Its guarantee would not say that equal requests get equal answers.
            raise ParameterError("a server keeps its key: use `keyed_rng(os.urandom(32))`")
        Budget.of(limits.budget, limits.person_budget)  # refuses what is no budget
        self.limits, self.open_to_all, self.rng = limits, open_to_all, rng
        self.words = ReleaseSpec(OFFERED, 1.0, embedding=embedding)
        self.table = self.words.table()
        self.strengths = measured_strengths(OFFERED, self.table)
        self.pool = pool
        self.own = dict(own)
        self.named = {**self._usual(), **self.own}
        self._prepared: dict[ReleaseSpec, Future[Release]] = {}
        self._last: OrderedDict[ReleaseSpec, None] = OrderedDict()
        self._looked_up = threading.Lock()

    def _usual(self) -> dict[str, ReleaseSpec]:
        """By name, in place and sorted; and those that need a pool."""
        words = {
            strength.value: self.words.varied(epsilon=None, strength=strength.value)
            for strength in self.strengths
        }
        if self.open_to_all:
            words |= {f"words-{each:g}": self.words.varied(epsilon=each) for each in WEAKER}
        topics = {f"{name}{TOPIC}": spec.varied(release="bag") for name, spec in words.items()}
        pooled = {
            f"pool-{each:g}": ReleaseSpec(
                epsilon=each, unit="text", pool=self.pool, embedding=self.words.embedding
            )
            for each in (POOL_EPSILONS if self.pool else ())
        }
        return {**words, **topics, **pooled}

    def spec(self, asked: str | FreeSetting, **columns: Any) -> ReleaseSpec:
        """What a request describes; refused where it is none of the server's settings."""
        if isinstance(asked, str):
            spec = self.named.get(asked)
        elif self.open_to_all:
            chosen = asked.model_dump()
            chosen["mechanism"] = asked.mechanism or ""
            pool = self.pool if asked.unit == "text" else None
            spec = ReleaseSpec(**chosen, embedding=self.words.embedding, pool=pool)
        else:
            spec = None
        if spec is None:
            names = ", ".join(self.named) or "none: its owner names some with --setting"
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "setting",
                f"`setting` is none of the settings of this server; they are {names}",
            )
        return spec.varied(**columns)

    def release(self, spec: ReleaseSpec, caller: str = "") -> Release:
        """What releases by this spec for one caller. Any thread may ask: while one setting is made,
        which takes seconds, the others are found at once.
        """
        law = spec.law  # requests that differ only in columns are drawn together
        with self._looked_up:
            found = self._prepared.get(law)
            if found is None:
                making = self._prepared[law] = Future()
            if law not in self.named.values():
                self._last[law] = None
                self._last.move_to_end(law)
                while len(self._last) > _KEPT:
                    self._prepared.pop(self._last.popitem(last=False)[0], None)
        if found is None:
            try:
                making.set_result(self._prepare(law))
            except BaseException as error:
                with self._looked_up:
                    self._prepared.pop(law, None)
                making.set_exception(error)
            found = making
        release = found.result()
        mechanism = release.privatizer.mechanism
        own = replace(release, spec=spec.resolved(mechanism.embedding, mechanism))
        return own.for_caller(caller)

    def prepare_all(self) -> None:
        """Everything that the named settings need, so that no request shows by its time what was
        made for another.
        """
        for spec in self.named.values():
            mechanism = self.release(spec).privatizer.mechanism
            if isinstance(mechanism, Staircase):
                mechanism.prepare()

    def _prepare(self, spec: ReleaseSpec) -> Release:
        if spec.kind is ReleaseKind.TF:
            raise ParameterError("a tf release holds no texts: use `privatize_file`")
        release = prepare(spec, self.rng)
        if not release.promised.private:
            raise NoGuarantee(release.promised.sentence())
        release.budget(self.limits, "any", "")  # what cannot be counted shows here
        return release
