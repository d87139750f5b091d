"""`inkblur audit`: how often words survive, and whether the privacy claim stands up."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from inkblur.cli import options
from inkblur.cli.console import WRITTEN, AsJson, data, print_table, progress, talk
from inkblur.cli.evaluate import make_folder, write_private
from inkblur.errors import ParameterError
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.evaluation.audit import Audit
    from inkblur.evaluation.measures.statistics import PrivacyStatistics
    from inkblur.mechanisms.base import WordMechanism
    from inkblur.pools.mechanism import PoolPrivatizer
    from inkblur.rng import Rng

_SEED = 1
_WORDS, _RUNS = 300, 100  # measured words, and draws of each
_DRAWS = 4_000  # for each input of a pair
_CONFIDENCE = 0.99  # probability that correct mechanisms pass the whole audit
_TEXTS = 12  # of a pool, compared with each other and with an empty one
_MEANINGS = (
    "N_w: of so many runs, how often a word came out unchanged. S_w: how many different words came "
    "out of it. Each with its mean and spread over the words, and percentiles."
)


def audit(
    strength: options.Strengths = None,
    epsilon: options.Epsilons = None,
    mechanism: options.Mechanisms = None,
    pool: options.Pool = None,
    settings: options.Sets = None,
    words: Annotated[int, typer.Option(help="How many words to measure.", min=1)] = _WORDS,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two words to tell apart (default: the most promising pair found)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for plots (SVG) and audit.json.", **WRITTEN),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how private a mechanism is, and try to disprove its privacy claim.

    Reports how often a word survives (N_w) and how many different words replace it (S_w), with a
    measured lower bound on the privacy loss beside the claimed one. Exits with code 1 if the claim
    is false. Of a pool, some of its own texts are told apart.

    Example: inkblur audit -m mahalanobis --epsilon 5,10,20 --set lam=0,1 --words 200 -o audit
    """
    from inkblur.rng import seeded_rng

    rng = seeded_rng(_SEED)
    if pool is not None and (pair or output):
        raise ParameterError("--pair and --output cannot be used with --pool: leave them out")
    specs = options.release_specs(
        settings, strength=strength, epsilon=epsilon, mechanism=mechanism, pool=pool
    )
    table = specs[0].table()
    # The allowed error is shared between the settings, so that it holds for the whole table.
    confidence = 1 - (1 - _CONFIDENCE) / len(specs)
    results: list[PrivacyStatistics] = []
    if pool is not None:
        audits = [
            _audit_pool(spec.privatizer(table), rng.child(spec.name), confidence) for spec in specs
        ]
    else:
        if output is not None:  # find out before the measuring
            from inkblur.evaluation.reports import charts

            charts.require_matplotlib()
            make_folder(output)
        if pair is not None and pair[0] == pair[1]:
            raise ParameterError(f"{pair[0]!r} twice is not a pair; give two different words")
        for word in pair or ():
            if word not in table.words:
                raise ParameterError(
                    f"the word {word!r} is not among the {len(table):,} words of {table.name}"
                )
        mechanisms = [spec.mechanism_on(table) for spec in specs]
        results = _measured(mechanisms, rng, min(words, len(table)))
        audits = _audited(mechanisms, rng, pair, confidence)
    body: dict[str, Any] = {
        "seed": _SEED,
        "confidence": _CONFIDENCE,
        "settings": [spec.to_json() for spec in specs],
        "statistics": [result.to_json() for result in results],
        "audits": [found.to_json() for found in audits],
    }
    if output is not None:
        file = output / "audit.json"
        write_private(file, json.dumps(body, indent=2, allow_nan=False) + "\n")
        written = (file, *charts.write_statistics_figures(results, output))
        talk.print(f"wrote {', '.join(path.name for path in written)} into {output}")
    if as_json:
        data.print_json(json.dumps(body, allow_nan=False))
    else:
        _print_statistics(results)
        _print_audits([spec.name for spec in specs], audits)
    if any(found.flagged for found in audits):
        talk.print("[bold red]the claim is false[/] in at least one setting")
        raise typer.Exit(1)


def _audit_pool(privatizer: PoolPrivatizer, rng: Rng, confidence: float) -> Audit:
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
    return disprove(release, claim, inputs=inputs, draws=_DRAWS, confidence=confidence)


def _measured(mechanisms: Sequence[WordMechanism], rng: Rng, words: int) -> list[PrivacyStatistics]:
    from inkblur.evaluation.measures.statistics import privacy_statistics

    total = len(mechanisms) * words * _RUNS
    with progress("measuring words", "draws") as bar:
        return [
            privacy_statistics(
                mechanism,
                rng=rng,
                words=words,
                runs=_RUNS,
                on_draws=lambda drawn: bar.show(bar.done + drawn, total),
            )
            for mechanism in mechanisms
        ]


def _audited(
    mechanisms: Sequence[WordMechanism],
    rng: Rng,
    pair: tuple[str, str] | None,
    confidence: float,
) -> list[Audit]:
    from inkblur.evaluation.audit import audit as disprove
    from inkblur.evaluation.claimed_metric import word_claim, word_function, words_to_compare

    audits = []
    with progress("auditing the claim", "settings") as bar:
        for mechanism in mechanisms:
            stream = rng.child("audit", mechanism.spec)
            audits.append(
                disprove(
                    word_function(mechanism, stream.child("draws")),
                    word_claim(mechanism),
                    inputs=pair or words_to_compare(mechanism, stream),
                    draws=_DRAWS,
                    confidence=confidence,
                )
            )
            bar.show(len(audits), len(mechanisms))
    return audits


def _print_statistics(results: Sequence[PrivacyStatistics]) -> None:
    if not results:
        return
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
        shape = "-" if result.lam is None else f"{result.lam:g}"
        table.add_row(f"{result.epsilon:g}", shape, *cells)
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
