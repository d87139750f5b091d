"""`inkblur mechanisms`: which there are, and what one makes of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import plain_errors, print_table, talk
from inkblur.spec import MECHANISM
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.spec import ReleaseSpec

_SHOWN = 10  # replacements of a word


@options.release_options(
    *("mechanism", "epsilon", "strength", "embedding", "vocabulary"),
    usual={"mechanism": MECHANISM},
)
def mechanisms(
    word: Annotated[
        str | None, typer.Option(help="Show what a mechanism makes of this word.")
    ] = None,
    *,
    given: options.Given,
) -> None:
    """List the mechanisms with their guarantees; or, with --word, what one makes of a word.

    Example: inkblur mechanisms --word doctor --epsilon 8
    """
    with plain_errors():
        if word is None:
            _list()
        else:
            _show_word(word, given.spec())


def _list() -> None:
    from rich.table import Table

    from inkblur.mechanisms import CATALOGUE

    table = Table("mechanism", "metric", "guarantee for one word", "from")
    for entry in CATALOGUE.values():
        table.add_row(entry.name, entry.metric.value, entry.promise, entry.source)
    print_table(table)


def _show_word(word: str, spec: ReleaseSpec) -> None:
    """Its likeliest replacements: exact where the mechanism can say, else from draws."""
    import numpy as np
    from rich.table import Table

    from inkblur.documents.analysis import folded, known_id
    from inkblur.documents.names import is_name
    from inkblur.errors import ParameterError
    from inkblur.rng import secure_rng
    from inkblur.types import NULL_ID

    if len(word.split()) != 1:
        raise ParameterError(f"give one word, got {word!r}; each word of a text is drawn alone")
    vectors = spec.table()
    id = known_id(vectors, word)  # as a text's words are looked up
    spelled = vectors.words[id] if id != NULL_ID else word
    if id == NULL_ID:
        talk.print(
            f"[yellow]{escape(word)} is not in the vocabulary:[/] it enters as the null word"
        )
    elif is_name(folded(spelled)):
        talk.print(
            f"[yellow]{escape(spelled)} is on the list of names:[/] in a text it enters as the "
            "null word, unless --names blur makes it a word like any other, as shown here"
        )
    found = spec.mechanism_on(vectors).distribution(spelled, secure_rng())
    shares = found.probabilities
    table = Table("becomes", "probability")
    for place in np.argsort(-shares, kind="stable")[:_SHOWN].tolist():
        if shares[place] > 0:
            table.add_row(escape(vectors.words[place]), f"{shares[place]:.4%}")
    print_table(table)
    if id != NULL_ID:
        talk.print(f"stays the same: {shares[id]:.4%}")
    if found.draws is not None:
        talk.print(f"estimated from {counted(found.draws, 'draw')}")
