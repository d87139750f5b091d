"""Earth Mover's paper, section 2 and Tables 2 and 3: words, a text and distances to look at."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from inkblur import Embedding, make_mechanism
from inkblur.evaluation import content_words, privacy_statistics
from reproduction.context import Context
from reproduction.earthmovers.nearness import distances
from reproduction.earthmovers.published import BAG_DISTANCES, BAGS, NORMS, TABLE_2
from reproduction.earthmovers.sampled_documents import LENGTHS, Documents, plain_words
from reproduction.estimate import Estimate, weakest
from reproduction.result import Claim, Drawing, Outcome, Passage, Reading, Where

SECTION_2, TABLE, SURVIVAL = "Section 2", "Table 2", "Table 3: words unchanged"
SECTION_3 = "Section 3.1: factor between the example bags b1 and b2"
MULTIPLIERS = {1 / 16: 2.02, 1 / 32: 1.42}  # by epsilon, as printed
PAPER = "Earth Mover's paper"
# Ours, and about nobody; Table 3 shows a story of somebody's.
SENTENCE = (
    "The old bridge was closed last winter because the river had risen, and the town repaired its "
    "stone arches before the spring market opened."
)
WORDS = ("heard", "grandfather", "uncle", "disowned", "hurt", "felt")  # of Table 3
EPSILONS = (40.0, 30.0, 25.0, 20.0, 15.0, 10.0, 1.0)
CLOSE = 0.15  # by how much the third known text may be farther than the first
SCALE = {"as printed": 1.0, "equal noise for the norm": NORMS["word2vec"] / NORMS["glove"]}


def run(work: Context) -> Outcome:
    """The three parts, each a step or two."""
    table = plain_words(work.datasets.glove, work.size(30_000, 20_000))
    bags = work.step("section 2", _bags, table)
    readings = [
        Reading(SECTION_2, {"bags": f"{a}, {b}"}, "Earth Mover's distance",
                Estimate.exact(bags[f"{a} {b}"]), paper)
        for (a, b), paper in BAG_DISTANCES.items()
    ]  # fmt: skip
    readings += _multipliers(bags["b1 b2"])
    near = work.step("nearest known texts", _nearest, work, table)
    readings += _distances(near)
    kept: dict[tuple[str, float], list[float]] = {}
    lines = [("none", " ".join(content_words(SENTENCE)))]
    for scale, factor in SCALE.items():
        for epsilon in EPSILONS:
            found = work.step(
                f"{scale}, epsilon {epsilon:g}", _blurred, work, table, epsilon * factor
            )
            kept[scale, epsilon] = found["survived"]
            where: Where = {"scale": scale, "epsilon": epsilon}
            share = Estimate.of_units(found["survived"])
            readings.append(Reading(SURVIVAL, where, "share of draws", share))
            lines.append((f"{epsilon:g}, {scale}", found["text"]))
    neighbors = work.step("neighbours", _neighbors, table)
    passages = (
        Passage("One sentence under each epsilon", tuple(lines)),
        Passage("Nearest neighbors of words of Table 3", tuple((w, t) for w, t in neighbors)),
    )
    drawing = Drawing("Words unchanged", SURVIVAL, "share of draws", "epsilon", line="scale")
    return Outcome(
        tuple(readings), _claims(bags, near, kept), (drawing,), passages, _notes(len(table))
    )


def _bags(table: Embedding) -> dict[str, float]:
    return {
        f"{a} {b}": float(distances([BAGS[a]], [BAGS[b]], table)[0, 0]) for a, b in BAG_DISTANCES
    }


def _multipliers(distance: float) -> list[Reading]:
    """Theorem 1 on two bags of four words: exp(4 epsilon E), for the paper's distance and ours."""
    return [
        Reading(
            SECTION_3,
            {"distance": name, "epsilon": f"1/{round(1 / epsilon)}"},
            "exp(4 epsilon E)",
            Estimate.exact(float(np.exp(4 * epsilon * apart))),
            stated if name == "as printed" else None,
        )
        for name, apart in (("as printed", BAG_DISTANCES["b1", "b2"]), ("here", distance))
        for epsilon, stated in MULTIPLIERS.items()
    ]


def _nearest(work: Context, table: Embedding) -> dict[str, Any]:
    """Each snippet's three nearest known texts: distances, and whether its author's is first."""
    authors = work.size(20, 5)
    lengths = work.size(LENGTHS, dict.fromkeys(LENGTHS, 20))
    suspects = Documents(work, table, lengths).of("Reuters C50", authors, 0)
    found = distances(suspects.snippets, suspects.known, table)
    return {
        "three": np.sort(found, axis=1)[:, :3].tolist(),
        "own": (found.argmin(axis=1) == np.arange(authors)).tolist(),
    }


