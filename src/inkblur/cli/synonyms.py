"""`inkblur synonyms`: what a mechanism makes of one word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import AsJson, data, plain_errors, talk
from inkblur.spec import MECHANISM
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.evaluation.measures.synonyms import Chance, Portrait

_BAR = 40  # columns of the longest bar


@options.release_options(
    *("mechanism", "epsilon", "strength", "embedding", "vocabulary"),
    usual={"mechanism": MECHANISM},
)
def synonyms(
    word: Annotated[str, typer.Argument(help="The word to look at.")],
    top: Annotated[int, typer.Option(help="How many replacements to show.")] = 10,
    draws: Annotated[
        int,
        typer.Option(help="Draws to estimate from, for mechanisms without exact probabilities."),
    ] = 10_000,
    as_json: AsJson = False,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same estimate.")] = None,
    *,
    given: options.Given,
) -> None:
    """Show what a word turns into: its replacements, chance to survive, and entropy.

    Example: inkblur synonyms doctor --epsilon 8
    """
    with plain_errors():
        from inkblur.documents.analysis import folded, known_id
        from inkblur.documents.names import is_name
        from inkblur.errors import ParameterError
        from inkblur.evaluation.measures.synonyms import portrait
        from inkblur.types import NULL_ID

        if len(word.split()) != 1:
            raise ParameterError(f"give one word, got {word!r}; each word of a text is drawn alone")
        rng = options.rng_from(None, seed)
        spec = given.spec()
        table = spec.table()
        subject = spec.mechanism_on(table)
        found = known_id(table, word)  # as a text's words are looked up
        spelled = table.words[found] if found != NULL_ID else word
        if found != NULL_ID and is_name(folded(spelled)):
            talk.print(
                f"[yellow]{escape(spelled)} is on the list of names:[/] in a text it enters as the "
                "null word, unless --names blur makes it a word like any other, as shown here"
            )
        result = portrait(subject, spelled, rng, top=top, draws=draws)
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
        else:
            _show(result)


def _show(result: Portrait) -> None:
    from rich.table import Table
    from rich.text import Text

    if not result.known:
        talk.print(
            f"[yellow]{escape(result.word)} is not in the vocabulary:[/] it enters as the null word"
        )
    table = Table("becomes", "probability", box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    longest = max(item.chance.probability for item in result.replacements)
    for item in result.replacements:
        filled = round(_BAR * item.chance.probability / longest)
        bar = Text("█" * filled or "▏", style="green" if item.word == result.word else "cyan")
        table.add_row(Text(item.word), _percent(item.chance, result), bar)
    data.print(table)
    if result.survival is not None:
        data.print(f"stays the same: {_percent(result.survival, result)}")
    least = "" if result.exact else "at least about "
    data.print(
        f"entropy: {least}{result.entropy:.2f} bits, "
        f"like {2**result.entropy:,.1f} equally likely words"
    )
    if result.draws is not None:
        talk.print(
            f"estimated from {counted(result.draws, 'draw')}; in brackets the "
            f"{result.confidence:.0%} confidence interval of each probability"
        )


def _percent(chance: Chance, result: Portrait) -> str:
    if result.exact:
        return f"{chance.probability:.4%}"
    return f"{chance.probability:.2%} ({chance.low:.2%} to {chance.high:.2%})"
