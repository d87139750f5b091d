"""`inkblur calibrate`: the epsilon that keeps a typical word with a wanted probability."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from inkblur.cli import options
from inkblur.cli.console import data, plain_errors, talk


@options.release_options("mechanism", "embedding", "vocabulary", usual={"mechanism": "mahalanobis"})
def calibrate(
    survival: Annotated[
        float | None, typer.Option(help="Probability that a word comes out unchanged.")
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            help="Public documents, one per line: also print the largest distance between two "
            "of them."
        ),
    ] = None,
    length: Annotated[int, typer.Option(help="With --references: words per document.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    *,
    given: options.Given,
) -> None:
    """Find the epsilon at which a word survives with a given probability.

    Without --survival: for light (0.75), medium (0.5) and strong (0.2).

    Example: inkblur calibrate --mechanism laplace --survival 0.4
    """
    with plain_errors():
        from inkblur.mechanisms import calibration, make_mechanism
        from inkblur.mechanisms.catalogue import find
        from inkblur.types import Strength

        entry = find(given.fields["mechanism"])
        own = given.own(entry)
        table = given.table()
        wanted = (
            {f"{survival:g}": survival}
            if survival is not None
            else {s.value: s.survival for s in Strength}
        )
        found: dict[str, float] = {}
        for name, probability in wanted.items():
            found[name] = calibration.calibrate(entry.name, table, survival=probability, **own)
        result: dict[str, object] = {
            "mechanism": entry.name,
            "embedding": table.sha256,
            "words_sampled": min(calibration.SAMPLE, len(table)),
            "epsilon": found,
        }
        if references is not None:
            from inkblur.files.radius import radius_of_file

            word = make_mechanism(entry.name, table, epsilon=1.0, **own)
            result["radius"] = radius_of_file(references, word, length=length)
            result["length"] = length
        if table.adaptations:
            talk.print(f"warning: {table.name} is adapted: {calibration.UNEVEN}", markup=False)
        if as_json:
            data.print_json(json.dumps(result))
            return
        for name, value in found.items():
            data.print(f"{name:>8}  survival {wanted[name]:.2f}  epsilon {value:g}")
        if "radius" in result:
            from inkblur.guarantees import rounded_up

            radius = rounded_up(float(str(result["radius"])))
            data.print(f"  radius  {radius} covers every pair of the references")
        talk.print(f"measured on {result['words_sampled']:,} words of {table.name}")
