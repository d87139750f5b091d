"""`inkblur audit --pool`: whether texts are drawn from a pool as it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from inkblur.cli.console import data, talk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inkblur.cli.options import Given


def run(
    given: Given,
    words_only: Mapping[str, object | None],
    *,
    draws: int,
    confidence: float,
    seed: int,
    as_json: bool,
) -> None:
    """Audit every setting; exit with code 1 where the claim is false."""
    from rich.markup import escape

    from inkblur.errors import ParameterError
    from inkblur.evaluation.audit.choice import audit_pool
    from inkblur.rng import seeded_rng

    names = [name for name, value in words_only.items() if value is not None]
    if names:
        raise ParameterError(f"{' and '.join(names)} cannot be used with --pool: leave it out")
    specs, table = given.over_a_pool(), given.table()
    made = [spec.pool_privatizer(table) for spec in specs]
    # The allowed error is shared between the settings.
    share = 1 - (1 - confidence) / len(made)
    found = [audit_pool(blur, rng=seeded_rng(seed), draws=draws, confidence=share) for blur in made]
    if as_json:
        body = {
            "seed": seed,
            "confidence": confidence,
            "audits": [
                {"setting": spec.to_json(), **audit.to_json()}
                for spec, audit in zip(specs, found, strict=True)
            ],
        }
        data.print_json(json.dumps(body, allow_nan=False))
    else:
        for spec, audit in zip(specs, found, strict=True):
            data.print(f"[bold]{escape(spec.name)}[/]")
            for line in audit.findings or (audit.verdict(),):
                data.print(f"  {escape(line)}")
    if any(audit.flagged for audit in found):
        talk.print("[bold red]the claim is false[/] in at least one setting")
        raise typer.Exit(1)
