"""Three risks at every strength of the bundled table, by the words of a text: that an original is
found among 100, and that the author of five linked texts, or of one, is identified.

    INKBLUR_DATA=... python tools/bundled/tracing.py measure tracing.jsonl --workers 16
    python tools/bundled/tracing.py store tracing.jsonl
    python tools/bundled/tracing.py show tracing.jsonl

`store` writes them beside the strengths, where `privatize`, `preview`, `statement` and the server
read them; what was not measured keeps what is there. All texts are C50's.

- original: 100 texts, two an author, no two of which begin alike, each of a size of the grid, so
  that none of its words is filling. The attacker holds all of them and knows the channel.
- authors: 50 known and 20 attacked texts of each of 50 authors. Attacked texts are cut so that half
  of them have so many words or more and their lengths vary as they did before, and then filled.
  The strongest of `likelihood`, `likelihood-texts` and `likelihood-lengths` counts; of five texts
  that are known to be by one hand, the sums of their scores.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import kept_lines  # before NumPy
import numpy as np
from strengths import COMPARED, DESTINATION

import inkblur
from inkblur.documents.privatizer import Privatizer
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.lengths import TextLengths, with_text_lengths
from inkblur.evaluation.attacks.likelihood import Likelihood, TextLikelihood
from inkblur.evaluation.attacks.singling_out import single_out_by_channel
from inkblur.evaluation.measures.intervals import share_over_texts
from inkblur.mechanisms.strengths import measured_strengths
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, next_size
from reproduction.corpora import reuters_c50

SEED = 20_261_117
WORDS = (10, 16, 25, 48, 94, 228, 445)  # of originals: sizes of the grid, so nothing is filled
AUTHOR_WORDS = (48, 94, 228, 445)  # half of the texts have 523 words or more
MECHANISMS = ["staircase", *COMPARED]
CANDIDATES, BLOCK = 100, 20  # released texts whose chances are held at a time
ATTACKED, LINKED = 20, 5  # texts of each author
Job = tuple[str, float, str, str]  # mechanism, epsilon, strength, attack
Cell = dict[str, float]


def jobs(options: argparse.Namespace) -> list[Job]:
    """The staircase's strengths, and what other mechanisms are compared at."""
    strengths = measured_strengths("staircase", inkblur.load_embedding())
    settings = [("staircase", found.epsilon, each.value) for each, found in strengths.items()]
    settings += [(name, epsilon, "") for name, some in COMPARED.items() for epsilon in some]
    return [
        (*setting, attack)
        for attack in options.attacks
        for setting in settings
        if setting[0] in options.mechanisms
    ]


def measured(job: Job) -> dict[str, Any]:
    """Shares that are found, by risk and number of words."""
    name, epsilon, _, attack = job
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec(name, epsilon).privatizer(table)
    rng = inkblur.seeded_rng(SEED).child(name, f"{epsilon:g}")
    return {"table": table.sha256, "risks": ATTACKS[attack](blur, rng)}


def originals(blur: Privatizer, rng: Rng) -> dict[str, dict[int, Cell]]:
    """How many of 100 originals are found."""
    truth = _candidates(blur)
    outs = _drawn(blur, truth, rng)
    channel = channel_of(blur.mechanism, rng.child("channel"))
    cells = {}
    for words in WORDS:
        hits: list[bool] = []
        for start in range(0, len(truth), BLOCK):
            order = [*truth[start : start + BLOCK], *truth[:start], *truth[start + BLOCK :]]
            released = [out[:words] for out in outs[start : start + BLOCK]]
            hits += single_out_by_channel(channel, order, released).tolist()
        cells[words] = _cell(np.array(hits), np.ones(len(hits)), 1 / len(truth))
    return {"original": cells}


def _candidates(blur: Privatizer) -> list[Ids]:
    """Two texts an author, all of which begin in their own way: news is filed more than once."""
    test = reuters_c50().test
    assert test.authors is not None
    chosen: dict[tuple[int, ...], Ids] = {}
    of_author = [0] * (int(test.authors.max()) + 1)
    for author, text in zip(test.authors.tolist(), test.texts, strict=True):
        ids = blur.ids(text)[: max(WORDS)]
        beginning = tuple(ids[: min(WORDS)].tolist())
        if of_author[author] < 2 and beginning not in chosen:
            chosen[beginning] = ids
            of_author[author] += 1
    assert len(chosen) == CANDIDATES
    return list(chosen.values())


