"""GET /v1/choices: what the page offers, and what was measured of it."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from inkblur.documents.marking import expected_cosine, usual_words
from inkblur.documents.risks import MEASURED_ON, RISKS, risks_at
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.mechanisms.strengths import MeasuredStrength, Strengths, measured_strengths
from inkblur.pools import PoolPrivatizer
from inkblur.service.state import Service
from inkblur.spec import POOL_EPSILONS, ReleaseSpec
from inkblur.types import Ids

OFFERED = "staircase"
_WEAKER = (6.0, 8.0, 10.0)  # epsilons beyond light, to see what they would give: not attacked
_RISK_WORDS = 100  # of the texts whose risks stand beside a setting before there is a text
_LABELS = 20  # that are named


class StopRisk(BaseModel):
    """What attacks on public texts reached."""

    name: str
    share: float
    low: float
    high: float
    guessing: float = Field(description="The share that guessing would reach there.")


class WordStop(BaseModel):
    """How strong, where each word is drawn."""

    epsilon: float = Field(description="For a word.")
    strength: str | None = Field(description="Its name, where it was attacked.")
    risks: list[StopRisk] = Field(description="The largest first; none where not attacked.")
    meaning: float | None = Field(description="Expected cosine of true and released words.")


class PoolStop(BaseModel):
    """How strong, where a whole text is one draw."""

    epsilon: float = Field(description="For a text.")
    label: float | None = Field(description="Probability that a text's label is kept.")
    meaning: float = Field(description="Mean cosine of a text and what replaces it.")
    random: float = Field(description="The same for a text drawn blindly.")


class OfferedPool(BaseModel):
    """The public texts that this server replaces whole texts by."""

    name: str
    license: str
    texts: int
    labels: list[str]
    stops: list[PoolStop]


class Choices(BaseModel):
    """What to choose from, the strongest first."""

    mechanism: str
    words: list[WordStop]
    measured: str = Field(description="What the risks are.")
    risk_words: int = Field(description="How many words the texts have whose risks are given.")
    pool: OfferedPool | None
    needs_ids: bool = Field(description="Whether each text must name its record.")
    needs_people: bool = Field(description="Whether each text must name its person.")


def choice_routes(service: Service) -> APIRouter:
    """The route of one server."""
    routes = APIRouter(prefix="/v1")

    @cache
    def made() -> Choices:
        return _choices(service)

    @routes.get("/choices")
    async def choices() -> Choices:
        """What must stay, and how strong: attack and meaning of each."""
        return await service.look(made)

    return routes


def _choices(service: Service) -> Choices:
    spec = ReleaseSpec(OFFERED, 1.0, embedding=service.tables.embedding)
    table = spec.table()
    measured = measured_strengths(OFFERED, table)
    limits = service.desk.limits
    return Choices(
        mechanism=OFFERED,
        words=_word_stops(service, spec, measured, usual_words(table)),
        measured=f"{MEASURED_ON[0].upper()}{MEASURED_ON[1:]}",
        risk_words=_RISK_WORDS,
        pool=_pool(service),
        needs_ids=limits.budget is not None,
        needs_people=limits.person_budget is not None,
    )


def _word_stops(
    service: Service, spec: ReleaseSpec, measured: Strengths, usual: Ids
) -> list[WordStop]:
    """The strengths, which were attacked, and weaker settings, which were not."""
    named = {found.epsilon: strength for strength, found in measured.items()}
    stops = []
    for epsilon in sorted({*named, *(each for each in _WEAKER if each > max(named, default=0))}):
        mechanism = service.desk.privatizer(spec.varied(epsilon=epsilon)).mechanism
        assert isinstance(mechanism, DiscreteMechanism)
        strength = named.get(epsilon)
        stops.append(
            WordStop(
                epsilon=epsilon,
                strength=None if strength is None else strength.value,
                risks=[] if strength is None else _risks(measured[strength]),
                meaning=expected_cosine(mechanism, usual),
            )
        )
    return stops


def _risks(measured: MeasuredStrength) -> list[StopRisk]:
    found = risks_at(measured, _RISK_WORDS)
    return [
        StopRisk(name=RISKS[each.name], **asdict(each.measured)) for each in found if each.measured
    ]


def _pool(service: Service) -> OfferedPool | None:
    tables = service.tables
    if tables.pool is None:
        return None
    stops = []
    for epsilon in POOL_EPSILONS:
        spec = ReleaseSpec(
            epsilon=epsilon, unit="text", pool=tables.pool, embedding=tables.embedding
        )
        blur = service.desk.privatizer(spec)
        assert isinstance(blur, PoolPrivatizer)
        pool, expected = blur.mechanism.pool, blur.mechanism.expected
        stops.append(
            PoolStop(
                epsilon=epsilon,
                label=expected.label if pool.labeled else None,
                meaning=expected.meaning,
                random=expected.random,
            )
        )
    return OfferedPool(
        name=pool.name,
        license=pool.license,
        texts=len(pool),
        labels=list(pool.label_names[:_LABELS]) if pool.labeled else [],
        stops=stops,
    )
