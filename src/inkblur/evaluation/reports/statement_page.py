"""A statement as a self-contained HTML page."""

from __future__ import annotations

from inkblur.evaluation.reports.html import page
from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement
from inkblur.evaluation.reports.tables import Cell, Table, TableRow

_PAGE = """
<style>
main { max-width: 860px; }
.summary p { font-size: 17px; }
h2 { margin-top: 22px; padding-top: 14px; }
li, td { overflow-wrap: break-word; }
@media print { .note { border: 1px solid; } h2 { break-after: avoid; } }
</style>
<h1>Privacy statement</h1>
<div class="summary">
{% for sentence in statement.summary %}<p>{{ sentence }}</p>{% endfor %}
</div>
<div class="note"><p>{{ note }}</p></div>
{% for section in statement.sections %}
<h2>{{ section.title }}</h2>
{% for paragraph in section.paragraphs %}<p>{{ paragraph }}</p>{% endfor %}
{% if section.lines %}
<ul>{% for item in section.lines %}<li>{{ item }}</li>{% endfor %}</ul>
{% endif %}
{% if section.rows %}{{ grid(tables[loop.index0]) }}{% endif %}
{% endfor %}
</main></body></html>
"""


def statement_page(statement: Statement) -> str:
    """The same statement as one self-contained page."""
    return page(
        _PAGE,
        title="Privacy statement",
        statement=statement,
        note=KEEP_INSIDE,
        tables=[_table(section.rows) for section in statement.sections],
    )


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    cells = [tuple(Cell(text) for text in row) for row in rows] or [()]
    return Table("", "", cells[0], tuple(TableRow(row) for row in cells[1:]))
