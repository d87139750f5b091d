"""A statement as a self-contained HTML page."""

from __future__ import annotations

from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement
from inkblur.evaluation.reports.tables import Cell, Table, TableRow


def statement_page(statement: Statement) -> str:
    """The same statement as one self-contained page."""
    return page_of(
        "statement.html",
        title="Privacy statement",
        statement=statement,
        note=KEEP_INSIDE,
        tables=[_table(section.rows) for section in statement.sections],
    )


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    cells = [tuple(Cell(text) for text in row) for row in rows] or [()]
    return Table("", "", cells[0], tuple(TableRow(row) for row in cells[1:]))
