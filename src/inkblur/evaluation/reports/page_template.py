"""The pages' common head, and the page of an evaluation, as Jinja templates that escape."""

from __future__ import annotations

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ title }}</title>
<style>
:root { --page: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d6dbe1; --band: #f4f6f8;
  --warn: #fff4d6; --warn-line: #d9a400; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e4e8ec; --soft: #9aa5b1;
  --line: #343b44; --band: #1c2127; --warn: #33290a; --warn-line: #a17c00; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 8px; border-top: 1px solid var(--line); padding-top: 22px; }
h3 { font-size: 15px; margin: 22px 0 6px; }
p { margin: 6px 0 10px; max-width: 78ch; }
.soft { color: var(--soft); }
.note { background: var(--warn); border-left: 4px solid var(--warn-line); padding: 8px 14px;
  margin: 14px 0; }
.note p { margin: 2px 0; max-width: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 8px 0 14px; font-size: 14px; }
th, td { text-align: left; padding: 6px 10px; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; background: var(--band); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td .soft { display: block; font-size: 12px; font-weight: 400; }
tr.lead td { font-weight: 600; }
.charts { display: flex; flex-wrap: wrap; gap: 24px 40px; }
.charts figure { margin: 8px 0; flex: 1 1 430px; min-width: 0; }
.charts figure.wide { flex-basis: 100%; }
.charts svg { max-width: 100%; height: auto; }
figcaption { font-weight: 600; margin-bottom: 4px; }
.chart { width: 100%; height: auto; color: var(--ink); }
.chart text { font-family: system-ui, sans-serif !important; }
.example { border: 1px solid var(--line); border-radius: 6px; padding: 10px 14px; margin: 12px 0; }
.example dl { margin: 4px 0 0; }
.example dt { font-size: 12px; color: var(--soft); margin-top: 8px; }
.example dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
</head>
<body><main>
"""

PAGE = """
<h1>How private and how useful is the release?</h1>
<p class="soft">{{ report.facts.texts|count }} texts{% if report.facts.authors %},
{{ report.facts.authors|count }} authors{% endif %}{% if report.facts.labels %},
{{ report.facts.labels|count }} labels{% endif %}; {{ report.facts.train|count }} training texts,
{{ report.facts.test|count }} test texts. Word vectors: {{ report.embedding.name }},
{{ report.embedding.words|count }} words in {{ report.embedding.dimension }} dimensions.
{{ report.repeats }} repetition{{ "s" if report.repeats != 1 }}, seed {{ report.seed }}.</p>
<div class="note">
<p><b>Do not publish this page.</b> It is computed from the original texts and quotes some of
them.</p>
{% for note in report.notes %}<p>{{ note }}</p>{% endfor %}
</div>

<h2>At a glance</h2>
{% for table in tables.strongest %}{{ grid(table) }}
<p class="soft">{{ table.caption }}</p>{% endfor %}
{% for row in glance %}<p><b>{{ row.name }}.</b> {{ row.sentence }}</p>{% endfor %}

{% if tables.attacks %}
<h2>Attacks on the author</h2>
<p>The share of test texts whose author was named. The <b>adaptive</b> attacker first released the
texts they know with the same mechanism and trained on the result, as anyone who knows the mechanism
would. The <b>static</b> attacker trained on original texts only. Your risk is the stronger of the
two.</p>
<div class="charts">
{% for figure in charts.attacks %}<figure><figcaption>{{ figure.title }}</figcaption>
{{ figure.svg|safe }}</figure>{% endfor %}
</div>
{% for table in tables.attacks %}<h3>{{ table.title }}</h3>
<p class="soft">{{ table.caption }}</p>{{ grid(table) }}{% endfor %}
{% endif %}

{% if tables.disclosures %}
<h2>What can be read, linked and inferred</h2>
<p><b>Reading</b>: guess the original words by Bayes' rule, knowing the mechanism and how common
words are. <b>Repetition</b>: a word that comes out twice is probably real. <b>Singling out</b>:
which original a released text was made from. <b>Linking</b>: whether two released texts have the
same author, for unknown authors. <b>Inference</b>: labels that were meant to be hidden.</p>
{% for table in tables.disclosures %}<h3>{{ table.title }}</h3>{{ grid(table) }}{% endfor %}
{% endif %}

{% if tables.utility %}
<h2>Usefulness: labels that can still be predicted</h2>
<p>Classifiers trained on released texts (adaptive) or original ones (static), tested on released
texts. Precision, recall and F1 are averaged over the labels.</p>
<div class="charts">
{% for figure in charts.utility %}<figure><figcaption>{{ figure.title }}</figcaption>
{{ figure.svg|safe }}</figure>{% endfor %}
</div>
{% for table in tables.utility %}<p class="soft">{{ table.caption }}</p>
{{ grid(table) }}{% endfor %}
{% endif %}

{% if tables.meaning %}
<h2>How far the texts moved</h2>
<p>Earth Mover's distance: the mean distance that a text's words moved in the space of word vectors
(0: none moved). Cosine: how similar the mean vectors of the two texts are (1: same direction).</p>
{% for table in tables.meaning %}{{ grid(table) }}{% endfor %}
{% endif %}

<h2>The privacy guarantee</h2>
{% for result in report.settings %}
<h3>{{ result.name }}</h3>
<p>{{ result.guarantee.sentence() }}</p>
<ul>{% for line in result.guarantee.lines() %}<li>{{ line }}</li>{% endfor %}</ul>
{% for sentence in result.worth %}<p>{{ sentence }}</p>{% endfor %}
{% endfor %}

{% if report.examples %}
<h2>{{ report.examples|length }} texts before and after</h2>
{% for example in report.examples %}
<div class="example">
{% if example.author is not none %}
<span class="soft">author {{ example.author }}</span>{% endif %}
{% if example.label %}<span class="soft">label {{ example.label }}</span>{% endif %}
<dl><dt>before</dt><dd>{{ example.before }}</dd>
{% for after in example.after %}<dt>{{ report.settings[loop.index0].name }}</dt>
<dd>{{ after if after else "(empty)" }}</dd>{% endfor %}</dl></div>
{% endfor %}
{% endif %}

<h2>The data, and how special cases were handled</h2>
{% for table in tables.facts %}{{ grid(table) }}{% endfor %}
<p class="soft">Intervals are {{ (100 * report.confidence)|round(1) }} %. For attacks, and for the
original texts, they are bootstraps over the test texts; for labels and distances they are
Student's over the repetitions and cover the random draws only. Text
form: {{ report.form }}{% if report.redacted %}, without proper nouns{% endif %}.</p>
</main></body></html>
"""

GRID = """<div class="wide"><table><thead><tr>{% for head in table.heads %}
<th{% if head.number %} class="n"{% endif %}>{{ head.text }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in table.rows %}<tr{% if row.lead %} class="lead"{% endif %}>
{% for cell in row.cells %}<td{% if cell.number %} class="n"{% endif %}>
{% if cell.link %}<a href="#{{ cell.link }}">{{ cell.text }}</a>{% else %}{{ cell.text }}{% endif %}
{% if cell.detail %}
<span class="soft">{{ cell.detail }}</span>{% endif %}</td>{% endfor %}</tr>{% endfor %}</tbody>
</table></div>"""