def _blurred(work: Context, table: Embedding, epsilon: float) -> dict[str, Any]:
    """The sentence's content words drawn once, and how often each survives."""
    mechanism = make_mechanism("laplace", table, epsilon=epsilon)
    words = content_words(SENTENCE)
    drawn = mechanism.replace(table.ids(words), work.rng("sentence", f"{epsilon:g}"))
    found = privacy_statistics(
        mechanism, rng=work.rng("survival"), words=work.size(500, 30), runs=work.size(50, 10)
    )
    return {
        "text": " ".join(table.words[i] for i in drawn.tolist()),
        "survived": [count / found.runs for count in found.survived],
    }


def _neighbors(table: Embedding) -> list[list[str]]:
    """The five nearest words of each, with their distances."""
    rows = []
    for word in WORDS:
        apart = np.linalg.norm(table.vectors - table.vectors[table.id(word)], axis=1)
        near = np.argsort(apart, kind="stable")[1:6]
        rows.append([word, ", ".join(f"{table.words[i]} {apart[i]:.2f}" for i in near)])
    return rows


def _distances(near: dict[str, Any]) -> list[Reading]:
    columns = list(zip(*near["three"], strict=True))
    printed = np.mean(TABLE_2, axis=0).tolist()
    readings = [
        Reading(TABLE, {"known text": f"nearest {place}"}, "mean distance",
                Estimate.of_units(column), round(paper, 3))
        for place, (column, paper) in enumerate(zip(columns, printed, strict=True), start=1)
    ]  # fmt: skip
    right = Estimate.of_share(sum(near["own"]), len(near["own"]))
    readings.append(Reading(TABLE, {"known text": "nearest 1"}, "is the author's own", right, 0.6))
    return readings


def _claims(
    bags: dict[str, float], near: dict[str, Any], kept: dict[tuple[str, float], list[float]]
) -> tuple[Claim, ...]:
    gaps = [(third - first) / first for first, _, third in near["three"]]
    equal = "equal noise for the norm"
    falls = [
        Estimate.of_units(np.subtract(kept[equal, a], kept[equal, b]))
        for a, b in pairwise(EPSILONS)
    ]
    return (
        Claim(
            "example-bags-in-order",
            "The two bags about a politician are nearer to each other than either is to the one "
            "about a cook.",
            f"{PAPER}, section 2",
            "smaller distance to b3 less distance of b1 and b2 (computed, not sampled)",
            Estimate.exact(min(bags["b1 b3"], bags["b2 b3"]) - bags["b1 b2"]),
            0.0,
        ),
        Claim(
            "distances-are-close",
            "The nearest known texts are almost equally near.",
            f"{PAPER}, Appendix B.3",
            "minus the share by which the third is farther than the first, mean over snippets "
            f"(the paper's five: 0.059). Threshold ours, {CLOSE:g}, two and a half times "
            "that: the paper says 'relatively close' and gives no number",
            Estimate.of_units(gaps).negated(),
            -CLOSE,
        ),
        Claim(
            "changes-grow",
            "The lower epsilon, the more words change.",
            f"{PAPER}, Appendix B.3",
            "fall of the share of unchanged draws from one epsilon to the next, mean over the same "
            f"words, at the step that decides (it fails, or has the smallest lower end; {equal})",
            weakest(falls, 0.0),
            0.0,
        ),
        Claim(
            "unchanged-at-40",
            "At epsilon 40 the text does not change.",
            f"{PAPER}, section 6",
            f"share of words unchanged ({equal}). Threshold ours: all but one word in twenty",
            Estimate.of_units(kept[equal, 40.0]),
            0.95,
        ),
        Claim(
            "unrecognizable-at-1",
            "At epsilon 1 the text is unrecognizable.",
            f"{PAPER}, section 6",
            f"minus the share of words unchanged ({equal}). Threshold ours: one word in a hundred",
            Estimate.of_units(kept[equal, 1.0]).negated(),
            -0.01,
        ),
    )


def _notes(words: int) -> tuple[str, ...]:
    return (
        f"Vectors: the {words:,} plain words among GloVe's commonest, where the paper has Google "
        "News word2vec; GloVe's vectors are 2.2 times as long, so distances are larger and one "
        "epsilon is less noise. 'Equal noise for the norm' multiplies epsilon by 0.450, the ratio "
        "of mean norms: 2.927 in our sample of 7,895 words of word2vec, 6.510 over all 65,205 "
        "words of GloVe at hand.",
        "The sentence is ours; words of the vocabulary were drawn evenly for the share of "
        "unchanged words, and the paper gives no such share.",
        "Table 2 shows known texts of persons; here Reuters C50, 20 authors, means only. The paper "
        "shows five snippets, of which three are nearest to their author's text.",
        "Intervals are over words of the vocabulary (share unchanged) and over snippets "
        "(distances), each taken as independent; distances between the example bags are computed.",
    )
