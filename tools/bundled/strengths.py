"""Writes the epsilons of light, medium and strong for the bundled embedding beside it.

Run after build.py: `python tools/bundled/strengths.py`. Deterministic; some minutes on 2 cores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import inkblur
from inkblur.mechanisms import CATALOGUE
from inkblur.mechanisms.calibration import SAMPLE, setting_key, strengths

DESTINATION = Path(inkblur.__file__).parent / "embeddings" / "data" / "strengths.json"


def settings(options: tuple[str, ...]) -> list[dict[str, Any]]:
    """The settings worth storing: the default lambda and its two ends."""
    if "bigram" in options:
        return [{"bigram": 0.0}]
    if "lam" in options:
        return [{"lam": lam} for lam in (0.0, 0.5, 1.0)]
    return [{"accept_no_guarantee": True}] if "accept_no_guarantee" in options else [{}]


def main() -> None:
    """Calibrate every mechanism of the catalogue and write the file."""
    table = inkblur.load_embedding()
    epsilons: dict[str, dict[str, float]] = {}
    for name, entry in CATALOGUE.items():
        for options in settings(entry.options):
            key = setting_key(name, options)
            epsilons[key] = strengths(name, table, **options)
            print(key, epsilons[key], flush=True)
    body = {"sha256": table.sha256, "words_sampled": SAMPLE, "epsilons": epsilons}
    DESTINATION.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
