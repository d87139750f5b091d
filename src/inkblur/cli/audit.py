"""`inkblur audit`: how often words survive, and whether the privacy claim stands up."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from inkblur.cli import options, texts
from inkblur.cli.console import (
    AsJson,
    data,
    output_option,
    plain_errors,
    print_table,
    progress,
    talk,
)
from inkblur.errors import ParameterError
from inkblur.spec import MECHANISM
from inkblur.types import counted, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inkblur.embeddings.table import Embedding
    from inkblur.evaluation.audit import Audit
    from inkblur.evaluation.measures.statistics import PrivacyStatistics
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.mechanisms.catalogue import Entry
    from inkblur.pools.mechanism import PoolPrivatizer
    from inkblur.rng import Rng

WORDS = 300  # measured unless --words says otherwise
_TEXTS = 12  # of a pool, compared with each other and with an empty one
_MEANINGS = (
    "N_w: of so many runs, how often a word came out unchanged. S_w: how many different words came "
    "out of it. Each with its mean and spread over the words, and percentiles."
)


@options.release_options(
    *("mechanism", "epsilon", "embedding", "vocabulary"),
    *("unit", "pool", "keep_meaning", "encoder"),
    usual={"mechanism": MECHANISM},
    lists=("epsilon", "keep_meaning"),
    several=True,
)
def audit(
    words: Annotated[
        str | None, typer.Option(help=f"How many words to measure, or all (default: {WORDS}).")
    ] = None,
    runs: Annotated[int, typer.Option(help="Draws per word.")] = 100,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two words to tell apart (default: the most promising pair found)."),
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws for each word of the pair.")] = 4_000,
    confidence: Annotated[
        float, typer.Option(help="Probability that a correct mechanism passes the whole audit.")
    ] = 0.99,
    output: Annotated[
        Path | None, output_option("Directory for plots (SVG, PNG) and audit.json.")
    ] = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(help="Seed; the same seed repeats the audit.")] = 1,
    *,
    given: options.Given,
) -> None:
    """Measure how private a mechanism is, and try to disprove its privacy claim.

    Reports how often a word survives (N_w) and how many different words replace it (S_w), with a
    measured lower bound on the privacy loss beside the claimed one. Exits with code 1 if the claim
    is false. Of a pool (--unit text --pool FILE), some of its own texts are told apart.

    Example: inkblur audit -m mahalanobis --epsilon 5,10,20 --lambda 0,1 --words 200 -o audit
    """
    with plain_errors():
        from inkblur.evaluation.audit import checked_draws
        from inkblur.evaluation.measures.intervals import checked_confidence
        from inkblur.evaluation.measures.statistics import measured_ids
        from inkblur.mechanisms.catalogue import find
        from inkblur.rng import seeded_rng
        from inkblur.spec import grid

        checked_confidence(confidence)
        checked_draws(draws)
        rng = seeded_rng(seed)
        results: list[PrivacyStatistics] = []
        if given.pooled:
            words_only = {"--words": words, "--pair": pair, "--output": output}
            options.refuse_given(words_only, "{} cannot be used with --pool: leave it out")
            specs, table = given.settings(), given.table()
            share = _shared(confidence, len(specs))
            audits = [
                _audit_pool(spec.privatizer(table), rng.child(spec.name), draws, share)
                for spec in specs
            ]
        else:
            entry = find(given.fields["mechanism"])
            own = given.own(entry)
            for parameter in entry.parameters:
                if parameter.principal:
                    own.setdefault(parameter.name, parameter.tried)
            if output is not None:  # find out before the measuring
                from inkblur.evaluation.reports import charts

                charts.require_matplotlib()
                texts.make_folder(output)
            table = given.table()
            epsilons = given.fields.get("epsilon") or _usual_epsilons(entry, given, table)
            specs = list(grid(entry.name, {**own, "epsilon": epsilons}))
            made = [spec.mechanism_on(table) for spec in specs]
            count = _count(words, len(table))
            # Refuse what cannot work now, and not after minutes of measuring.
            whole(runs, "runs")
            measured_ids(table, count, rng)
            _known(pair, table)
            results = _measured(made, rng, count, runs)
            audits = _audited(made, rng, pair, draws, confidence)
        body: dict[str, Any] = {
            "seed": seed,
            "confidence": confidence,
            "settings": [spec.to_json() for spec in specs],
            "statistics": [result.to_json() for result in results],
            "audits": [found.to_json() for found in audits],
        }
        if output is not None:
            _write(output, body, results)
        if as_json:
            data.print_json(json.dumps(body, allow_nan=False))
        else:
            if results:
                _print_statistics(results)
            _print_audits([spec.name for spec in specs], audits)
        if any(found.flagged for found in audits):
            talk.print("[bold red]the claim is false[/] in at least one setting")
            raise typer.Exit(1)


def _audit_pool(privatizer: PoolPrivatizer, rng: Rng, draws: int, confidence: float) -> Audit:
    """Whole releases of some of the pool's own texts, and of an empty one."""
    from inkblur.evaluation.audit import Claim
    from inkblur.evaluation.audit import audit as disprove
    from inkblur.types import Record

    pool = privatizer.mechanism.pool
    order = rng.child("texts").permutation(len(pool))
    inputs = [*(pool.texts[row] for row in sorted(order[:_TEXTS].tolist())), ""]
    calls = itertools.count()

    def release(some: list[str]) -> Sequence[str]:
        records = [Record(str(place), text) for place, text in enumerate(some)]
        return privatizer.release_batch(records, rng.child("draws", str(next(calls)))).texts

    claim = Claim(epsilon=privatizer.mechanism.guarantee.epsilon, metric="discrete", unit="text")
    return disprove(release, claim, inputs=inputs, draws=draws, confidence=confidence)


