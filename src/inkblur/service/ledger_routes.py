"""/v1/ledger: what was released, what it cost, whether the account is intact."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from inkblur.ledger.events import UNIT
from inkblur.service.settings import Name
from inkblur.service.state import Service


class Person(
    BaseModel, extra="forbid", json_schema_extra={"examples": [{"person": "ada@example.org"}]}
):
    """Whose account to look up."""

    person: Name
    caller: Name = Field("", description="Whose records, where there are tokens.")


class Anchor(BaseModel, extra="forbid", json_schema_extra={"examples": [{"anchor": None}]}):
    """What `anchor` was earlier, kept elsewhere."""

    anchor: Annotated[str, Field(max_length=200)] | None = None


def ledger_routes(service: Service) -> APIRouter:
    """The routes of one server."""
    routes = APIRouter(prefix="/v1/ledger")

    @routes.get("")
    async def history(limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, Any]:
        """The newest releases, newest first: who, what, when; and the largest loss so far of a
        record and of a person.
        """
        ledger, limits = service.ledger, service.settings.limits
        releases, anchor, most = await service.look(
            lambda: (ledger.history(), ledger.anchor(), ledger.most_spent())
        )
        return {
            "releases": [_shown(each) for each in reversed(releases[-limit:])],
            "total": len(releases),
            "anchor": anchor,
            "budget": limits.budget,
            "person_budget": limits.person_budget,
            "largest_loss": {who: spent.amount / UNIT for who, spent in most.items()},
        }

    @routes.post("/spent")
    async def spent(asked: Person) -> dict[str, Any]:
        """What one person's records have spent, and what is left of the budget. By POST, so that
        no log of addresses holds the person.
        """
        spent = await service.look(service.ledger.spent, asked.person, asked.caller)
        limit = service.settings.limits.person_budget
        left = None if limit is None else max(0.0, limit - spent.amount / UNIT)
        return {
            "spent": spent.amount / UNIT,
            "unbounded": spent.unbounded,
            "left": 0.0 if limit is not None and spent.unbounded else left,
        }

    @routes.post("/verify")
    async def verify(asked: Anchor | None = None) -> dict[str, Any]:
        """Whether an entry was changed or removed since it was written; with an anchor that was
        kept elsewhere, also whether later ones vanished. The body may be left out.
        """
        anchor = None if asked is None else asked.anchor
        problems = await service.look(service.ledger.verify, anchor)
        return {"intact": not problems, "problems": problems}

    @routes.get("/export", response_class=Response)
    async def export() -> Response:
        """Every charge as CSV, with hashes instead of ids, contents and people."""

        def rows() -> str:
            out = io.StringIO()
            csv.writer(out).writerows(service.ledger.export())
            return out.getvalue()

        return Response(
            await service.look(rows),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="ledger.csv"'},
        )

    return routes


def _shown(release: dict[str, Any]) -> dict[str, Any]:
    spec = release.get("spec", {})
    return {
        "release": release["release"],
        "opened": release["opened"],
        "state": release["state"],
        "caller": release.get("caller", ""),
        "mechanism": spec.get("mechanism", ""),
        "epsilon": spec.get("epsilon"),
        "unit": spec.get("unit", "word"),
        "records": release["records"],
        "words": release["words"],
        "unbounded": release.get("unbounded", ""),
    }
