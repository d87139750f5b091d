"""A statement as a self-contained HTML page."""

from __future__ import annotations

from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement
from inkblur.evaluation.reports.tables import plain_table


def statement_page(statement: Statement) -> str:
    """The same statement as one self-contained page."""
    return page_of(
        "statement.html",
        title="Privacy statement",
        statement=statement,
        note=KEEP_INSIDE,
        tables=[plain_table(s.rows[0], s.rows[1:]) if s.rows else None for s in statement.sections],
    )
