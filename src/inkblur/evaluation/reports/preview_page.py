"""The page of `inkblur preview`: the same as on the terminal, for showing around inside."""

from __future__ import annotations

from collections.abc import Sequence

from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.tables import Cell, Table, TableRow
from inkblur.files.preview import NOTE, Preview, beginning


def preview_page(seen: Preview, command: str) -> str:
    """The page; `command` is what to type next."""
    names = ("as it is", *(look.name for look in seen.looks))
    texts = [
        list(zip(names, map(beginning, (text, *(k.texts[i] for k in seen.looks))), strict=True))
        for i, text in enumerate(seen.texts)
    ]
    return page_of(
        "preview.html",
        title="Inkblur preview",
        seen=seen,
        note=NOTE,
        facts=_table(("the file", ""), seen.facts()),
        texts=texts,
        strengths=_table(
            seen.looks[0].heads, [look.figures() for look in seen.looks], numbers=(1, 2, 3)
        ),
        warnings=seen.warnings(),
        command=command,
    )


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Table:
    lines = [
        tuple(Cell(text, place in numbers) for place, text in enumerate(row))
        for row in (heads, *rows)
    ]
    return Table("", "", lines[0], tuple(TableRow(cells) for cells in lines[1:]))
