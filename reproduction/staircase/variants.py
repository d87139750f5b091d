"""Other forms of the staircase on adapted tables, and other settings of the adapted metric.

    OMP_NUM_THREADS=1 INKBLUR_DATA=... python -m reproduction.staircase.variants work.jsonl

Topics of 20 Newsgroups are kept, authors of C50 attacked: content words, the 30,000 commonest
words, names as the null word. Every form has loss epsilon between any two words; they are drawn in
floating point here, which is enough to compare them. Finished settings are kept in the file.

Attackers: `likelihood`, and a linear SVM on words, static and adaptive. Analysts: naive Bayes and a
linear SVM that learned from true postings, and naive Bayes sent through the channel, which is to
topics what `likelihood` is to authors. Half of the texts choose a setting, the others judge it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from inkblur import load_embedding
from inkblur.evaluation import (
    NULL_ID,
    Array,
    Checkpoint,
    Ids,
    is_name,
)
from reproduction.staircase.author_answers import right
from reproduction.staircase.collections import (
    ANALYSTS,
    ATTACKS,
    JOINED,
    JOINED_WORDS,
    load,
    with_learned_counts,
)
from reproduction.staircase.forked import ForkedJobs, parser, say, wanted
from reproduction.staircase.forms import OTHERS, Other, StaircaseForm, Words30k, forms
from reproduction.staircase.judge import CHOOSE, JUDGE, TARGETS, share_right
from reproduction.staircase.measure import studied, taught

_EVEN = 0.5  # of an author's or a topic's shares of words is everybody's


def read(sizes: float) -> Words30k:
    """The joined collection as word numbers; `sizes` below 1 takes that share of texts."""
    joined = load({JOINED}, sizes)[JOINED]
    known, asked, content = joined.known, joined.attacked, joined.topics
    assert known.authors is not None
    assert asked.authors is not None
    assert content is not None
    first = load_embedding().first(JOINED_WORDS)
    hidden = np.array([is_name(word) for word in first.words])

    def ids(texts: Sequence[str]) -> list[Ids]:
        out = []
        for text in texts:
            row = first.ids(text.split())
            out.append(np.where((row != NULL_ID) & ~hidden[row], row, NULL_ID))
        return out

    found = Words30k(
        joined.table,
        with_learned_counts(first, content.train),
        first.dimension,
        ids(known.texts),
        known.authors,
        ids(asked.texts),
        asked.authors,
        ids(content.train.texts),
        list(content.train.labels or ()),
        ids(content.test.texts),
        list(content.test.labels or ()),
    )
    untouched: dict[str, str] = {}
    for kind in ANALYSTS:
        found.models[kind], untouched[kind] = taught(joined, kind)
    found.models["svm-words"], named = studied(joined, "svm-words")
    found.kept["untouched"] = {"right": {"svm-words static": named}, "topic": untouched}
    return found


def measured(form: StaircaseForm | Other, words: Words30k) -> dict[str, Any]:
    """One setting: what attackers and analysts make of it, text by text."""
    size = len(words.table)
    texts = [*words.attacked, *words.known, *words.asked]
    writers, authors = _shares(words.known, words.known_authors.tolist(), size)
    topics, labels = _shares(words.taught, words.taught_labels, size)
    out, outcomes = form.drawn(words, np.concatenate(texts), np.vstack([writers, topics]))
    parts = np.split(out, np.cumsum([len(text) for text in texts])[:-1])
    attacked, rest = parts[: len(words.attacked)], parts[len(words.attacked) :]
    known, asked = rest[: len(words.known)], rest[len(words.known) :]
    logs = np.log(np.maximum(outcomes, 1e-300)).T
    by_author = np.array([logs[row, : len(authors)].sum(axis=0) for row in attacked])
    prior = np.log([words.taught_labels.count(label) for label in labels])
    by_topic = np.array([logs[row, len(authors) :].sum(axis=0) + prior for row in asked])
    spelled = np.array(words.table.words)
    written = [" ".join(spelled[row]) for row in attacked]
    answers = [" ".join(spelled[row]) for row in asked]
    adaptive = ATTACKS["svm-words"]()
    adaptive.fit([" ".join(spelled[row]) for row in known], words.known_authors)
    said = {
        "likelihood static": np.array(authors)[by_author.argmax(axis=1)],
        "svm-words static": words.models["svm-words"].predict(written),
        "svm-words adaptive": adaptive.predict(written),
    }
    told = {kind: words.models[kind].predict(answers) for kind in ANALYSTS}
    told["through the channel"] = np.array(labels)[by_topic.argmax(axis=1)]
    return {
        "family": form.family,
        "detail": form.detail,
        "epsilon": form.epsilon,
        "right": {name: right(each, words.authors) for name, each in said.items()},
        "topic": {name: right(each, words.labels) for name, each in told.items()},
    }


def _shares(texts: Sequence[Ids], groups: Sequence[Any], size: int) -> tuple[Array, list[Any]]:
    """Each group's shares of words, (groups, words + 1), the null word last; and the groups."""
    names = sorted(set(groups))
    counts = np.zeros((len(names), size + 1))
    for text, group in zip(texts, groups, strict=True):
        counts[names.index(group)] += np.bincount(text % (size + 1), minlength=size + 1)
    everybody = counts.sum(axis=0) / counts.sum()
    own = counts / counts.sum(axis=1, keepdims=True)
    return (1.0 - _EVEN) * own + _EVEN * everybody, names


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every setting on the choosing half, and what each target comes to on the judging half."""
    untouched = next(row for row in rows if row["key"] == "untouched")
    done = [row for row in rows if row["key"] != "untouched"]

    def attack(row: Mapping[str, Any], half: int) -> tuple[float, str]:
        found = {name: share_right(bits, half) for name, bits in row["right"].items()}
        best = max(found, key=lambda name: found[name])
        return found[best], best

    def topic(row: Mapping[str, Any], half: int, *, channel: bool) -> float:
        told = {n: share_right(b, half) for n, b in row["topic"].items()}
        before = max(share_right(b, half) for b in untouched["topic"].values())
        return max(v for n, v in told.items() if channel or n in ANALYSTS) / before

    head = "| form | epsilon | strongest attack | topic left | through the channel too |"
    lines = ["choosing half", "", head, "|---|---:|---:|---:|---:|"]
    for row in sorted(done, key=lambda row: (row["family"], row["detail"], -row["epsilon"])):
        named, who = attack(row, CHOOSE)
        lines.append(
            f"| {row['family']}: {row['detail']} | {row['epsilon']:g} | {named:.3f} {who} | "
            f"{topic(row, CHOOSE, channel=False):.3f} | {topic(row, CHOOSE, channel=True):.3f} |"
        )
    for name, (most, least) in TARGETS.items():
        limit = float(name.split()[1])
        proved = [r for r in done if r["family"] not in OTHERS and r["epsilon"] <= limit]
        allowed = [r for r in proved if attack(r, CHOOSE)[0] <= most]
        for channel in (False, True):
            if not allowed:
                break
            best = max(allowed, key=lambda r: topic(r, CHOOSE, channel=channel))
            named, who = attack(best, JUDGE)
            lines.append(
                f"\n{name}, attack at most {most:g}, topic at least {least:.0%}, "
                f"{'any analyst' if channel else 'naive Bayes or SVM'}: {best['key']}: judged "
                f"attack {named:.3f} ({who}), topic {topic(best, JUDGE, channel=channel):.3f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Parse, measure what is missing, print the tables."""
    options = parser(__doc__).parse_args()
    end = time.monotonic() + 60 * options.minutes
    work = Checkpoint(options.file, {"what": "variants", "sizes": options.sizes})
    done = {row["key"] for row in work.rows}
    left = [form for form in forms() if form.name not in done and wanted(form.name, options.only)]
    if left and not options.judge:
        words = read(options.sizes)
        if "untouched" not in done:
            work.add({"key": "untouched", **words.kept["untouched"]})
        say(f"collections are read; {len(left)} settings")
        tasks = {form.name: partial(measured, form, words) for form in left}
        ForkedJobs(work, options.workers, end).run(tasks)
    print(report(work.rows))


if __name__ == "__main__":
    main()
