"""Writes the epsilons of light, medium and strong for the bundled embedding beside it.

Run after build.py: `python tools/bundled/strengths.py`. Deterministic; some minutes on 2 cores.
"""

from __future__ import annotations

import json
from pathlib import Path

import inkblur
from inkblur.mechanisms import CATALOGUE, Entry
from inkblur.mechanisms.calibration import SAMPLE, strengths
from inkblur.mechanisms.parameters import Value

DESTINATION = Path(inkblur.__file__).parent / "embeddings" / "data" / "strengths.json"


def worth_storing(entry: Entry) -> list[dict[str, Value]]:
    """The values tried of principal parameters; the defaults of all others."""
    silent = {p.name: p.default for p in entry.parameters if not p.principal and not p.consent}
    return [v for v in entry.variants() if all(v[name] == silent[name] for name in silent)]


def main() -> None:
    """Calibrate every mechanism of the catalogue and write the file."""
    table = inkblur.load_embedding()
    epsilons: dict[str, dict[str, float]] = {}
    for name, entry in CATALOGUE.items():
        for chosen in worth_storing(entry):
            key = entry.key(chosen)
            epsilons[key] = strengths(name, table, **chosen)
            print(key, epsilons[key], flush=True)
    body = {"sha256": table.sha256, "words_sampled": SAMPLE, "epsilons": epsilons}
    DESTINATION.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
