"""A file of finished work: what is written stays written, so that a killed run goes on from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from inkblur import InkblurError
from inkblur.errors import InputError


class Checkpoint:
    """JSON lines that begin with what the run was; a last line cut short is dropped.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "work.jsonl"
    ...     Checkpoint(file, {"seed": 1}).add({"key": "a", "value": 2})
    ...     Checkpoint(file, {"seed": 1}).rows
    [{'key': 'a', 'value': 2}]
    """

    def __init__(self, file: Path, run: dict[str, Any]) -> None:
        """`run`: everything the rows depend on; a file of another run is refused."""
        self.file = file
        self.rows: list[dict[str, Any]] = []
        try:
            held = file.read_bytes() if file.exists() else b""
            whole = held[: held.rfind(b"\n") + 1]
            if whole != held:  # killed while writing
                os.truncate(file, len(whole))  # writing it anew could lose all of it
            if not whole:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_line(run), encoding="utf-8")
                return
        except OSError as error:
            raise InkblurError(f"cannot write {file}: {error.strerror}") from None
        try:
            first, *self.rows = [json.loads(line) for line in whole.decode("utf-8").splitlines()]
        except ValueError:
            raise InputError(f"{file} holds no saved results; choose another folder") from None
        stated = json.loads(_line(run))
        if not isinstance(first, dict) or first != stated:
            first = first if isinstance(first, dict) else {}
            others = sorted(key for key in {*first, *stated} if first.get(key) != stated.get(key))
            raise InputError(
                f"{file} holds the results of another run, on other data or with other measures "
                f"({', '.join(others)} differs); choose another folder, or remove it"
            )

    def add(self, row: dict[str, Any]) -> None:
        """Write one row; it is on its way to the disk when this returns."""
        try:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(_line(row))
        except OSError as error:
            raise InkblurError(f"cannot write {self.file}: {error.strerror}") from None
        self.rows.append(row)


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _line(body: dict[str, Any]) -> str:
    return json.dumps(body, allow_nan=False) + "\n"
