"""Options that several commands share: one name for one thing in all of them.

What has no option of its own is said with `--set NAME=VALUE`: a field of `inkblur.ReleaseSpec`, or
a parameter of its mechanism.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer

from inkblur.errors import PARAMETER, ParameterError
from inkblur.mechanisms.catalogue import CATALOGUE, find
from inkblur.spec import MECHANISM, POOL_EPSILONS, ReleaseSpec, grid

MORE = "More options"

Strength = Annotated[
    str | None,
    typer.Option(
        help="light, medium or strong: by their words, the strongest attack tried attributes at "
        "most 50, 25 or 10 % of the texts to their author, above chance, on public test texts."
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy loss per unit of distance (per word where words have no distance; per text "
        "with --pool), above 0.",
    ),
]
Mechanism = Annotated[
    str | None, typer.Option("--mechanism", "-m", help="A name from `inkblur mechanisms`.")
]
Pool = Annotated[
    str | None,
    typer.Option(help="Public texts (`inkblur pool build`) that take the place of whole texts."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other field of a release or parameter of its mechanism, such as "
        "embedding=vectors.ink, names=blur or tau=0.05; repeat for several.",
    ),
]
Strengths = Annotated[
    str | None, typer.Option("--strength", help="light, medium or strong; several with commas.")
]
Epsilons = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", help="Privacy losses to try, with commas between."),
]
Mechanisms = Annotated[
    str | None,
    typer.Option("--mechanism", "-m", help="Names from `inkblur mechanisms`, with commas between."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUES",
        help="Any other field of a release or parameter of its mechanism, such as "
        "embedding=vectors.ink or tau=0.01,0.1; repeat for several.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", help="Column that holds the text; repeat for several (default: text)."
    ),
]
Column = Annotated[str, typer.Option("--column", help="Column that holds the text.")]
KeepColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-column",
        help="Copy this column unchanged; repeat for several. No other is copied, ids included.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column that identifies each record (default: by its content)."),
]
Person = Annotated[
    str | None,
    typer.Option("--person", help="Column that says which person a record belongs to."),
]
Label = Annotated[
    str | None, typer.Option("--label", help="Column with the topic or class of each text.")
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Where releases are recorded: a file, a postgresql:// URL, or none (default: a file "
        "in your data folder).",
        show_default=False,
    ),
]
RecordBudget = Annotated[
    float | None,
    typer.Option("--budget", help="Largest total loss of a record, over all its releases."),
]

# Fields of a spec that have an option of their own.
_FLAGS = {
    "mechanism": "--mechanism",
    "epsilon": "--epsilon",
    "strength": "--strength",
    "pool": "--pool",
    "columns": "--column",
    "keep_columns": "--keep-column",
    "keep_order": "--keep-order",
    "id_column": "--id",
    "person_column": "--person",
    "length": "--length",
    "keep": "--keep",
    "drop": "--drop",
    "rng": "--key-file",
    "workers": "--processes",
}
_KINDS = {each.name: str(each.type) for each in fields(ReleaseSpec)}
_PARAMETERS = {each.name: each for entry in CATALOGUE.values() for each in entry.parameters}
_AXES = ("length", "morphology")  # of which several values make several settings


def in_flags(message: str) -> str:
    """A message of the library as the command line says it: with options for parameters.

    >>> in_flags('use `epsilon=5` or leave out `id_column=` and `tau=`')
    'use --epsilon 5 or leave out --id and --set tau='
    """

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("\"'")
        if name in _FLAGS or name not in {*_KINDS, *_PARAMETERS}:
            spelled = _FLAGS.get(name) or f"--{name.replace('_', '-')}"
            return f"{spelled} {value if value != 'True' else ''}".strip()
        return f"--set {name}={value.lower() if value == 'True' else value}"

    return PARAMETER.sub(flag, message)


def release_spec(settings: Sequence[str] | None, **given: Any) -> ReleaseSpec:
    """The release that options and `--set` describe; what was not given is None."""
    given = {name: value for name, value in given.items() if value is not None}
    known = _together(given, settings, several=False)
    if not known.keys() & {"strength", "epsilon", "level", "radius"}:
        raise typer.BadParameter("choose how strong: --strength light|medium|strong or --epsilon E")
    return ReleaseSpec.of(**known)


def release_specs(settings: Sequence[str] | None, **given: str | None) -> list[ReleaseSpec]:
    """Every combination of what options and `--set` give, for every mechanism that is named; a
    parameter goes to the mechanisms that have it. Without epsilon or strength, the usual epsilons.

    >>> [spec.name for spec in release_specs(["tau=0.1"], epsilon="1,2")]
    ['staircase, epsilon 1, tau 0.1', 'staircase, epsilon 2, tau 0.1']
    """
    split = {name: _split(name, text) for name, text in given.items() if text is not None}
    known = _together(split, settings, several=True)
    usual = "exponential" if known.get("release") == "tf" else MECHANISM
    names = known.pop("mechanism", [usual])
    strong: dict[str, list[Any]] = {
        name: known.pop(name) for name in ("epsilon", "strength") if name in known
    }
    axes = {name: known.pop(name) for name in (*_AXES, *_PARAMETERS) if name in known}
    owners = [find(name) for name in names]
    for name in axes.keys() & _PARAMETERS:
        if not any(owner.has(name) for owner in owners):
            owners[0].complete({name: None})  # refuses it
    if "pool" in known:
        known["pool"] = known["pool"][0]
        strong = strong or {"epsilon": list(POOL_EPSILONS)}
    found: list[ReleaseSpec] = []
    for owner in owners:
        own = {n: v for n, v in axes.items() if n not in _PARAMETERS or owner.has(n)}
        if strong:
            found += grid(owner.name, {**strong, **own}, **known)
        else:
            found += _usual(grid(owner.name, {"epsilon": [1.0], **own}, **known))
    return found


def _usual(specs: Sequence[ReleaseSpec]) -> list[ReleaseSpec]:
    """The strengths, or three by how many words survive, of each."""
    from inkblur.mechanisms.strengths import usual_epsilons

    table = specs[0].table()
    return [
        spec.varied(epsilon=epsilon)
        for spec in specs
        for epsilon in usual_epsilons(spec.mechanism, table, **spec.parameters)
    ]


def _together(
    given: Mapping[str, Any], settings: Sequence[str] | None, *, several: bool
) -> dict[str, Any]:
    """What options gave, and what `--set` says beside it."""
    found = dict(given)
    for pair in settings or ():
        title, sign, text = pair.partition("=")
        name = title.strip().replace("-", "_")
        name = "lam" if name == "lambda" else name
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE, got {pair!r}")
        if name in found:
            raise typer.BadParameter(f"{name} is given twice")
        many = several and (name in _AXES or name in _PARAMETERS)
        found[name] = _split(name, text) if many else _typed(name, text)
    return found


def numbers(name: str, text: str | None) -> list[float]:
    """Numbers with commas between; none where the option was not given."""
    return [] if text is None else _split(name, text)


def _split(name: str, text: str) -> list[Any]:
    return [_typed(name, part.strip()) for part in text.split(",")]


def _typed(name: str, text: str) -> Any:
    """The value that a text spells."""
    if name in _PARAMETERS:
        return _PARAMETERS[name].parsed(text)
    kind = _KINDS.get(name, "str")
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in text.split(","))
    if kind == "bool" and text in ("true", "false"):
        return text == "true"
    if kind.startswith("int") and text.isdecimal():
        return int(text)
    if not kind.startswith("float"):
        return text  # checked by the spec
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"`{name}=` takes numbers, got {text!r}") from None


def typed(spec: ReleaseSpec) -> list[str]:
    """The options that describe this release, as they are typed; defaults are left out."""
    words: list[str] = []
    for each in fields(spec):
        value = getattr(spec, each.name)
        if each.name in ("parameters", "unit") or (
            value == each.default and each.name != "mechanism"
        ):
            continue
        values = value if isinstance(value, tuple) else (value,)
        if each.name in _FLAGS:
            words += [word for one in values for word in (_FLAGS[each.name], _written(one))]
        else:
            words += ["--set", f"{each.name}={','.join(map(_written, values))}"]
    for parameter, value in find(spec.mechanism).distinguishing(spec.parameters):
        words += ["--set", f"{parameter.name}={_written(value)}"]
    return words


def _written(value: Any) -> str:
    """As short as it can be written without changing it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)
