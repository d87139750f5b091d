"""POST /v1/release and /v1/preview: texts in, texts out."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, model_validator

from inkblur.documents.marking import MarkedPiece, expected_cosine, marked_text
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.risks import three_risks
from inkblur.errors import ParameterError
from inkblur.files.preview import NOTE
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.pools import PoolPrivatizer
from inkblur.rng import secure_rng
from inkblur.service.drawing import Answer, Order
from inkblur.service.plain_words import loss_of_a_text, loss_of_a_word, what_a_pool_keeps
from inkblur.service.problems import Problem
from inkblur.service.settings import Asked, Name
from inkblur.service.state import Service
from inkblur.service.tokens import caller_of
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID

MOST_TEXTS, MOST_WORDS = 10_000, 1_000_000  # of a request
MOST_LETTERS = 60_000  # of a text: it is drawn at one go, in half a second; longer ones are files
# At least as many as there are tokens to draw for: "a_b" has two, and "@_" is one.
_WORD = re.compile(r"[^\W_]+|@")
_REFUSALS: dict[int | str, dict[str, Any]] = {
    409: {"description": "Over budget; the error's `left` says what is left"},
    413: {"description": "Too large"},
    422: {"description": "Refused; the error says why"},
    429: {"description": "Too many requests are waiting"},
}


class ReleaseTexts(
    Asked,
    json_schema_extra={
        "examples": [
            {"texts": ["The doctor was angry.", None], "ids": ["7", "8"], "setting": "medium"}
        ]
    },
):
    """Texts to release."""

    texts: list[Annotated[str, Field(max_length=MOST_LETTERS)] | None] = Field(
        min_length=1, max_length=MOST_TEXTS
    )
    ids: list[Name] | None = Field(
        None, max_length=MOST_TEXTS, description="One for each text, all different."
    )
    people: list[Name] | None = Field(
        None, max_length=MOST_TEXTS, description="Whom each text belongs to, for person budgets."
    )

    @model_validator(mode="after")
    def _one_for_each(self) -> ReleaseTexts:
        for name in ("ids", "people"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.texts):
                raise ValueError(f"{name} must be as many as the texts")
        return self


class Promise(BaseModel):
    """What is proved about a release."""

    sentence: str
    lines: list[str]
    epsilon: float


class ReleaseCounts(BaseModel):
    """What was drawn."""

    texts: int
    words: int
    replayed: int = Field(description="Texts that repeat an earlier draw and cost nothing.")


class ReleasedTexts(BaseModel):
    """Texts that may leave the house."""

    texts: list[str | None]
    release: str = Field(description="Its name in the ledger.")
    guarantee: Promise
    counts: ReleaseCounts
    largest_loss: float = Field(description="Of one text, over all its releases so far.")


class PreviewText(
    Asked,
    json_schema_extra={"examples": [{"text": "The doctor was angry.", "setting": "medium"}]},
):
    """A text to look at before anything is released."""

    text: str = Field(min_length=1, max_length=20_000)


class PreviewedText(BaseModel):
    """One draw beside the true text. No release: do not publish it."""

    released: str
    pieces: list[MarkedPiece] | None = Field(description="Where words stand in their places.")
    words: int
    epsilon: float
    loss_word: str
    loss_text: str
    words_left: float | None = Field(description="Expected share of its words that stay.")
    meaning: float | None = Field(description="Mean cosine of true and released words.")
    risks: list[str] = Field(description="What attacks made of public texts like this one.")
    kept: str | None = Field(description="What a pool keeps of a text, measured on the pool.")
    guarantee: Promise
    note: str


def release_routes(service: Service) -> APIRouter:
    """The routes of one server."""
    routes = APIRouter(prefix="/v1")

    @routes.post("/release", responses=_REFUSALS)
    async def release(request: Request, asked: ReleaseTexts) -> ReleasedTexts:
        """Release texts. In the ledger before it is answered."""
        if request.query_params:
            raise ParameterError("put settings into the body: the query of a release is not read")
        spec = service.settings.spec(asked.setting)
        caller = caller_of(request).name
        prepared = await asyncio.to_thread(service.settings.release, spec, caller)
        _refuse_many(asked.texts, prepared.privatizer.length or 0)
        order = Order(prepared, asked.texts, asked.ids, asked.people)
        return _released(await service.queue.release(order))

    @routes.post("/preview", response_model=PreviewedText)
    async def preview(asked: PreviewText) -> PreviewedText:
        """One draw of a text, word by word, beside the true one. Nothing is released."""
        spec = service.settings.spec(asked.setting)
        return await service.look(_previewed, service, spec, asked.text)

    return routes


def _refuse_many(texts: list[str | None], fewest: int) -> None:
    """What a request becomes counts: few bytes may stand for many draws."""
    words = 0
    for text in texts:
        words += max(sum(1 for _ in _WORD.finditer(text or "")), fewest)
        if words > MOST_WORDS:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "size",
                f"a request here has at most {MOST_WORDS:,} words, filling included; send less at "
                "a time, or a file",
            )


def _released(answer: Answer) -> ReleasedTexts:
    return ReleasedTexts(
        texts=answer.texts,
        release=answer.release,
        guarantee=_promise(answer.guarantee),
        counts=ReleaseCounts(texts=len(answer.texts), words=answer.words, replayed=answer.replayed),
        largest_loss=answer.largest_loss,
    )


def _promise(guarantee: Guarantee) -> Promise:
    return Promise(
        sentence=guarantee.sentence(), lines=guarantee.lines(), epsilon=guarantee.epsilon
    )


def _previewed(service: Service, spec: ReleaseSpec, text: str) -> PreviewedText:
    privatizer = service.settings.release(spec).privatizer
    try:
        return _seen(privatizer, text)
    finally:  # by the time that the next takes nobody learns the words of this
        privatizer.forget()


def _seen(privatizer: Any, text: str) -> PreviewedText:
    rng = secure_rng()  # thrown away: this is no release
    pieces, left, meaning, kept = None, None, None, None
    words = privatizer.read([text]).draws[0]
    if isinstance(privatizer, PoolPrivatizer):
        kept = what_a_pool_keeps(privatizer.mechanism)
    elif privatizer.in_place:
        pieces = marked_text(privatizer, text, rng)
    if isinstance(privatizer, Privatizer):
        known = privatizer.ids(text)
        known = known[known != NULL_ID]
        drawn = privatizer.mechanism.survival(known, rng.next_child("left")) if len(known) else 0.0
        copied = privatizer.copied(text)
        left = (copied + len(known) * drawn) / (copied + len(known) or 1)
        if isinstance(privatizer.mechanism, DiscreteMechanism):
            meaning = expected_cosine(privatizer.mechanism, known)
    released = (
        privatizer.release(text, rng).text
        if pieces is None
        else " ".join(piece.released for piece in pieces if piece.released)
    )
    return PreviewedText(
        released=released,
        pieces=pieces,
        words=words,
        epsilon=privatizer.guarantee.epsilon,
        loss_word=loss_of_a_word(privatizer.guarantee),
        loss_text=loss_of_a_text(privatizer.guarantee, words),
        words_left=left,
        meaning=meaning,
        risks=three_risks(privatizer, privatizer.counts(text), words).lines()
        if isinstance(privatizer, Privatizer)
        else [],
        kept=kept,
        guarantee=_promise(privatizer.guarantee),
        note=NOTE,
    )
