"""`inkblur audit`: how often words survive, and whether the privacy claim stands up."""

from __future__ import annotations

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

    from inkblur.embeddings import Embedding
    from inkblur.evaluation.audit.lower_bound import Audit
    from inkblur.evaluation.measures.statistics import PrivacyStatistics
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.mechanisms.catalogue import Entry
    from inkblur.rng import Rng

WORDS = 300  # measured unless --words says otherwise


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
    is false. Of a pool (--unit text --pool FILE), the draws are tested against the exact
    probabilities that the pool states.

    Example: inkblur audit -m mahalanobis --epsilon 5,10,20 --lambda 0,1 --words 200 -o audit
    """
    with plain_errors():
        from inkblur.evaluation.audit.distinguishing import WordPair
        from inkblur.evaluation.audit.lower_bound import checked_draws
        from inkblur.evaluation.measures.intervals import checked_confidence
        from inkblur.evaluation.measures.statistics import measured_ids
        from inkblur.mechanisms.catalogue import find
        from inkblur.rng import seeded_rng
        from inkblur.spec import grid

        if given.pooled:
            words_only = {
                "--words": words,
                "--pair": pair,
                "--output": output,
            }
            options.refuse_given(words_only, "{} cannot be used with --pool: leave it out")
            _audit_pool(given, draws, confidence, seed, as_json)
            return
        entry = find(given.fields["mechanism"])
        own = given.own(entry)
        for parameter in entry.parameters:
            if parameter.principal:
                own.setdefault(parameter.name, parameter.tried)
        checked_confidence(confidence)
        if output is not None:  # find out before the measuring
            from inkblur.evaluation.reports import plots

            plots.require_matplotlib()
            texts.make_folder(output)
        table = given.table()
        epsilons = given.fields.get("epsilon") or _usual_epsilons(entry, given, table)
        specs = grid(entry.name, {**own, "epsilon": epsilons})
        made = [spec.mechanism_on(table) for spec in specs]
        count = _count(words, len(table))
        rng = seeded_rng(seed)
        # Refuse what cannot work now, and not after minutes of measuring.
        whole(runs, "runs")
        measured_ids(table, count, rng)
        checked_draws(draws)
        if pair is not None:
            WordPair(made[0], *pair)
        results = _measured(made, rng, count, runs)
        audits = _audited(made, rng, pair, draws, confidence)
        body: dict[str, Any] = {
            "seed": seed,
            "confidence": confidence,
            "statistics": [result.to_json() for result in results],
            "audits": [found.to_json() for found in audits],
        }
        if output is not None:
            _write(output, body, results)
        if as_json:
            data.print_json(json.dumps(body, allow_nan=False))
        else:
            _print(results, audits)
        _judge(audits)


def _audit_pool(
    given: options.Given, draws: int, confidence: float, seed: int, as_json: bool
) -> None:
    """Whether texts are drawn from a pool as it says, at every setting."""
    from inkblur.evaluation.audit.choice import audit_pool
    from inkblur.rng import seeded_rng

    specs, table = given.settings(), given.table()
    share = _shared(confidence, len(specs))
    audits = [
        audit_pool(spec.pool_privatizer(table), rng=seeded_rng(seed), draws=draws, confidence=share)
        for spec in specs
    ]
    audited = list(zip(specs, audits, strict=True))
    if as_json:
        found = [{"setting": spec.to_json(), **audit.to_json()} for spec, audit in audited]
        body = {"seed": seed, "confidence": confidence, "audits": found}
        data.print_json(json.dumps(body, allow_nan=False))
    else:
        for spec, audit in audited:
            data.print(f"[bold]{escape(spec.name)}[/]")
            for line in audit.findings or (audit.verdict(),):
                data.print(f"  {escape(line)}")
    _judge(audits)


def _judge(audits: Sequence[Any]) -> None:
    if any(audit.flagged for audit in audits):
        talk.print("[bold red]the claim is false[/] in at least one setting")
        raise typer.Exit(1)


def _shared(confidence: float, settings: int) -> float:
    """The allowed error is shared between the settings, so that it holds for the whole table."""
    return 1 - (1 - confidence) / settings


def _usual_epsilons(entry: Entry, given: options.Given, table: Embedding) -> list[float]:
    """Strong, medium and light."""
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
    from inkblur.evaluation.audit.lower_bound import audit_mechanism

    share = _shared(confidence, len(made))
    found = []
    with progress("auditing the claim", "settings", len(made)) as bar:
        for mechanism in made:
            found.append(
                audit_mechanism(mechanism, rng=rng, pair=pair, draws=draws, confidence=share)
            )
            bar.show(len(found))
    return found


def _print(results: Sequence[PrivacyStatistics], audits: Sequence[Audit]) -> None:
    from inkblur.guarantees import rounded_down, rounded_up

    first = results[0]
    table = Table(
        *("epsilon", "lambda", "N_w mean ± sd", "5/50/95 %", "S_w mean ± sd", "5/50/95 %"),
        title=f"{first.mechanism} on {first.embedding}: {len(first.words):,} of "
        f"{first.vocabulary:,} words, {counted(first.runs, 'run')} each",
    )
    for result in results:
        cells = [
            text
            for s in (result.survival, result.variety)
            for text in (f"{s.mean:.2f} ± {s.sd:.2f}", f"{s.p5:.0f}/{s.p50:.0f}/{s.p95:.0f}")
        ]
        table.add_row(f"{result.epsilon:g}", _shape(result.lam), *cells)
    print_table(table)
    claims = Table(
        *("epsilon", "lambda", "loss at least", "claimed at most", "accuracy", "allowed", "inside"),
        title="the claim, audited",
    )
    for result, audit in zip(results, audits, strict=True):
        claims.add_row(
            f"{result.epsilon:g}",
            _shape(result.lam),
            rounded_down(audit.loss.loss) + (" FALSE" if audit.loss.flagged else ""),
            rounded_up(audit.loss.bound) if math.isfinite(audit.loss.bound) else "no bound",
            f"{audit.game.accuracy:.3f}" + (" FALSE" if audit.game.flagged else ""),
            rounded_up(audit.game.highest_allowed),
            "-" if audit.inside is None else "FALSE" if audit.inside.flagged else "as claimed",
        )
    print_table(claims)
    # With many settings only what needs attention is spelled out; the JSON holds it all.
    spelled = [audit for audit in audits if audit.flagged or len(audits) == 1]
    for audit in spelled or audits[:1]:
        shown = {k: f"{v:g}" if isinstance(v, float) else v for k, v in audit.parameters.items()}
        data.print(f"[bold]{escape(', '.join(f'{k} {v}' for k, v in shown.items()))}[/]")
        for line in audit.verdicts():
            data.print(f"  {escape(line)}")


def _shape(lam: float | None) -> str:
    return "-" if lam is None else f"{lam:g}"


def _write(output: Path, body: dict[str, Any], results: Sequence[PrivacyStatistics]) -> None:
    from inkblur.evaluation.reports import plots

    file = output / "audit.json"
    texts.write(file, json.dumps(body, indent=2, allow_nan=False) + "\n")
    written = (file, *plots.write_statistics_figures(results, output))
    talk.print(f"wrote {', '.join(path.name for path in written)} into {output}")


def _count(words: str | None, vocabulary: int) -> int | None:
    if words is None:
        return min(WORDS, vocabulary)
    if words == "all":
        return None
    if not words.isdecimal():
        raise ParameterError(f"--words takes a number above 0 or all, got {words!r}")
    return int(words)
