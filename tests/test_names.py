"""One name, one thing: no two types, and no two modules of one room, share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from reproduction.experiments import EXPERIMENTS

CHECKOUT = Path(__file__).parents[1]
FILES = [
    f for room in ("src", "reproduction", "benchmarks") for f in (CHECKOUT / room).rglob("*.py")
]


# What things were called before newcomers had to guess them.
RETIRED = {
    *("climb", "crew", "drawn_from", "duel", "falls", "ladder"),
    *("redrawn", "rungs", "shelf", "standing_on", "teller", "told", "workshop"),
}

# The same for the names of experiments, claims and measures, which are strings and stand on pages.
RETIRED_PHRASES = ("joined/", "joined-", "the joined metric", "topic told", "author named")


def names_of(source: str) -> set[str]:
    """What a file gives a name that others read: functions, classes, arguments, fields."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_retired_names_stay_away() -> None:
    seen = set()
    for file in FILES:
        named = {file.stem, *names_of(file.read_text(encoding="utf-8"))}
        seen |= named
        assert not named & RETIRED, file
    assert {"privatize", "DeviceNoise", "epsilon", "guarantee"} <= seen


def test_retired_phrases_stay_away() -> None:
    rooms = (CHECKOUT / "reproduction", CHECKOUT / "benchmarks", CHECKOUT / "docs")
    files = [f for room in rooms for f in room.rglob("*") if f.suffix in (".py", ".md", ".svg")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert any("adapted/frontier" in text for text in texts.values())
    for file, text in texts.items():
        assert not [phrase for phrase in RETIRED_PHRASES if phrase in text], file


def types_of(source: str) -> list[str]:
    """Classes and aliases of types that a file defines at its top: capitalized names."""
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                names.append(target.id)
    return names


def shared(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: found for name, found in places.items() if len(found) > 1}


def test_a_type_has_a_name_of_its_own() -> None:
    places = defaultdict(list)
    for file in FILES:
        for name in types_of(file.read_text(encoding="utf-8")):
            places[name].append(str(file.relative_to(CHECKOUT)))
    assert len(places) > 200
    assert shared(places) == {}


def test_types_are_found() -> None:
    source = "class One: ...\nTwo = dict[str, int]\nNO = 1\nno = 2\nThree: TypeAlias = 'int'"
    assert types_of(source) == ["One", "Two", "Three"]


def test_a_module_of_the_research_rooms_has_a_name_of_its_own() -> None:
    """Commands are named like what they call, experiments as in the catalogue, tables by paper."""
    free = {"__init__", "__main__", "published"}
    experiments = {name.replace("-", "_") + ".py" for name in EXPERIMENTS}
    places = defaultdict(list)
    for file in FILES:
        place = file.relative_to(CHECKOUT)
        if place.parts[0] == "src" and not place.is_relative_to("src/inkblur/evaluation"):
            continue
        if file.stem not in free and "/".join(place.parts[1:]) not in experiments:
            places[file.stem].append(str(place))
    assert shared(places) == {}
