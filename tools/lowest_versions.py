"""The oldest versions that pyproject.toml promises to work with, as pins for pip.

Example: pip install $(python tools/lowest_versions.py) && pip install --no-deps .
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(\[[^\]]*\])?>=([0-9.]+)(,<[0-9]+)?")


def pins(extras: list[str]) -> list[str]:
    """The core's floors, and those of some extras; an extra may name others."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional: dict[str, list[str]] = project["optional-dependencies"]
    wanted, made = list(extras), {}
    requirements = list(project["dependencies"])
    while wanted:
        for requirement in optional[wanted.pop()]:
            if requirement.startswith("inkblur["):
                wanted += requirement[len("inkblur[") : -1].split(",")
            else:
                requirements.append(requirement)
    for requirement in requirements:
        match = REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no floor: write name>=version")
        name, marked, version, _ = match.groups()
        made[name] = f"{name}{marked or ''}=={version}"
    return sorted(made.values())


if __name__ == "__main__":
    print("\n".join(pins(sys.argv[1:])))
