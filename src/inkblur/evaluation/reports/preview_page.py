"""The page of `inkblur preview`: the same as on the terminal, for showing around inside."""

from __future__ import annotations

from collections.abc import Sequence

from inkblur.evaluation.reports.html import page
from inkblur.evaluation.reports.tables import Cell, Table, TableRow
from inkblur.files.preview import NOTE, Preview, beginning

_PAGE = """
<style>
.looks { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 14px; }
.looks h3 { margin: 0 0 4px; }
.looks p { margin: 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--band); padding: 10px 14px; }
</style>
<h1>{{ seen.texts|length }} texts before and after</h1>
<p class="soft">{{ seen.source }}</p>
<div class="note"><p>{{ note }}</p></div>
{{ grid(facts) }}

<h2>The texts</h2>
{% for shown in texts %}
<div class="example looks">
{% for name, text in shown %}<div><h3>{{ name }}</h3><p>{{ text if text else "(empty)" }}</p></div>
{% endfor %}
</div>
{% endfor %}

<h2>The strengths</h2>
{{ grid(strengths) }}
{% for line in warnings %}<p>{{ line }}</p>{% endfor %}

<h2>Next</h2>
<p>The command for {{ seen.looks[-1].name }}; another strength may stand in its place.</p>
<pre>{{ command }}</pre>
</main></body></html>
"""


def preview_page(seen: Preview, command: str) -> str:
    """The page; `command` is what to type next."""
    names = ("as it is", *(look.name for look in seen.looks))
    texts = [
        list(zip(names, map(beginning, (text, *(k.texts[i] for k in seen.looks))), strict=True))
        for i, text in enumerate(seen.texts)
    ]
    return page(
        _PAGE,
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
