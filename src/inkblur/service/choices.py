"""GET /v1/choices: the settings that the page offers, and what was measured of each."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel, Field

from inkblur.documents.marking import expected_cosine, usual_words
from inkblur.documents.risks import MEASURED_ON, RISKS, risks_at
from inkblur.errors import WeakSetting
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.mechanisms.strengths import MeasuredStrength
from inkblur.pools import PoolPrivatizer
from inkblur.service.settings import TOPIC
from inkblur.service.state import Service

_RISK_WORDS = 94  # of the texts whose risks stand beside a setting before there is a text
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

    setting: str = Field(description=f"Its name; with {TOPIC} behind it, words come sorted.")
    epsilon: float = Field(description="For a word.")
    strength: str | None = Field(description="Its name, where it was attacked.")
    risks: list[StopRisk] = Field(description="The largest first; none where not attacked.")
    meaning: float | None = Field(description="Expected cosine of true and released words.")


class PoolStop(BaseModel):
    """How strong, where a whole text is one draw."""

    setting: str
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


class OwnSetting(BaseModel):
    """What the server's owner named."""

    setting: str
    about: str
    guarantee: str


class Choices(BaseModel):
    """What to choose from, the strongest first."""

    words: list[WordStop]
    measured: str = Field(description="What the risks are.")
    risk_words: int = Field(description="How many words the texts have whose risks are given.")
    pool: OfferedPool | None
    own: list[OwnSetting]
    needs_ids: bool = Field(description="Whether each text must name its record.")
    needs_people: bool = Field(description="Whether each text must name its person.")


def choice_routes(service: Service) -> APIRouter:
    """The route of one server."""
    routes = APIRouter(prefix="/v1")
    offered = cache(lambda: _choices(service))

    @routes.get("/choices")
    async def choices() -> Choices:
        """What must stay, and how strong: attack and meaning of each."""
        return await service.look(offered)

    return routes


def _choices(service: Service) -> Choices:
    settings = service.settings
    own = [
        OwnSetting(
            setting=name,
            about=spec.name,
            guarantee=settings.release(spec).promised.sentence(),
        )
        for name, spec in settings.own.items()
    ]
    return Choices(
        words=sorted(_word_stops(service), key=lambda stop: stop.epsilon),
        measured=f"{MEASURED_ON[0].upper()}{MEASURED_ON[1:]}",
        risk_words=_RISK_WORDS,
        pool=_pool(service),
        own=own,
        needs_ids=settings.limits.budget is not None,
        needs_people=settings.limits.person_budget is not None,
    )


def _word_stops(service: Service) -> list[WordStop]:
    """The strengths, which were attacked, and weaker settings, which were not."""
    settings, stops = service.settings, []
    usual = usual_words(settings.table)
    measured = {each.value: found for each, found in settings.strengths.items()}
    weakest = max((found.epsilon for found in measured.values()), default=0.0)
    for name, spec in settings.named.items():
        if name in settings.own or f"{name}{TOPIC}" not in settings.named:
            continue
        try:
            mechanism = settings.release(spec).privatizer.mechanism
        except WeakSetting:  # beyond light, on a table of few words
            continue
        assert isinstance(mechanism, DiscreteMechanism)
        epsilon = float(mechanism.parameters["epsilon"])
        if name not in measured and epsilon <= weakest:
            continue
        stops.append(
            WordStop(
                setting=name,
                epsilon=epsilon,
                strength=name if name in measured else None,
                risks=_risks(measured[name]) if name in measured else [],
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
    offered, stops = None, []
    for name, spec in service.settings.named.items():
        if name in service.settings.own or spec.pool is None:
            continue
        privatizer = service.settings.release(spec).privatizer
        assert isinstance(privatizer, PoolPrivatizer)
        pool, expected = privatizer.mechanism.pool, privatizer.mechanism.expected
        stops.append(
            PoolStop(
                setting=name,
                epsilon=privatizer.guarantee.epsilon,
                label=expected.label if pool.labeled else None,
                meaning=expected.meaning,
                random=expected.random,
            )
        )
        offered = OfferedPool(
            name=pool.name,
            license=pool.license,
            texts=len(pool),
            labels=list(pool.label_names[:_LABELS]) if pool.labeled else [],
            stops=stops,
        )
    return offered
