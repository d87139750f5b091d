"""The staircase by label (`near="label"`) beside the one by distance, with the product's own code.

    OMP_NUM_THREADS=1 INKBLUR_DATA=... python -m reproduction.staircase.by_label labels.jsonl

Authors of C50 and PAN 2018 are attacked. Kept are topics of 20 Newsgroups, on which everything was
chosen, and labels that took no part: disaster tweets and spam in SMS. Content words, the 10,000
commonest words of the bundled table, names as the null word. Finished jobs are kept in the file.

Attackers: `likelihood` and `likelihood-texts`, and a linear SVM on words, static and adaptive.
Analysts: naive Bayes and a linear SVM that learned from true texts, and `likelihood` with labels
in the place of authors, which knows the channel. Their measure is F1, the mean over labels. Of the
topics half of the texts choose a setting and the others judge it; the other labels only judge.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from inkblur import Embedding, ReleaseSpec, load_embedding, seeded_rng
from inkblur.evaluation import (
    CHANNEL_ATTACKS,
    Array,
    Checkpoint,
    Ids,
    among,
    channel_of,
    entering,
    fingerprints,
    releaser,
)
from reproduction.corpora import Corpus, Split, disaster_tweets, pan18, reuters_c50, sms_spam
from reproduction.resampled_texts import mean_f1, over_texts, times_drawn
from reproduction.staircase.author_answers import right
from reproduction.staircase.collections import (
    ANALYSTS,
    ATTACKS,
    C50,
    PAN,
    SEED,
    adapted,
    analyst,
    content_of,
    postings,
)
from reproduction.staircase.forked import ForkedJobs, parser, say, wanted
from reproduction.staircase.judge import CHOOSE, JUDGE

WORDS = 10_000
NEAR = 4 / 300  # of all words: 400 of the 30,000 of the other tables
KNOWN, ATTACKED = 20, 10  # texts an author, at most
ASKED = 1_000  # texts whose label is asked for, at most
EPSILONS = (5.5, 6.8, 2.0)
TOPICS, TWEETS, SMS = "topics", "tweets", "SMS"
LABELS = {TOPICS: 20, TWEETS: 2, SMS: 2}
SETTINGS = 3
CHANNEL = "through the channel"
_INFORMED = ("likelihood", "likelihood-texts")


def settings(epsilon: float, labels: int) -> list[ReleaseSpec]:
    """By label; by distance with few words near, and with the mass that each of the labels has."""
    return [
        ReleaseSpec("staircase", epsilon, parameters=own)
        for own in (
            {"near": "label"},
            {"tau": NEAR, "frequency_power": 0.0},
            {"tau": 1 / (labels + 1), "frequency_power": 0.0},
        )
    ]


@dataclass(slots=True)
class KeptLabels:
    """Texts with labels, the table that they taught, and analysts who learned from the same."""

    table: Embedding
    taught: Corpus
    asked: Corpus
    numbers: Ids  # of the labels asked for, in alphabetical order
    names: list[str]
    analysts: dict[str, Any] = field(default_factory=dict)
    untouched: dict[str, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class AttackedAuthors:
    """Authors to be named, and an SVM that studied their true texts."""

    known: Corpus
    attacked: Corpus
    svm: Any
    untouched: str


def read_labels(name: str, sizes: float) -> KeptLabels:
    """One collection of labels; 70 % of tweets and SMS teach, as in `adapted/pairs`."""
    if name == TOPICS:
        split, test = postings(sizes)
        train = split.train
    else:
        corpus = disaster_tweets() if name == TWEETS else sms_spam()
        order = seeded_rng(SEED).child(name).permutation(len(corpus)).tolist()
        cut = round(0.7 * len(order))
        train, test = corpus.rows(order[: round(cut * sizes)]), corpus.rows(order[cut:])
        fresh = np.flatnonzero(~among(test.texts, fingerprints(train.texts)))
        test = test.rows(fresh.tolist())
    test = test.rows(list(range(min(len(test), round(ASKED * sizes)))))
    table = adapted(load_embedding().first(WORDS), train)
    taught, asked = content_of(train), content_of(test)
    names = sorted(set(taught.labels or ()))
    numbers = np.array([names.index(label) for label in asked.labels or ()])
    found = KeptLabels(table, taught, asked, numbers, names)
    for kind in ANALYSTS:
        model = analyst(kind).fit(list(taught.texts), list(taught.labels or ()))
        found.analysts[kind] = model
        found.untouched[kind] = _numbers(model.predict(list(asked.texts)), names)
    return found


def read_authors(name: str, sizes: float) -> AttackedAuthors:
    """One collection of authors."""
    split: Split = reuters_c50() if name == C50 else pan18(1)
    count = max(2, round(KNOWN * sizes)), max(2, round(ATTACKED * sizes))
    known = content_of(split.train.first_of_each_author(count[0]))
    attacked = content_of(split.test.first_of_each_author(count[1]))
    svm = ATTACKS["svm-words"]().fit(known.texts, known.authors)
    return AttackedAuthors(
        known, attacked, svm, right(svm.predict(attacked.texts), attacked.authors)
    )


def measured(
    spec: ReleaseSpec, authors: AttackedAuthors, labels: KeptLabels, key: str
) -> dict[str, Any]:
    """What attackers and analysts make of one release, text by text."""
    made = releaser(spec, labels.table)
    rng = seeded_rng(SEED).child("by label", key)

    def released(corpus: Corpus, part: str) -> Sequence[str]:
        return list(made.release(corpus.texts, rng.child(part)).texts)

    attacked, known = released(authors.attacked, "attacked"), released(authors.known, "known")
    asked = released(labels.asked, "asked")
    blur = spec.privatizer(labels.table)
    channel = channel_of(blur.mechanism, rng.child("channel"))

    def informed(name: str) -> Any:
        return CHANNEL_ATTACKS[name](channel, labels.table, entering(blur), SEED, False)

    said = {
        f"{name} static": informed(name)
        .fit(authors.known.texts, authors.known.authors)
        .predict(attacked)
        for name in _INFORMED
    }
    said["svm-words static"] = authors.svm.predict(attacked)
    adaptive = ATTACKS["svm-words"]().fit(known, authors.known.authors)
    said["svm-words adaptive"] = adaptive.predict(attacked)
    told = {
        kind: _numbers(model.predict(asked), labels.names)
        for kind, model in labels.analysts.items()
    }
    taught = _numbers(labels.taught.labels or (), labels.names)
    naive = informed("likelihood").fit(labels.taught.texts, np.array(taught))
    scores = naive.scores(asked) + np.log(np.bincount(taught, minlength=len(labels.names)))
    told[CHANNEL] = scores.argmax(axis=1).tolist()
    return {
        "spec": spec.name,
        "right": {name: right(each, authors.attacked.authors) for name, each in said.items()},
        "told": told,
    }


def _numbers(labels: Sequence[str], names: Sequence[str]) -> list[int]:
    place = {name: number for number, name in enumerate(names)}
    return [place[str(label)] for label in labels]


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every release on the choosing half of the topics, and on all texts that judge."""
    facts = {row["key"]: row for row in rows}
    head = "| labels, authors | release | strongest attack | label left | with the channel |"
    lines = [head, "|---|---|---|---|---|"]
    for row in rows:
        if "spec" not in row:
            continue
        labels, authors = facts[f"labels {row['labels']}"], facts[f"authors {row['authors']}"]
        halves = (CHOOSE, JUDGE) if row["labels"] == TOPICS else (None,)
        for half in halves:
            named = {name: _share(bits, half) for name, bits in row["right"].items()}
            best = max(named, key=lambda name: float(named[name][0]))
            attack = over_texts([np.max(list(named.values()), axis=0)])
            scores = {name: _f1(labels["truth"], told, half) for name, told in row["told"].items()}
            before = np.max(
                [_f1(labels["truth"], told, half) for told in labels["told"].values()], axis=0
            )
            plain = over_texts([np.max([scores[kind] for kind in ANALYSTS], axis=0) / before])
            knowing = over_texts([np.max(list(scores.values()), axis=0) / before])
            which = "" if half is None else (", choosing", ", judging")[half]
            untouched = float(_share(authors["right"], half)[0])
            cells = [
                f"{row['labels']}, {row['authors']}{which} ({untouched:.2f} named untouched)",
                row["spec"],
                f"{attack.value:.3f} ({attack.low:.3f} to {attack.high:.3f}) {best}",
                *(f"{x.value:.1%} ({x.low:.1%} to {x.high:.1%})" for x in (plain, knowing)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(bits: str, half: int | None) -> Array:
    mine = np.array([int(bit) for bit in (bits if half is None else bits[half::2])])
    found: Array = times_drawn(len(mine), seeded_rng(SEED).child("redrawn")) @ mine / len(mine)
    return found


def _f1(truth: Sequence[int], answers: Sequence[int], half: int | None) -> Array:
    rows = slice(None) if half is None else slice(half, None, 2)
    times = times_drawn(len(truth[rows]), seeded_rng(SEED).child("redrawn"))
    return mean_f1(times, np.array(truth[rows]), np.array(answers[rows]))


def main() -> None:
    """Parse, measure what is missing, print the table."""
    options = parser(__doc__).parse_args()
    end = time.monotonic() + 60 * options.minutes
    work = Checkpoint(options.file, {"what": "by label", "sizes": options.sizes})
    done = {row["key"] for row in work.rows}
    pairs = [(TOPICS, C50), (TWEETS, C50), (SMS, C50), (TWEETS, PAN), (SMS, PAN)]
    left = [
        (f"{spec.name}: {labels}, {authors}", spec, labels, authors)
        for place in range(SETTINGS)  # one on all pairs before the next
        for labels, authors in pairs
        for epsilon in EPSILONS
        for spec in [settings(epsilon, LABELS[labels])[place]]
    ]
    left = [job for job in left if job[0] not in done and wanted(job[0], options.only)]
    if left and not options.judge:
        labels = {name: read_labels(name, options.sizes) for name in {job[2] for job in left}}
        authors = {name: read_authors(name, options.sizes) for name in {job[3] for job in left}}
        for name, kept in labels.items():
            if f"labels {name}" not in done:
                truth = kept.numbers.tolist()
                work.add({"key": f"labels {name}", "truth": truth, "told": kept.untouched})
        for name, attacked in authors.items():
            if f"authors {name}" not in done:
                work.add({"key": f"authors {name}", "right": attacked.untouched})
        say(f"collections are read; {len(left)} jobs")
        tasks = {
            key: partial(_job, spec, name, authors[name], kept, labels[kept], key)
            for key, spec, kept, name in left
        }
        ForkedJobs(work, options.workers, end).run(tasks)
    print(report(work.rows))


def _job(
    spec: ReleaseSpec,
    author: str,
    authors: AttackedAuthors,
    label: str,
    labels: KeptLabels,
    key: str,
) -> dict[str, Any]:
    return {"authors": author, "labels": label, **measured(spec, authors, labels, key)}


if __name__ == "__main__":
    main()
