"""`inkblur ledger`: what was released, what it cost, and whether the account is intact."""

from __future__ import annotations

import csv
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli.console import Command, data, print_table, talk
from inkblur.errors import InputError
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.ledger import Ledger

# How earlier versions named what their losses could be added up in.
_SPACE = re.compile(
    r"(?P<metric>euclidean|mahalanobis|manhattan)( \(lambda (?P<lam>[0-9.e+-]+)\))? "
    r"on (?P<table>[0-9a-f]{12}), .*per unit of distance"
)

app = typer.Typer(
    no_args_is_help=True,
    help="Show what was released so far, and what it cost.",
    epilog="Example: inkblur ledger show",
)
command = partial(app.command, cls=Command)
Place = Annotated[
    str | None,
    typer.Argument(
        help="The ledger: a file or a postgresql:// URL (default: the file in your data folder).",
        metavar="[LEDGER]",
        show_default=False,
    ),
]


def _existing(place: str | None) -> Ledger:
    """The ledger, if there is one: a mistyped name must not make a new one and call it intact."""
    from inkblur.ledger import ledger_files, open_ledger

    for file in ledger_files(place)[:1]:
        if not file.exists():
            raise InputError(
                f"there is no ledger {file}: no release was recorded in it yet, or "
                "another one should be named"
            )
    return open_ledger(place)


@command()
def show(ledger: Place = None) -> None:
    """List every release: when, what, for how many records; then the largest loss of a record and
    of a person, over all of them.

    Example: inkblur ledger show
    """
    from rich.table import Table

    from inkblur.ledger.events import shown

    with _existing(ledger) as opened:
        history = opened.history()
        largest, unknown = opened.most_spent(), opened.unknown_spaces()
    table = Table("release", "when (UTC)", "mechanism", "records", "words", "bound", "state")
    for release in history:
        spec = release.get("spec", {})
        table.add_row(
            release["release"][:8],
            release["opened"][:16].replace("T", " "),
            str(spec.get("mechanism", "")),
            f"{release['records']:,}",
            f"{release['words']:,}",
            "no" if release.get("unbounded") else "yes",
            release["state"],
        )
    print_table(table)
    for who, spent in largest.items():
        without = " (besides releases without a bound)" if spent.unbounded else ""
        data.print(
            f"largest loss of a {who}, all releases together: {shown(spent.amount)}{without}"
        )
    if unknown:
        talk.print(
            f"An earlier version counted {counted(len(unknown), 'kind')} of losses per unit of "
            "distance, which fits no budget now: inkblur ledger migrate --embedding TABLE "
            "converts it"
        )
    if any(release["state"] == "reserved" for release in history):
        talk.print(
            "reserved: the run was cut off, or the engine is lazy, so it is not known whether "
            "the output is complete; it counts as spent. To confirm it, run it again with the "
            "same key, which costs nothing, or use inkblur ledger confirm RELEASE"
        )


@command()
def confirm(
    release: Annotated[
        str, typer.Argument(help="The release in `inkblur ledger show`, or how its name begins.")
    ],
    ledger: Place = None,
) -> None:
    """Mark a reserved release as written, for example once a lazy engine has run.

    Example: inkblur ledger confirm 9f2c01d4
    """
    with _existing(ledger) as opened:
        name = opened.confirm(release)
    talk.print(f"confirmed {name}")


@command()
def spent(
    person: Annotated[str, typer.Argument(help="The person, as written in the person column.")],
    ledger: Place = None,
) -> None:
    """Show what one person's records have spent.

    Example: inkblur ledger spent ada@example.org
    """
    from inkblur.ledger.events import Spent, shown

    with _existing(ledger) as opened:
        spent = opened.spent(person)
    if spent == Spent():
        talk.print("nothing was released for this person")
        return
    data.print(shown(spent.amount))
    if spent.unbounded:
        talk.print("besides, a release without a bound, or with one that is not known")


@command()
def migrate(
    embedding: Annotated[
        str, typer.Option(help="The word vectors that an earlier version measured distances on.")
    ],
    ledger: Place = None,
) -> None:
    """Convert losses that an earlier version counted per unit of distance.

    Until then the records that have them fit no budget. Their loss between any two texts is at most
    what was counted times the largest distance between two words.

    Example: inkblur ledger migrate --embedding vectors.ink
    """
    import inkblur
    from inkblur.mechanisms import CATALOGUE

    table = inkblur.load_embedding(embedding)
    laws = {entry.metric.value: entry for entry in CATALOGUE.values()}
    with _existing(ledger) as opened:
        for space in opened.unknown_spaces():
            found = _SPACE.match(space)
            if found is None or found["table"] != table.sha256[:12]:
                talk.print(f"left as it is: {space}", markup=False)
                continue
            given = {"lam": float(found["lam"])} if found["lam"] else {}
            law = laws[found["metric"]].make(table, epsilon=1.0, **given)
            opened.convert(space, law.diameter)
            data.print(f"converted, at {law.diameter:.4g} for a unit of distance: {space}")


@command()
def verify(
    anchor: Annotated[
        str | None, typer.Option(help="What `inkblur ledger anchor` printed earlier.")
    ] = None,
    ledger: Place = None,
) -> None:
    """Check that no entry was changed or removed. Exits with 1 if one was.

    Example: inkblur ledger verify --anchor 12:9f2c...
    """
    with _existing(ledger) as opened:
        problems = opened.verify(anchor)
    for problem in problems:
        data.print(problem)
    if problems:
        raise typer.Exit(1)
    unseen = "" if anchor else "; without --anchor, entries missing at the end are not noticed"
    talk.print(f"intact{unseen}")


@command()
def anchor(ledger: Place = None) -> None:
    """Print the newest entry's fingerprint. Keep it elsewhere, to notice if entries vanish.

    Example: inkblur ledger anchor > anchor.txt
    """
    with _existing(ledger) as opened:
        sys.stdout.write(opened.anchor() + "\n")


@command()
def export(ledger: Place = None) -> None:
    """Print every charge as CSV, with hashes instead of ids, contents and people.

    Example: inkblur ledger export > ledger.csv
    """
    with _existing(ledger) as opened:
        csv.writer(sys.stdout).writerows(opened.export())
