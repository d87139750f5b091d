"""The fields of a release's description; each has the help of its command-line option beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

from inkblur.mechanisms.parameters import Value


def option(group: str, default: Any, help: str, *flags: str) -> Any:
    """A field that is also an option of the command line, shown in this group of its help; `flags`
    where its name is not the flag.

    A tuple is an option that may be given several times.
    """
    return field(default=default, metadata={"help": help, "flags": flags, "group": group})


_strength = partial(option, "How strong")
_kind = partial(option, "What is released")
_pool = partial(option, "Whole texts from a pool")
_token = partial(option, "Words, names and signs")
_tf = partial(option, "Only for --release tf")
_vectors = partial(option, "Word vectors")
_file = partial(option, "Columns and formats")


@dataclass(frozen=True, slots=True)
class ReleaseFields:
    """What can be said about a release; :class:`inkblur.ReleaseSpec` checks and uses it."""

    mechanism: str = _strength("", "A name from `inkblur mechanisms`.", "--mechanism", "-m")
    epsilon: float | None = _strength(
        None,
        "Privacy loss per unit of distance (per word where words have no distance; per text or "
        "sentence with --pool), above 0.",
        "--epsilon",
        "-e",
    )
    _: KW_ONLY
    strength: str | None = _strength(
        None,
        "light, medium or strong: the strongest attack tried attributes at most 50, 25 or 10 % of "
        "the texts to their author, above chance, on public test texts.",
    )
    level: float | None = _strength(None, "With --radius: the loss allowed within that distance.")
    radius: float | None = _strength(None, "With --level: the distance; epsilon = level / radius.")
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)
    release: str = _kind("sequence", "What to release: sequence, bag or tf (default: sequence).")
    length: int | None = _kind(
        None, "Cut or pad every text to this many words (sentences with --unit sentence)."
    )
    unit: str = _pool(
        "word",
        "What one draw replaces: word, sentence or text (default: word). sentence and text need "
        "--pool.",
    )
    pool: str | None = _pool(
        None, "Public texts (`inkblur pool build`) that take the place of texts or sentences."
    )
    pool_sha256: str | None = None  # the pool must have this fingerprint
    keep_meaning: float | None = _pool(
        None,
        "With --pool: what to keep first, from 0 (the label of a text) to 1 (its meaning); "
        "default: 0.5. In a pool without labels, less meaning tells less about the author.",
    )
    order: str | None = _pool(
        None,
        "With --pool: which texts count as near: label (those of the same label first) or meaning "
        "(by meaning alone). Default: chosen on the pool.",
    )
    encoder: str | None = _pool(
        None,
        "With --pool: the folder of the sentence transformer that the pool was built with.",
    )
    consistent: bool = _kind(
        False,
        "Draw once for each distinct word of a text and reuse the draw where the word "
        "repeats. Shows which words of a text are the same.",
    )
    keep: tuple[str, ...] = _token(
        (),
        "Copy this kind of token unchanged: stop-words, unknown, numbers, addresses, "
        "punctuation, spaces or capitals. Repeat for several. The guarantee names each.",
    )
    drop: tuple[str, ...] = _token((), "Leave this kind of token out. Repeat for several.")
    names: str = _token(
        "null",
        "Names of people: null (replaced by a word that does not depend on the name), "
        "blur (treated like any word) or keep (default: null).",
    )
    names_tagger: bool = _token(
        False,
        "Find more names with a part-of-speech tagger. It reads neighboring words, so "
        "changing one word may change how others are treated; the guarantee says so.",
    )
    accept_weak: bool = _strength(
        False, "Allow a setting at which more than 95% of the words come out unchanged."
    )
    morphology: str | None = _tf(None, "For tf: lemma, lower or as-is (default: lower).")
    weighting: str | None = _tf(
        None, "For tf: tf or tf-idf, which needs --reference (default: tf)."
    )
    reference: str | None = _tf(
        None, "For tf: a public corpus, one text per line, to take the vocabulary from."
    )
    wordnet: bool = _tf(False, "For tf: add WordNet's synonyms to the vocabulary.")
    embedding: str | None = _vectors(None, "A file of word vectors (default: bundled).")
    embedding_sha256: str | None = None  # the vectors must have this fingerprint
    vocabulary: str | None = _vectors(None, "Use only the words of this public list, one per line.")
    columns: tuple[str, ...] = _file(
        ("text",),
        "Column that holds the text; repeat for several (default: text).",
        "--column",
    )
    drop_columns: tuple[str, ...] = _file(
        (), "Leave this column out of the output.", "--drop-column"
    )
    keep_columns: tuple[str, ...] = _file(
        (), "Copy this column even though it looks like an identifier.", "--keep-column"
    )
    id_column: str | None = _file(
        None, "Column that identifies each record (default: by its content)."
    )
    person_column: str | None = _file(
        None, "Column that says which person each record belongs to, for the ledger."
    )
    no_header: bool = _file(
        False, "For csv and tsv: the first line is a record; columns are named 1, 2, 3."
    )
    delimiter: str | None = _file(
        None, "For csv and tsv: what separates cells, such as ';' or tab."
    )
    quoting: str = _file(
        "minimal", "For csv and tsv: quotes around cells: minimal, all or none (default: minimal)."
    )
    skip_public: bool = _vectors(
        False,
        "Leave out records that are part of an adapted embedding's public corpus, "
        "instead of refusing the file.",
    )
    encoding: str = _file("utf-8", "Text encoding of the input (default: utf-8).")
    format: str | None = _file(
        None, "txt, csv, tsv, jsonl, json or parquet (default: by the file's name)."
    )
