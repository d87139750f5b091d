"""The fields of a release's description; each has the help of its command-line option beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from inkblur.mechanisms.parameters import Value


def option(default: Any, help: str, *flags: str) -> Any:
    """A field that is also an option of the command line; `flags` where its name is not the flag.

    A tuple is an option that may be given several times.
    """
    return field(default=default, metadata={"help": help, "flags": flags})


@dataclass(frozen=True, slots=True)
class ReleaseFields:
    """What can be said about a release; :class:`inkblur.ReleaseSpec` checks and uses it."""

    mechanism: str = option("", "A name from `inkblur mechanisms`.", "--mechanism", "-m")
    epsilon: float | None = option(
        None,
        "Privacy loss per unit of distance (per word where words have no distance; per text or "
        "sentence with --pool), above 0.",
        "--epsilon",
        "-e",
    )
    _: KW_ONLY
    strength: str | None = option(
        None,
        "light, medium or strong: the strongest attack tried attributes at most 50, 25 or 10 % of "
        "the texts to their author, above chance, on public test texts.",
    )
    level: float | None = option(None, "With --radius: the loss allowed within that distance.")
    radius: float | None = option(None, "With --level: the distance; epsilon = level / radius.")
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)
    release: str = option("sequence", "What to release: sequence, bag or tf (default: sequence).")
    length: int | None = option(
        None, "Cut or pad every text to this many words (sentences with --unit sentence)."
    )
    unit: str = option(
        "word",
        "What one draw replaces: word, sentence or text (default: word). sentence and text need "
        "--pool.",
    )
    pool: str | None = option(
        None, "Public texts (`inkblur pool build`) that take the place of texts or sentences."
    )
    pool_sha256: str | None = None  # the pool must have this fingerprint
    keep_meaning: float | None = option(
        None,
        "With --pool: from 0, which keeps its label as often as possible, to 1, which keeps the "
        "meaning (default: 0.5).",
    )
    order: str | None = option(
        None,
        "With --pool: near texts begin with those of the same label, or go by meaning alone: label "
        "or meaning (default: chosen on the pool).",
    )
    encoder: str | None = option(
        None,
        "With --pool: the folder of the sentence transformer that the pool was built with.",
    )
    consistent: bool = option(
        False,
        "Draw once for each distinct word of a text and reuse the draw where the word "
        "repeats. Shows which words of a text are the same.",
    )
    keep: tuple[str, ...] = option(
        (),
        "Copy this kind of token unchanged: stop-words, unknown, numbers, addresses, "
        "punctuation, spaces or capitals. Repeat for several. The guarantee names each.",
    )
    drop: tuple[str, ...] = option((), "Leave this kind of token out. Repeat for several.")
    names: str = option(
        "null",
        "Names of people: null (replaced by a word that does not depend on the name), "
        "blur (treated like any word) or keep (default: null).",
    )
    names_tagger: bool = option(
        False,
        "Find more names with a part-of-speech tagger. It reads neighboring words, so "
        "changing one word may change how others are treated; the guarantee says so.",
    )
    accept_weak: bool = option(
        False, "Allow a setting at which more than 95% of the words come out unchanged."
    )
    morphology: str | None = option(None, "For tf: lemma, lower or as-is (default: lower).")
    weighting: str | None = option(
        None, "For tf: tf or tf-idf, which needs --reference (default: tf)."
    )
    reference: str | None = option(
        None, "For tf: a public corpus, one text per line, to take the vocabulary from."
    )
    wordnet: bool = option(False, "For tf: add WordNet's synonyms to the vocabulary.")
    embedding: str | None = option(None, "A file of word vectors (default: bundled).")
    embedding_sha256: str | None = None  # the vectors must have this fingerprint
    vocabulary: str | None = option(None, "Use only the words of this public list, one per line.")
    columns: tuple[str, ...] = option(
        ("text",),
        "Column that holds the text; repeat for several (default: text).",
        "--column",
    )
    drop_columns: tuple[str, ...] = option(
        (), "Leave this column out of the output.", "--drop-column"
    )
    keep_columns: tuple[str, ...] = option(
        (), "Copy this column even though it looks like an identifier.", "--keep-column"
    )
    id_column: str | None = option(
        None, "Column that identifies each record (default: by its content)."
    )
    person_column: str | None = option(
        None, "Column that says which person each record belongs to, for the ledger."
    )
    no_header: bool = option(
        False, "For csv and tsv: the first line is a record; columns are named 1, 2, 3."
    )
    delimiter: str | None = option(
        None, "For csv and tsv: what separates cells, such as ';' or tab."
    )
    quoting: str = option(
        "minimal", "For csv and tsv: quotes around cells: minimal, all or none (default: minimal)."
    )
    skip_public: bool = option(
        False,
        "Leave out records that are part of an adapted embedding's public corpus, "
        "instead of refusing the file.",
    )
    encoding: str = option("utf-8", "Text encoding of the input (default: utf-8).")
    format: str | None = option(
        None, "txt, csv, tsv, jsonl, json or parquet (default: by the file's name)."
    )
