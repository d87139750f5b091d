"""POST /v1/release and /v1/preview: texts in, texts out."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import pyarrow as pa
from fastapi import APIRouter, Request

from inkblur.arrow import CountedRelease
from inkblur.documents.marking import expected_cosine, marked_text
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.risks import three_risks
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.files.preview import NOTE
from inkblur.guarantees import Guarantee
from inkblur.mechanisms import CATALOGUE
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.mechanisms.catalogue import Entry
from inkblur.mechanisms.strengths import measured_strengths
from inkblur.pools import PoolPrivatizer
from inkblur.rng import secure_rng
from inkblur.service.batching import ReleaseOrder
from inkblur.service.choices import OFFERED
from inkblur.service.plain_words import loss_of_a_text, loss_of_a_word, what_a_pool_keeps
from inkblur.service.problems import Problem
from inkblur.service.schemas import (
    PreviewedText,
    PreviewText,
    Promise,
    ReleaseCounts,
    ReleasedTexts,
    ReleaseTexts,
)
from inkblur.service.state import Service, caller_of
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID

_MOST_WORDS = 2_000_000  # of a request
_REFUSALS: dict[int | str, dict[str, Any]] = {
    409: {"description": "Over budget; the error's `left` says what is left"},
    413: {"description": "Too large"},
    422: {"description": "Refused; the error says why"},
    429: {"description": "Too many requests are waiting"},
}


def release_routes(service: Service) -> APIRouter:
    """The routes of one server."""
    routes = APIRouter(prefix="/v1")

    @routes.post("/release", responses=_REFUSALS)
    async def release(request: Request, asked: ReleaseTexts) -> ReleasedTexts:
        """Release texts. In the ledger before it is answered."""
        if request.query_params:
            raise ParameterError("put settings into the body: the query of a release is not read")
        _refuse_many(asked)
        return _about(await service.batches.release(_order(asked, service, request)))

    @routes.post("/preview", response_model=PreviewedText)
    async def preview(asked: PreviewText) -> PreviewedText:
        """One draw of a text, word by word, beside the true one. Nothing is released."""
        return await service.look(_previewed, service, asked)

    @routes.get("/mechanisms")
    async def mechanisms() -> list[dict[str, Any]]:
        """What can be asked for, and what was measured of it."""
        spec = ReleaseSpec(OFFERED, 1.0, embedding=service.tables.embedding)
        table = await asyncio.to_thread(spec.table)
        return [_described(entry, table) for entry in CATALOGUE.values()]

    return routes


def _refuse_many(asked: ReleaseTexts) -> None:
    """A few bytes may stand for many draws: texts without a word, each filled up to a length."""
    if len(asked.texts) * (asked.length or 0) > _MOST_WORDS:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "size",
            f"a request here has at most {_MOST_WORDS:,} words where `length` fills texts up; "
            "send less at a time",
        )


def _order(asked: ReleaseTexts, service: Service, request: Request) -> ReleaseOrder:
    """Texts as rows; their ids and people are read and not sent back."""
    columns: dict[str, Any] = {"text": pa.array(asked.texts, pa.string())}
    beside = {"id": asked.ids, "person": asked.people}
    given = {name: pa.array(values, pa.string()) for name, values in beside.items() if values}
    spec = asked.spec(
        service.tables,
        id_column="id" if "id" in given else None,
        person_column="person" if "person" in given else None,
    )
    return ReleaseOrder(pa.record_batch({**columns, **given}), spec, caller_of(request).name)


def _about(answer: CountedRelease) -> ReleasedTexts:
    return ReleasedTexts(
        texts=answer.rows.column("text").to_pylist(),
        release=answer.release,
        guarantee=_promise(answer.guarantee),
        counts=ReleaseCounts(
            texts=answer.rows.num_rows, words=answer.words, replayed=answer.replayed
        ),
        largest_loss=answer.largest_loss,
    )


def _promise(guarantee: Guarantee) -> Promise:
    return Promise(
        sentence=guarantee.sentence(), lines=guarantee.lines(), epsilon=guarantee.epsilon
    )


def _previewed(service: Service, asked: PreviewText) -> PreviewedText:
    blur = service.desk.privatizer(asked.spec(service.tables))
    rng = secure_rng()  # thrown away: this is no release
    pieces, left, meaning, kept = None, None, None, None
    words = blur.read([asked.text]).draws[0]
    if isinstance(blur, PoolPrivatizer):
        kept = what_a_pool_keeps(blur.mechanism)
    elif blur.in_place:
        pieces = marked_text(blur, asked.text, rng)
    if isinstance(blur, Privatizer):
        known = blur.ids(asked.text)
        known = known[known != NULL_ID]
        drawn = blur.mechanism.survival(known, rng.next_child("left")) if len(known) else 0.0
        copied = blur.copied(asked.text)
        left = (copied + len(known) * drawn) / (copied + len(known) or 1)
        if isinstance(blur.mechanism, DiscreteMechanism):
            meaning = expected_cosine(blur.mechanism, known)
    released = (
        blur.release(asked.text, rng).text
        if pieces is None
        else " ".join(piece.released for piece in pieces if piece.released)
    )
    return PreviewedText(
        released=released,
        pieces=pieces,
        words=words,
        epsilon=blur.guarantee.epsilon,
        loss_word=loss_of_a_word(blur.guarantee),
        loss_text=loss_of_a_text(blur.guarantee, words),
        words_left=left,
        meaning=meaning,
        risks=three_risks(blur, blur.counts(asked.text), words).lines()
        if isinstance(blur, Privatizer)
        else [],
        kept=kept,
        guarantee=_promise(blur.guarantee),
        note=NOTE,
    )


def _described(entry: Entry, table: Embedding) -> dict[str, Any]:
    return {
        "name": entry.name,
        "metric": entry.metric.value,
        "promise": entry.promise,
        "source": entry.source,
        "parameters": [parameter.name for parameter in entry.parameters],
        "strengths": {
            strength.value: {
                "epsilon": found.epsilon,
                "risks": {
                    risk: {words: asdict(share) for words, share in shares.items()}
                    for risk, shares in found.risks.items()
                },
            }
            for strength, found in measured_strengths(entry.name, table).items()
        },
    }
