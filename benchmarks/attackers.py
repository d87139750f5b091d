"""Which attack names most authors? The public author collections, untouched and released.

    INKBLUR_DATA=... python benchmarks/attackers.py c50 pan novels --epsilon 66,85

prints, for each collection and each epsilon of the mechanism, the share of authors that the static
and the adaptive attacker name. C50 is cut to 20 attacked texts an author, and to `--known` (20)
known ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

import inkblur
from inkblur.evaluation import Koppel, LinearSvm, Words, attribute
from reproduction.corpora import Split, english_novels, pan18, reuters_c50


def _c50(known: int) -> Split:
    whole = reuters_c50()
    return Split(whole.train.first_of_each_author(known), whole.test.first_of_each_author(20))


COLLECTIONS: dict[str, Callable[[int], Split]] = {
    "c50": _c50,
    "pan": lambda known: pan18(1),
    "novels": lambda known: english_novels(),
}
ATTACKS: dict[str, Callable[[], LinearSvm | Koppel]] = {
    "svm": lambda: LinearSvm(seed=1),
    "svm-words": lambda: LinearSvm(seed=1, view=Words(), name="svm-words"),
    "koppel": lambda: Koppel(seed=1),
}


def released(texts: Sequence[str], mechanism: str, epsilon: float, part: str) -> list[str]:
    """The texts after the mechanism over the bundled table; seeded, for measuring alone."""
    spec = inkblur.ReleaseSpec(mechanism=mechanism, epsilon=epsilon)
    blur = spec.privatizer(inkblur.load_embedding())
    records = [inkblur.Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, inkblur.seeded_rng(1).child(part)).texts)


def named(attack: str, split: Split, known: Sequence[str], asked: Sequence[str]) -> str:
    """Share of the texts whose author the attack names, with its standard error, and the time."""
    assert split.train.authors is not None
    assert split.test.authors is not None
    began = time.monotonic()
    model = ATTACKS[attack]().fit(known, split.train.authors)
    found = attribute(model, asked, split.test.authors, known=split.train.authors)
    error = np.sqrt(found.accuracy * (1 - found.accuracy) / found.unknown)
    return f"{found.accuracy:.3f} +- {error:.3f} ({time.monotonic() - began:.0f} s)"


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="+", choices=COLLECTIONS)
    parser.add_argument("--mechanism", default="mahalanobis")
    parser.add_argument("--epsilon", default="66,85", help='"" for the texts as they are alone')
    parser.add_argument("--attacks", default="svm,koppel")
    parser.add_argument("--known", type=int, default=20)
    options = parser.parse_args()
    for name in options.collections:
        split = COLLECTIONS[name](options.known)
        for attack in options.attacks.split(","):
            print(name, "untouched", attack, named(attack, split, split.train.texts,
                  split.test.texts), flush=True)  # fmt: skip
        for epsilon in map(float, filter(None, options.epsilon.split(","))):
            known = released(split.train.texts, options.mechanism, epsilon, "train")
            asked = released(split.test.texts, options.mechanism, epsilon, "test")
            for attack in options.attacks.split(","):
                for kind, studied in (("static", split.train.texts), ("adaptive", known)):
                    label = f"{options.mechanism} {epsilon:g}"
                    print(name, label, attack, kind, named(attack, split, studied, asked),
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
