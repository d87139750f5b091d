"""Options that several commands share, and what they make: embeddings, mechanisms, randomness."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from inkblur.embeddings import Embedding
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.rng import Rng

MechanismName = Annotated[
    str, typer.Option("--mechanism", "-m", help="A name from `inkblur mechanisms`.")
]
EmbeddingSource = Annotated[
    str | None,
    typer.Option("--embedding", help="Bundled by default; or a file of word vectors."),
]
VocabularyFile = Annotated[
    Path | None,
    typer.Option("--vocabulary", help="Use only the words of this public list, one a line."),
]
Epsilon = Annotated[
    float | None,
    typer.Option("--epsilon", "-e", help="Privacy loss per unit of distance; above 0."),
]
StrengthName = Annotated[
    str | None,
    typer.Option(
        help="light, medium or strong: a vocabulary word survives with probability 0.75, 0.5, 0.2."
    ),
]
Lambda = Annotated[
    float | None,
    typer.Option(
        "--lambda", help="Shape of the mahalanobis noise, 0 (round) to 1; 0.5 if not given."
    ),
]
Bigram = Annotated[
    float | None,
    typer.Option(
        "--bigram", help="exponential: how much a replacement spelt alike is disliked, 0 to 1."
    ),
]
BoundingName = Annotated[
    str | None,
    typer.Option("--bounding", help="exponential: clip or rescale similarities to [0, 1]."),
]
AcceptNoGuarantee = Annotated[
    bool, typer.Option("--accept-no-guarantee", help="Run a mechanism that proves nothing.")
]
DeviceName = Annotated[
    str, typer.Option(help="Where to search: auto, cpu or cuda. Does not change the output.")
]
Threads = Annotated[
    int | None, typer.Option(help="Threads of the search on the processor; all if not given.")
]
Seed = Annotated[
    int | None,
    typer.Option(help="A whole number, for tests and papers: the output is then NOT private."),
]


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


def embedding_from(source: str | None, vocabulary: Path | None) -> Embedding:
    """The embedding that the options name."""
    from inkblur.embeddings import load_embedding

    return load_embedding(source, vocabulary=vocabulary)


def serve(table: Embedding, device: str, threads: int | None) -> None:
    """Search this table where the options say; leaves the default alone where they say nothing."""
    from inkblur.mechanisms.nearest import engine
    from inkblur.types import choose

    chosen = choose(engine.Device, device, "device")
    if chosen is not engine.Device.AUTO or threads is not None:
        engine.serve(table, chosen, threads=threads)


def own_options(
    name: str,
    *,
    lam: float | None,
    bigram: float | None = None,
    bounding: str | None = None,
    accept: bool,
) -> dict[str, Any]:
    """The mechanism's own options, with its defaults; options it does not have are refused."""
    from inkblur.errors import ParameterError
    from inkblur.mechanisms.catalogue import find

    entry = find(name)
    given: dict[str, tuple[str, float | str | None, float | str]] = {
        "lam": ("--lambda", lam, 0.5),
        "bigram": ("--bigram", bigram, 0.0),
        "bounding": ("--bounding", bounding, "clip"),
    }
    options: dict[str, Any] = {}
    for option, (flag, value, default) in given.items():
        if option in entry.options:
            options[option] = default if value is None else value
        elif value is not None:
            raise ParameterError(f"{flag} is not an option of {name}; leave it out")
    if "accept_no_guarantee" in entry.options:
        options["accept_no_guarantee"] = accept
    return options


def mechanism_from(
    name: str,
    embedding: Embedding,
    options: dict[str, Any],
    *,
    epsilon: float | None,
    strength: str | None,
    level: float | None = None,
    radius: float | None = None,
) -> WordMechanism:
    """The mechanism at the epsilon that was asked for, in whichever way it was asked."""
    from inkblur.errors import ParameterError
    from inkblur.mechanisms import Perturbation, make_mechanism
    from inkblur.mechanisms.calibration import epsilon_for, epsilon_from_level
    from inkblur.types import Strength, choose

    if (level is None) != (radius is None):
        raise typer.BadParameter("--level and --radius go together")
    chosen = one_of(
        {"--epsilon": epsilon, "--strength": strength, "--level with --radius": level},
        required="say how strong: --strength light|medium|strong, --epsilon E, "
        "or --level L --radius R",
    )
    if chosen == "--strength":
        value = epsilon_for(
            choose(Strength, strength or "", "strength"), name, embedding, **options
        )
    elif level is not None and radius is not None:
        value = epsilon_from_level(level, radius)
    else:
        value = epsilon if epsilon is not None else 0.0
    made = make_mechanism(name, embedding, epsilon=value, **options)
    if level is not None and not isinstance(made, Perturbation):
        raise ParameterError(
            f"--level and --radius need a mechanism that measures distances, and {name} does not: "
            "its loss is the same within every radius; give --epsilon or --strength"
        )
    return made


def rng_from(key_file: Path | None, seed: int | None) -> Rng:
    """A key from a file, a seed, or by default a fresh secret key."""
    from inkblur.rng import keyed_rng, read_key, secure_rng, seeded_rng

    one_of({"--key-file": key_file, "--seed": seed})
    if key_file is not None:
        return keyed_rng(read_key(key_file))
    return secure_rng() if seed is None else seeded_rng(seed)