def _known(pair: tuple[str, str] | None, table: Embedding) -> None:
    from inkblur.types import NULL_ID

    for word in pair or ():
        if table.id(word) == NULL_ID:
            raise ParameterError(
                f"the word {word!r} is not among the {len(table):,} words of {table.name}"
            )
    if pair is not None and pair[0] == pair[1]:
        raise ParameterError(f"{pair[0]!r} twice is not a pair; give two different words")


def _shared(confidence: float, settings: int) -> float:
    """The allowed error is shared between the settings, so that it holds for the whole table."""
    return 1 - (1 - confidence) / settings


def _usual_epsilons(entry: Entry, given: options.Given, table: Embedding) -> list[float]:
    """Strong, medium and light, or what lets as many words survive."""
    from inkblur.mechanisms.strengths import usual_epsilons

    first = {name: values[0] for name, values in given.parameters.items()}
    # The default shape calibrates all of them, so that they are compared at one epsilon.
    own = {p.name: first[p.name] for p in entry.parameters if p.name in first and not p.principal}
    return usual_epsilons(entry.name, table, **own)


def _measured(
    made: Sequence[WordMechanism], rng: Rng, count: int | None, runs: int
) -> list[PrivacyStatistics]:
    from inkblur.evaluation.measures.statistics import privacy_statistics

    total = len(made) * (count if count is not None else len(made[0].vocabulary)) * runs
    with progress("measuring words", "draws", total) as bar:
        return [
            privacy_statistics(
                mechanism,
                rng=rng,
                words=count,
                runs=runs,
                on_draws=lambda drawn: bar.show(bar.done + drawn),
            )
            for mechanism in made
        ]


def _audited(
    made: Sequence[WordMechanism],
    rng: Rng,
    pair: tuple[str, str] | None,
    draws: int,
    confidence: float,
) -> list[Audit]:
    from inkblur.evaluation.audit import audit as disprove
    from inkblur.evaluation.claimed_metric import word_claim, word_function, words_to_compare

    audits = []
    with progress("auditing the claim", "settings", len(made)) as bar:
        for mechanism in made:
            stream = rng.child("audit", mechanism.spec)
            audits.append(
                disprove(
                    word_function(mechanism, stream.child("draws")),
                    word_claim(mechanism),
                    inputs=pair or words_to_compare(mechanism, stream),
                    draws=draws,
                    confidence=_shared(confidence, len(made)),
                )
            )
            bar.show(len(audits))
    return audits


def _print_statistics(results: Sequence[PrivacyStatistics]) -> None:
    first = results[0]
    table = Table(
        *("epsilon", "lambda", "N_w mean ± sd", "5/50/95 %", "S_w mean ± sd", "5/50/95 %"),
        title=f"{first.mechanism} on {first.embedding}: {len(first.words):,} of "
        f"{first.vocabulary:,} words, {counted(first.runs, 'run')} each",
        caption=_MEANINGS,
    )
    for result in results:
        cells = [
            text
            for s in (result.survival, result.variety)
            for text in (f"{s.mean:.2f} ± {s.sd:.2f}", f"{s.p5:.0f}/{s.p50:.0f}/{s.p95:.0f}")
        ]
        table.add_row(f"{result.epsilon:g}", _shape(result.lam), *cells)
    print_table(table)


def _print_audits(names: Sequence[str], audits: Sequence[Audit]) -> None:
    from inkblur.guarantees import rounded_down, rounded_up

    table = Table(
        *("setting", "told apart", "loss at least", "claimed at most", "draws can show"),
        title="the claim, audited",
    )
    for name, found in zip(names, audits, strict=True):
        table.add_row(
            escape(name),
            escape(found.subject),
            rounded_down(found.loss) + (" FALSE" if found.flagged else ""),
            rounded_up(found.bound) if math.isfinite(found.bound) else "no bound",
            rounded_down(found.ceiling),
        )
    print_table(table)
    # With many settings only what needs attention is spelled out; the JSON holds it all.
    spelled = [found for found in audits if found.flagged or len(audits) == 1]
    for found in spelled or audits[:1]:
        data.print(escape(f"{found.claim} {found.verdict()}"))


def _shape(lam: float | None) -> str:
    return "-" if lam is None else f"{lam:g}"


def _write(output: Path, body: dict[str, Any], results: Sequence[PrivacyStatistics]) -> None:
    from inkblur.evaluation.reports import charts

    file = output / "audit.json"
    texts.write(file, json.dumps(body, indent=2, allow_nan=False) + "\n")
    written = (file, *charts.write_statistics_figures(results, output))
    talk.print(f"wrote {', '.join(path.name for path in written)} into {output}")


def _count(words: str | None, vocabulary: int) -> int | None:
    if words is None:
        return min(WORDS, vocabulary)
    if words == "all":
        return None
    if not words.isdecimal():
        raise ParameterError(f"--words takes a number above 0 or all, got {words!r}")
    return int(words)
