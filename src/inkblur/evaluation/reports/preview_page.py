"""The page of `inkblur preview`: the same as on the terminal, for showing around inside."""

from __future__ import annotations

from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.tables import plain_table
from inkblur.files.preview import NOTE, Preview, beginning


def preview_page(seen: Preview, command: str) -> str:
    """The page; `command` is what to type next."""
    # The first and the last column hold words.
    first, *figures, last = seen.looks[0].figures
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
        facts=plain_table(("the file", ""), seen.facts()),
        texts=texts,
        strengths=plain_table(
            (first, *(f"#{head}" for head in figures), last),
            [tuple(look.figures.values()) for look in seen.looks],
        ),
        warnings=seen.warnings(),
        command=command,
    )
