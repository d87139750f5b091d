"""A statement as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement


def markdown(statement: Statement) -> str:
    """The page as Markdown."""
    parts = ["# Privacy statement", *map(_escaped, statement.summary), f"*{KEEP_INSIDE}*"]
    for section in statement.sections:
        parts += [f"## {section.title}", *map(_escaped, section.paragraphs)]
        if section.lines:
            parts.append("\n".join(f"- {_escaped(item)}" for item in section.lines))
        if section.rows:
            parts.append(_table(section.rows))
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    bar = "\\|"
    lines = [" | ".join(_escaped(cell).replace("|", bar) for cell in row) for row in rows]
    lines = [f"| {line} |" for line in lines]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("\n", " ")