def authors(blur: Privatizer, rng: Rng) -> dict[str, dict[int, Cell]]:
    """How many authors are identified by one text, and by five that are linked."""
    split = reuters_c50()
    known, attacked = split.train, split.test.first_of_each_author(ATTACKED)
    assert known.authors is not None
    assert attacked.authors is not None
    table = blur.mechanism.embedding
    read = Privatizer(blur.mechanism, length="exact").ids
    truth = [read(text) for text in attacked.texts]
    median = float(np.median([len(ids) for ids in truth]))
    entered = [_cut(ids, words / median) for words in AUTHOR_WORDS for ids in truth]
    cut = [" ".join(table.words[i] for i in ids) for ids in _drawn(blur, entered, rng)]
    channel = channel_of(blur.mechanism, rng.child("channel"))
    tried = [
        attack(channel, table, entering(blur)).fit(known.texts, known.authors).scores(cut)
        for attack in (Likelihood, TextLikelihood)
    ]
    parts = [np.split(scores, len(AUTHOR_WORDS)) for scores in tried]
    true = np.searchsorted(np.unique(known.authors), attacked.authors)
    found: dict[str, dict[int, Cell]] = {"author of five": {}, "author of one": {}}
    for place, words in enumerate(AUTHOR_WORDS):
        lengths = _lengths(blur, words / median).fit(known.texts, known.authors)
        of_length = lengths.scores(cut[place * len(truth) : (place + 1) * len(truth)])
        by_attack = [part[place] for part in parts]
        by_attack.append(with_text_lengths(by_attack[-1], of_length))
        for risk, together in (("author of five", LINKED), ("author of one", 1)):
            found[risk][words] = max(
                (_named(scores, true, together) for scores in by_attack),
                key=lambda cell: cell["share"],
            )
    return found


def _lengths(blur: Privatizer, part: float) -> TextLengths:
    """Who writes texts that are released as large, if all are cut to this part of their words."""
    read = Privatizer(blur.mechanism, length="exact").ids
    return TextLengths(blur.mechanism.embedding, lambda text: _cut(read(text), part))


def _cut(ids: Ids, part: float) -> Ids:
    """The beginning of a text as it enters: filled to its size, at its end for attacks that do not
    look at places.
    """
    beginning = ids[: max(1, round(len(ids) * part))]
    filling = np.full(next_size(len(beginning)) - len(beginning), NULL_ID, dtype=np.int64)
    return np.concatenate([beginning, filling])


def _named(scores: Array, true: Ids, together: int) -> Cell:
    """The share of an author's texts (or groups of texts) that the scores attribute to them."""
    hits, groups = [], []
    for author in np.unique(true):
        own = scores[true == author]
        sums = own.reshape(-1, together, own.shape[1]).sum(axis=1)
        hits.append((sums.argmax(axis=1) == author).sum())
        groups.append(len(sums))
    return _cell(np.array(hits), np.array(groups), 1 / scores.shape[1])


def _drawn(blur: Privatizer, truth: Sequence[Ids], rng: Rng) -> list[Ids]:
    drawn = blur.mechanism.replace(np.concatenate(truth), rng.child("drawn"))
    return np.split(drawn, np.cumsum([len(ids) for ids in truth])[:-1])


def _cell(hits: Any, of: Any, guessing: float) -> Cell:
    share = share_over_texts(hits.astype(np.int64), of.astype(np.int64), confidence=0.95, seed=SEED)
    assert share is not None
    assert share.low is not None
    assert share.high is not None
    return {
        "share": round(share.mean, 4),
        "low": round(share.low, 4),
        "high": round(share.high, 4),
        "guessing": guessing,
    }


ATTACKS: dict[str, Callable[[Privatizer, Rng], dict[str, dict[int, Cell]]]] = {
    "original": originals,
    "authors": authors,
}


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    kept_lines.measure(options.results, jobs(options), options.workers, measured)


def store(options: argparse.Namespace) -> None:
    """Write them beside the strengths whose setting was measured."""
    body = json.loads(DESTINATION.read_text(encoding="utf-8"))
    for line in kept_lines.lines(options.results):
        name, epsilon, strength, _ = line["job"]
        if not strength:
            continue
        found = body["strengths"][name].get(strength, {})
        if line["table"] != body["sha256"] or found.get("epsilon") != epsilon:
            raise SystemExit(f"{options.results} has another {name} {strength}: measure it again")
        found["risks"] = {**found.get("risks", {}), **line["risks"]}
    DESTINATION.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    show(options)


def show(options: argparse.Namespace) -> None:
    """Tables for docs/evaluation.md, one for each risk."""
    lines = kept_lines.lines(options.results)
    for risk, words in (
        ("original", WORDS),
        ("author of five", AUTHOR_WORDS),
        ("author of one", AUTHOR_WORDS),
    ):
        print(f"\n| {risk} |", " | ".join(f"{each} words" for each in words), "|")
        print("|---|" + "---:|" * len(words))
        for line in (line for line in lines if risk in line["risks"]):
            name, epsilon, strength, _ = line["job"]
            cells = [
                f"{cell['share']:.0%} ({cell['low']:.0%} to {cell['high']:.0%})"
                for cell in line["risks"][risk].values()
            ]
            print(
                f"| {name} {epsilon:g}{f' ({strength})' if strength else ''} |",
                " | ".join(cells),
                "|",
            )


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, store=store, show=show)
    first.add_argument("--mechanisms", nargs="+", default=MECHANISMS, choices=MECHANISMS)
    first.add_argument("--attacks", nargs="+", default=list(ATTACKS), choices=ATTACKS)
    kept_lines.run(command)


if __name__ == "__main__":
    main()
