"""Options that several commands share.

What describes a release is not written here: `release_options` makes an option of each field of
`ReleaseSpec` that a command names, and of each parameter that a mechanism of the catalogue
declares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape

from inkblur.cli import texts
from inkblur.cli.console import plain_errors, talk
from inkblur.errors import ParameterError
from inkblur.mechanisms.catalogue import CATALOGUE, Entry, Parameter, find
from inkblur.spec import MECHANISM, POOL_EPSILONS, ReleaseSpec, grid, options_of_a_spec

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.rng import Rng

SPEED = "Speed (never changes the output)"
LEDGER = "Ledger and budgets"

DeviceName = Annotated[
    str, typer.Option(help="Device for the search: auto, cpu or cuda.", rich_help_panel=SPEED)
]
Threads = Annotated[
    int | None,
    typer.Option(help="CPU threads for the search (default: all).", rich_help_panel=SPEED),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Integer seed, for tests and papers only: the output is then NOT private."),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        help="Where releases are recorded: a file or a postgresql:// URL (default: a file in your "
        "data folder).",
        show_default=False,
        rich_help_panel=LEDGER,
    ),
]
RecordBudget = Annotated[
    float | None,
    typer.Option(
        help="Largest total loss of a record, over all its releases.",
        rich_help_panel=LEDGER,
    ),
]
PersonBudget = Annotated[
    float | None,
    typer.Option(
        help="Largest total loss of a person, over all releases; every text must "
        "then name its person.",
        rich_help_panel=LEDGER,
    ),
]

_SEVERAL = "One or more, comma-separated."
_OWN = "Options for one mechanism"
_POOLED = ("unit", "pool", "keep_meaning", "encoder")
_STRENGTHS = ("epsilon", "strength", "level")
_AXES = ("epsilon", "length", "morphology", "keep_meaning")  # several values make several settings
_FIXED = ("release", "unit", "pool", "encoder")


def release_options(
    *names: str,
    usual: Mapping[str, Any] | None = None,
    lists: Collection[str] = (),
    several: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these fields of a spec (all of them, if none is named) and of
    every mechanism's parameters; it gets them as its argument `given`.

    `usual` holds what a field is where it is not given. Fields in `lists`, and with `several` the
    parameters too, take values with commas between.
    """
    known = {field.name: field for field in options_of_a_spec()}
    chosen = [known[name] for name in names] if names else list(known.values())
    types, values_if_none = get_type_hints(ReleaseSpec), usual or {}
    declared = _declared()

    def sorted_out(values: Mapping[str, Any]) -> Given:
        """Fields apart from parameters, lists taken apart."""
        pooled = any(values.get(name) is not None for name in _POOLED)
        found = Given({}, {})
        for name, typed in values.items():
            value = values_if_none.get(name) if typed is None else typed
            if name == "mechanism" and typed is None and pooled:
                continue  # a pool has its own
            if value is None or value is False or value == []:
                continue
            if name in declared:
                _, parameter = declared[name][0]
                found.parameters[name] = _listed(value, parameter) if several else value
            else:
                found.fields[name] = _split(value, types[name], name) if name in lists else value
        return found

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        added = [
            _field_option(f, types[f.name], f.name in lists, values_if_none.get(f.name))
            for f in chosen
        ]
        added += [_parameter_option(same, several) for same in declared.values()]
        shown = [each for each in own if each.name != "given"] + added
        needed = [each for each in shown if each.default is inspect.Parameter.empty]
        rest = [each for each in shown if each.default is not inspect.Parameter.empty]

        @wraps(command)
        def door(**values: Any) -> None:
            typed = {each.name: values.pop(each.name) for each in added}
            with plain_errors():
                given = sorted_out(typed)
            command(**values, given=given)

        door.__signature__ = inspect.Signature(needed + rest)  # type: ignore[attr-defined]
        door.__annotations__ = {each.name: each.annotation for each in shown}
        return door

    return decorate


@dataclass(frozen=True, slots=True)
class Given:
    """What was typed: fields of a spec, and parameters of mechanisms; only what was given."""

    fields: dict[str, Any]
    parameters: dict[str, Any]

    def own(self, *entries: Entry) -> dict[str, Any]:
        """The parameters, each of which one of these mechanisms must have."""
        for name in self.parameters:
            if not any(entry.has(name) for entry in entries):
                declared = _declared()[name]
                names = ", ".join(entry.name for entry in entries)
                owners = " or ".join(entry.name for entry, _ in declared)
                raise ParameterError(
                    f"{declared[0][1].flag} is not an option of {names}; leave it out, or give "
                    f"--mechanism {owners}"
                )
        return dict(self.parameters)

    def spec(self) -> ReleaseSpec:
        """The release that was described."""
        if ("level" in self.fields) != ("radius" in self.fields):
            raise typer.BadParameter("--level and --radius must be given together")
        one_of(
            {f"--{name}": self.fields.get(name) for name in _STRENGTHS},
            required="choose how strong: --strength light|medium|strong, --epsilon E, or --level L "
            "--radius R",
        )
        made = ReleaseSpec(**self.fields)  # its mechanism is known, named or not
        return made.varied(**self.own(find(made.mechanism)))

    @property
    def pooled(self) -> bool:
        """Whether texts are to be drawn from a pool."""
        return any(name in self.fields for name in _POOLED)

    def settings(self, epsilons: Sequence[float] = ()) -> list[ReleaseSpec]:
        """Every combination of what was given, for every mechanism that was named; a parameter goes
        to the mechanisms that have it. `epsilons` stand in where none was given.
        """
        names = self.fields.get("mechanism", MECHANISM)
        entries = [find(name) for name in ([names] if isinstance(names, str) else names)]
        own = self.own(*entries)
        axes = {name: self.fields[name] for name in _AXES if name in self.fields}
        fixed = {name: self.fields[name] for name in _FIXED if name in self.fields}
        tried = axes.pop("epsilon", POOL_EPSILONS if self.pooled else epsilons)
        found: list[ReleaseSpec] = []
        for entry in entries:
            mine = {name: value for name, value in own.items() if entry.has(name)}
            found += grid(entry.name, {"epsilon": tried, **mine, **axes}, **fixed)
        return found

    def table(self) -> Embedding:
        """The word vectors that were named."""
        from inkblur.embeddings.store import load_embedding

        words = self.fields.get("vocabulary")
        vocabulary = None if words is None else Path(words)
        return load_embedding(self.fields.get("embedding"), vocabulary=vocabulary)


