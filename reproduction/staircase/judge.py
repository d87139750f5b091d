"""Tables of what was measured, beside the targets.

Of every collection half of the texts choose among settings, and the other half judges: attacked
texts and postings in turn. The strongest attack counts, and intervals are over texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inkblur import seeded_rng
from inkblur.evaluation import Array
from reproduction.estimate import Estimate
from reproduction.resampled_texts import over_texts, times_drawn
from reproduction.staircase.collections import PAN, PAN_2
from reproduction.staircase.jobs import RANDOMIZED

JudgedRow = Mapping[str, Any]
CHOOSE, JUDGE = 0, 1
_BOTH = "PAN 2018, both problems"
COSINE = 0.55  # of content words at epsilon 9, at least
TARGETS = {"joined 6.8": (0.15, 0.78), "joined 5.5": (0.10, 0.70)}  # attack, share of the topic


def report(rows: Sequence[JudgedRow]) -> str:
    """All tables, in Markdown."""
    by_setting: dict[str, list[JudgedRow]] = defaultdict(list)
    for row in rows:
        if "spec" in row:
            by_setting[row["key"].rpartition(", run ")[0]].append(row)
    untouched = {row["collection"]: row for row in rows if row["row"] == "untouched"}
    lines: list[str] = []
    for name, row in untouched.items():
        lines.append(f"untouched {name}: attack {_shown(row['right'])}")
        if "topic" in row:
            lines.append(f"untouched {name}: topic {_shown(row['topic'])}")
    settings = list(by_setting.values())
    for row_name, (attack, left) in TARGETS.items():
        lines += _joined(row_name, attack, left, settings, untouched)
    lines += _plain(settings, untouched)
    lines += _equal(rows, untouched)
    lines += [f"names: {row}" for row in rows if row["row"] == "names"]
    return "\n".join(lines)


def _shown(right: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {bits.count('1') / len(bits):.3f}" for name, bits in right.items())


def _column(bits: Sequence[str], half: int | None, authors: Sequence[int] | None = None) -> Array:
    """Mean over runs of the share of right answers, on real and on redrawn texts.

    With `authors`, those of the texts, every author counts alike and not every text.
    """
    rows = [[int(bit) for bit in (each if half is None else each[half::2])] for each in bits]
    right: Array = np.mean(rows, axis=0)
    times = times_drawn(len(right), seeded_rng(1).child("redrawn"))
    if authors is not None:
        _, mine, texts = np.unique(authors, return_inverse=True, return_counts=True)
        times = times / texts[mine]
    column: Array = (times @ right) / times.sum(axis=1)
    return column


def share_right(bits: str, half: int) -> float:
    """Share of right answers on one half of the texts.

    >>> share_right("1000", CHOOSE), share_right("1000", JUDGE)
    (0.5, 0.0)
    """
    mine = bits[half::2]
    return mine.count("1") / len(mine)


def _attacked(
    runs: Sequence[JudgedRow], half: int | None = None, authors: Sequence[int] | None = None
) -> tuple[Array, str]:
    """What the strongest attack reaches, on real and on redrawn texts, and which it is."""
    names = list(runs[0]["right"])
    found = [[run["right"][name] for run in runs] for name in names]
    columns = np.array([_column(bits, half, authors) for bits in found])
    most: Array = columns.max(axis=0)
    return most, names[int(columns[:, 0].argmax())]


def strongest(runs: Sequence[JudgedRow], half: int | None = None) -> tuple[Estimate, str]:
    """The attack that names most authors, and which it is."""
    column, name = _attacked(runs, half)
    return over_texts([column]), name


def cosine(runs: Sequence[JudgedRow], half: int | None = None) -> Estimate:
    """Mean cosine between content words and what replaces them."""
    columns = []
    for run in runs:
        sums = np.array(run["cosines"] if half is None else run["cosines"][half::2])
        times = times_drawn(len(sums), seeded_rng(1).child("redrawn"))
        columns.append((times @ sums[:, 0]) / (times @ sums[:, 1]))
    return over_texts(columns)


def topic(
    runs: Sequence[JudgedRow], untouched: JudgedRow, half: int | None, *, learned: bool
) -> tuple[Estimate, Estimate]:
    """The better of the two analysts, and its share of the better untouched one."""
    names = [name for name in runs[0]["topic"] if name.endswith(" learned") == learned]
    best = np.max([_column([run["topic"][n] for run in runs], half) for n in names], axis=0)
    before = np.max([_column([bits], half) for bits in untouched["topic"].values()], axis=0)
    return over_texts([best]), over_texts([best / before])


def _setting(row: JudgedRow) -> str:
    own = row["parameters"]
    if "tau" in own:
        return f"epsilon {own['epsilon']:g}, tau {own['tau']:.3g}, power {own['frequency_power']:g}"
    return f"{row['spec']['mechanism']}, epsilon {own['epsilon']:g}"


def _with(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _joined(
    name: str,
    most: float,
    least: float,
    settings: Sequence[Sequence[JudgedRow]],
    untouched: Mapping[str, JudgedRow],
) -> list[str]:
    """All settings on the choosing half, and the chosen one on the other half."""
    lines = ["", f"{name}: attack at most {most:g}, topic at least {least:.0%}", ""]
    lines.append("| setting | runs | strongest attack | topic | of untouched | half |")
    lines.append("|---|---:|---:|---:|---:|---|")
    found: list[tuple[bool, float, int, Sequence[JudgedRow]]] = []
    for runs in settings:
        if not runs[0]["row"].startswith(name):
            continue
        attack, who = strongest(runs, CHOOSE)
        told, kept = topic(runs, untouched["joined"], CHOOSE, learned=False)
        task = ", q for the task" * runs[0]["row"].endswith("task")
        lines.append(
            f"| {_setting(runs[0])}{task} | {len(runs)} | {attack.value:.3f} {who} | "
            f"{told.value:.3f} | {kept.value:.3f} | choosing |"
        )
        # A setting that hides enough and keeps most; where none hides enough, the one that does.
        enough = attack.value <= most
        found.append((enough, kept.value if enough else -attack.value, len(found), runs))
    if found:
        runs = max(found)[3]
        attack, who = strongest(runs, JUDGE)
        told, kept = topic(runs, untouched["joined"], JUDGE, learned=False)
        texts = len(next(iter(runs[0]["right"].values()))[JUDGE::2])
        lines.append(
            f"| {_setting(runs[0])} | {len(runs)} | {_with(attack)} {who} | {_with(told)} | "
            f"{_with(kept)} | judging, {texts} texts |"
        )
    return lines


def _plain(
    settings: Sequence[Sequence[JudgedRow]], untouched: Mapping[str, JudgedRow]
) -> list[str]:
    """All settings on the choosing half; of those that keep enough of the words, the one that
    keeps most of the topic on the other half.
    """
    lines = ["", f"plain, whole texts of C50 and 20 Newsgroups: cosine at least {COSINE:g}", ""]
    lines.append(
        "| setting | runs | content cosine | strongest attack | topic | learned from released | "
        "of untouched | half |"
    )
    lines.append("|---|---:|---:|---:|---:|---:|---:|---|")

    def line(runs: Sequence[JudgedRow], half: int) -> str:
        attack, who = strongest(runs, half)
        told, _ = topic(runs, untouched["C50"], half, learned=False)
        learned, kept = topic(runs, untouched["C50"], half, learned=True)
        return (
            f"| {_setting(runs[0])} | {len(runs)} | {_with(cosine(runs, half))} | "
            f"{_with(attack)} {who} | {told.value:.3f} | {_with(learned)} | {_with(kept)} | "
            f"{('choosing', 'judging')[half]} |"
        )

    found = [runs for runs in settings if "topic" in runs[0] and runs[0]["collection"] == "C50"]
    lines += [line(runs, CHOOSE) for runs in found]
    enough = [runs for runs in found if cosine(runs, CHOOSE).value >= COSINE]
    if enough:

        def kept(runs: Sequence[JudgedRow]) -> float:
            return topic(runs, untouched["C50"], CHOOSE, learned=True)[1].value

        lines.append(line(max(enough, key=kept), JUDGE))
    return lines


def _equal(rows: Sequence[JudgedRow], untouched: Mapping[str, JudgedRow]) -> list[str]:
    """Differences are paired: the same redrawn texts for the staircase and the others.

    Beside all texts counted alike stands the difference with all authors counted alike: in
    PAN 2018 two authors have two texts in five.
    """
    lines = ["", "strongest attack at equal content-word cosine", ""]
    lines.append(
        "| collection | as staircase | release | draws | cosine | loss: nearest, median, unrelated "
        "| attack | less the staircase's | authors alike |"
    )
    lines.append("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    losses = {
        (row["collection"], row["as_staircase"], row["key"].partition(" as ")[0]): row["losses"]
        for row in rows
        if row["row"] == "match"
    }
    authors = {name: list(row["authors"]) for name, row in untouched.items() if "authors" in row}
    if PAN in authors and PAN_2 in authors:
        authors[_BOTH] = [*authors[PAN], *(-1 - author for author in authors[PAN_2])]
    compared = _compared(rows)
    for (collection, level, name), runs in sorted(compared.items(), key=lambda item: item[0]):
        where = PAN if collection == _BOTH else collection
        proved = losses.get((where, level, f"match: {runs[0]['spec_name']}"), {"any": level})
        cells = [collection, f"{level:g}", _setting(runs[0]), str(len(runs)), _with(cosine(runs))]
        cells.append(", ".join(f"{loss:.1f}" for loss in proved.values()))
        column, who = _attacked(runs)
        cells.append(f"{_with(over_texts([column]))} {who}")
        ours = compared.get((collection, level, "staircase"))
        if name != "staircase" and ours is not None:
            cells.append(_with(over_texts([column - _attacked(ours)[0]])))
            alike = authors.get(collection)
            if alike is not None:
                even = _attacked(runs, None, alike)[0] - _attacked(ours, None, alike)[0]
                cells.append(_with(over_texts([even])))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _compared(rows: Sequence[JudgedRow]) -> dict[tuple[str, float, str], list[JudgedRow]]:
    """The runs of each mechanism on each collection at each level, both problems of PAN 2018
    joined where both were released.
    """
    found: dict[tuple[str, float, str], list[JudgedRow]] = defaultdict(list)
    for row in rows:
        if "cosines" not in row:
            continue
        level, mechanism = row["as_staircase"], row["spec"]["mechanism"]
        if level is not None:
            name = RANDOMIZED if mechanism == "staircase" else mechanism
        elif row["spec"].get("parameters", {}).get("tau"):
            continue  # a setting of other lines
        else:
            level, name = row["spec"]["epsilon"], mechanism
        found[row["collection"], level, name].append(row)
    for (collection, level, name), runs in list(found.items()):
        others = {run["run"]: run for run in found.get((PAN_2, level, name), [])}
        if collection == PAN and others:
            pairs = [(run, others[run["run"]]) for run in runs if run["run"] in others]
            found[_BOTH, level, name] = [_together(*pair) for pair in pairs]
    return found


def _together(first: JudgedRow, second: JudgedRow) -> JudgedRow:
    """Two collections as one, for the attackers that were tried on both."""
    right = {
        name: bits + second["right"][name]
        for name, bits in first["right"].items()
        if name in second["right"]
    }
    cosines = [*first["cosines"], *second["cosines"]]
    return {**first, "collection": _BOTH, "right": right, "cosines": cosines}
