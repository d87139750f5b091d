"""What is left to attack where every text is cut or filled to one length.

    INKBLUR_DATA=... python tools/bundled/fixed_length.py pan18 --epsilon 1 --length 900 --draws 10

prints, for each half of the authors of a collection as `strengths.py` attacks it, the risk above
chance of the strongest attack and of each.
"""

from __future__ import annotations

import argparse

from strengths import COLLECTIONS, author_texts

import inkblur
from inkblur.evaluation.risk import attempts, strongest

SEED = 20_261_118


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", choices=COLLECTIONS)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--length", type=int, default=700)
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec("staircase", options.epsilon, length=options.length).privatizer(
        table
    )
    setting = (options.collection, str(options.epsilon), str(options.length))
    rng = inkblur.seeded_rng(SEED).child(*setting)
    found = attempts(author_texts(options.collection), blur, table, rng, draws=options.draws)
    for half in (0, 1):
        tried = [each for each in found if each.half == half]
        best = strongest(tried)
        span = f"{best.low:.3f} to {best.high:.3f}"
        print(*setting, f"half {half}: {best.attack} {best.kind} {best.risk:.3f} ({span})")
        for attack, kind in sorted({(each.attack, each.kind) for each in tried}):
            same = [each for each in tried if (each.attack, each.kind) == (attack, kind)]
            print("   ", attack, kind, f"{strongest(same).risk:.3f}")


if __name__ == "__main__":
    main()