def typed(spec: ReleaseSpec) -> list[str]:
    """The options that describe this release, as they are typed; defaults are left out."""
    words: list[str] = []
    for field in options_of_a_spec():
        value = getattr(spec, field.name)
        flag = (field.metadata["flags"] or (f"--{field.name.replace('_', '-')}",))[0]
        if field.name == "mechanism" or value != field.default:
            for each in value if isinstance(value, tuple) else (value,):
                words += [flag] if each is True else [flag, written(each)]
    for parameter, value in find(spec.mechanism).distinguishing(spec.parameters):
        words += [parameter.flag] if value is True else [parameter.flag, written(value)]
    return words


def one_of(given: dict[str, object | None], *, required: str | None = None) -> str | None:
    """Which one of these options was given; more than one (or none, if `required`) is wrong
    usage.
    """
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise typer.BadParameter(f"give only one of {' and '.join(names)}")
    if not names and required:
        raise typer.BadParameter(required)
    return names[0] if names else None


def refuse_given(given: Mapping[str, object | None], message: str) -> None:
    """Refuse options that were given; the message's {} names them."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise ParameterError(message.format(" and ".join(names)))


def rng_from(key_file: Path | None, seed: int | None) -> Rng:
    """A key from a file, a seed, or by default a fresh secret key."""
    from inkblur.rng import keyed_rng, secure_rng, seeded_rng

    one_of({"--key-file": key_file, "--seed": seed})
    if key_file is not None:
        return keyed_rng(key_from(key_file))
    return secure_rng() if seed is None else seeded_rng(seed)


def key_from(file: Path) -> bytes:
    """A key, with a warning where others can read it."""
    from inkblur.rng import read_key, readable_by_others

    key = read_key(file)
    if readable_by_others(file):
        talk.print(
            f"[bold yellow]warning:[/] others can read the key file {escape(str(file))}, and "
            "whoever has the key can undo the noise: chmod 600 it"
        )
    return key


Declared = list[tuple[Entry, Parameter]]


def _declared() -> dict[str, Declared]:
    """Every parameter of the catalogue by its name, with the mechanisms that declare it."""
    found: dict[str, Declared] = {}
    for entry in CATALOGUE.values():
        for parameter in entry.parameters:
            found.setdefault(parameter.name, []).append((entry, parameter))
    return found


def _field_option(
    field: Field[Any], kind: Any, several: bool, usual: Any = None
) -> inspect.Parameter:
    value, many = _value_type(kind)
    help = (
        field.metadata["help"] if usual is None else f"{field.metadata['help']} Default: {usual}."
    )
    flags = field.metadata["flags"] or (f"--{field.name.replace('_', '-')}",)
    if several:
        value, help = str, f"{help} {_SEVERAL}"
    one: Any = value
    annotation = bool if one is bool else (list[one] if many else one) | None
    return _option(field.name, annotation, flags, help, field.metadata["group"])


def _parameter_option(same: Declared, several: bool) -> inspect.Parameter:
    """One option for all mechanisms that declare a parameter of this name."""
    parameter = same[0][1]
    names = ", ".join(entry.name for entry, _ in same)
    default = "chosen from public data" if parameter.default is None else parameter.default
    usual = "" if parameter.kind is bool or default == "" else f" Default: {default}."
    help = f"For {names}: {parameter.help[:1].lower()}{parameter.help[1:]}{usual}"
    if parameter.kind is bool:
        return _option(parameter.name, bool, (parameter.flag,), help, _OWN)
    kind: Any = str if several else parameter.kind
    help = f"{help} {_SEVERAL}" if several else help
    return _option(parameter.name, kind | None, (parameter.flag,), help, _OWN)


def _option(name: str, kind: Any, flags: Sequence[str], help: str, group: str) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if kind is bool else None,
        annotation=Annotated[kind, typer.Option(*flags, help=help, rich_help_panel=group)],
    )


def written(value: Any) -> str:
    """As short as it can be written without changing it."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def _value_type(kind: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    if get_origin(kind) is tuple:
        return get_args(kind)[0], True
    plain = [each for each in get_args(kind) if each is not type(None)]
    return (plain[0] if plain else kind), False


def _split(text: str, kind: Any, name: str) -> list[Any]:
    value, _ = _value_type(kind)
    flag = f"--{name}"
    if value is float:
        return texts.numbers(text, flag)
    parts = texts.listed(text)
    if value is int:
        if not parts or not all(part.isdecimal() for part in parts):
            raise ParameterError(f"{flag} takes whole numbers separated by commas, got {text!r}")
        return [int(part) for part in parts]
    return list(parts)


def _listed(value: Any, parameter: Parameter) -> list[Any]:
    if not isinstance(value, str):
        return [value]
    return [parameter.parsed(part.strip()) for part in value.split(",")]
