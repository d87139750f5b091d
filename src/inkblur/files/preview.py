"""A look before choosing: some of a file's own texts at several strengths.

Nothing is written and nothing is entered in the ledger: the draws come from a key that is thrown
away, and what is shown stands beside the true text, so it is no release and must not become one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from inkblur.documents.analysis import Analyst, folded
from inkblur.documents.fingerprints import ADAPTED, refuse_corpus
from inkblur.documents.policies import Treatment
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.risks import MEASURED_ON, ThreeRisks, three_risks
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.word_shares import FunctionWords, copied_words
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError, PrivateCalibration, WeakSetting
from inkblur.files.doors import open_described
from inkblur.files.records import Occurrences, Source
from inkblur.files.release import refuse_private_ingredients
from inkblur.files.summary import draws_a_text, not_copied_line
from inkblur.guarantees import Guarantee
from inkblur.pools.mechanism import PoolPrivatizer
from inkblur.pools.pool import Pool
from inkblur.release import ColumnLook, refuse_repeat, without_public
from inkblur.rng import Rng, secure_rng
from inkblur.spec import POOL_EPSILONS, ReleaseSpec
from inkblur.types import NULL_ID, Ids, Record, ReleaseKind, Strength, counted

TEXTS = 5  # that are shown
NOTE = (
    "A preview, not a release: its draws come from a key that was thrown away. It shows original "
    "text: do not publish it."
)
_ROWS, _CHARACTERS = 100_000, 1 << 25  # that are read at most
_BATCH = (1000, 1 << 22)
_SAMPLE = 500  # rows at least that are analyzed, evenly spread over those read
_LETTERS = 20_000  # at the beginning of a text that are analyzed and drawn
_WORDS = 2_000  # whose survival is measured: its standard error is at most 0.012
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Look:
    """The texts at one strength."""

    spec: ReleaseSpec  # with its strength or epsilon, as it can be run
    epsilon: float
    guarantee: Guarantee
    texts: tuple[str, ...]
    measured: dict[str, str]  # what to expect of it, by name
    risks: ThreeRisks
    refusal: str = ""  # why `privatize_file` would refuse it; empty where it would not

    @property
    def name(self) -> str:
        """light, or epsilon 20."""
        return self.spec.strength or f"epsilon {self.epsilon:g}"

    @property
    def figures(self) -> dict[str, str]:
        """A row of the table of strengths, by the names of its columns."""
        told = "; ".join(self.risks.figures())
        return {"strength": self.name, **self.measured, "measured risk": told}


@dataclass(frozen=True, slots=True)
class Preview:
    """What a data owner should see of a file before releasing it."""

    source: str
    rows: int  # read
    complete: bool  # whether these are all rows of the file
    analyzed: int  # texts, evenly spread over the rows read: counts are theirs
    columns: tuple[str, ...]  # of texts
    copied: tuple[str, ...]
    not_copied: tuple[str, ...]
    telling: dict[str, str]  # copied columns that tell whose a text is, or what it says, and why
    counts: Counter[str]  # what became of the tokens, as in the run's summary
    language: FunctionWords
    texts: tuple[str, ...]
    looks: tuple[Look, ...]
    missing: dict[str, str]  # strengths that the mechanism has not, and why
    pool: Pool | None  # whose texts replace those of the file

    def facts(self) -> list[tuple[str, str]]:
        """What was found in the file, a line each."""
        words, unknown = self.language.words, self._count("unknown")
        extent = "all" if self.complete else "the first"
        facts = [
            ("rows read", f"{extent} {self.rows:,}"),
            ("analyzed", f"{counted(self.analyzed, 'text')}, spread evenly over the rows read"),
            ("copied unchanged", ", ".join(self.copied) or "no column"),
        ]
        if self.not_copied:
            facts.append(("not copied", not_copied_line(self.not_copied)))
        if self.telling:
            found = "; ".join(f"{name} ({why})" for name, why in self.telling.items())
            facts.append(("columns at risk", found))
        if self.pool is not None:  # nothing of a text passes, whatever its words
            size = f"{len(self.pool):,} texts"
            facts.append(("pool", f"{self.pool.name}, {size}, license: {self.pool.license}"))
            if self.pool.labeled:
                facts.append(("labels", ", ".join(self.pool.label_names[:20])))
            return [*facts, ("language", self.language.line())]
        facts += [
            ("names found", self._names(words)),
            ("unknown words", f"{_share(unknown, words)} of {counted(words, 'word')}"),
            (
                "also found",
                f"numbers: {self._count('numbers'):,}; addresses: {self._count('addresses'):,}",
            ),
            ("language", self.language.line()),
        ]
        return facts + [(f"no {name}", why) for name, why in self.missing.items()]

    def warnings(self) -> list[str]:
        """What is wrong with a strength: no guarantee, or refused; and what the risks are."""
        lines = [
            f"{look.name}: {look.guarantee.sentence()}"
            for look in self.looks
            if not look.guarantee.private
        ]
        lines += [f"{look.name}: {look.refusal}" for look in self.looks if look.refusal]
        if any(look.risks.measured for look in self.looks):
            lines.append(f"measured risk: {MEASURED_ON}")
        return lines

    def next_spec(self) -> ReleaseSpec:
        """The last look's release."""
        return self.looks[-1].spec

    def _count(self, kind: str) -> int:
        return sum(self.counts[f"{kind} {treatment.value}"] for treatment in Treatment)

    def _names(self, words: int) -> str:
        if self.looks[0].spec.names == Treatment.BLUR.value:
            return "not looked for (`names=blur`)"
        kept = self.looks[0].spec.names == Treatment.KEEP.value
        fate = "copied unchanged" if kept else "replaced by words drawn at random"
        return f"{_share(self._count('names'), words)} of the words; {fate}"


def preview_file(
    source: str | Path,
    spec: ReleaseSpec,
    *,
    epsilons: Sequence[float] = (),
    most_bytes: int | None = None,
) -> Preview:
    """Five texts of a file, spread over it, at `epsilons`; at the three strengths if none is given.

    `spec` describes the release but for how strong it is. At most the first 100,000 rows are read
    (or about 33 million characters), and at most 1,000 of them are analyzed; a file that becomes
    more than `most_bytes` on the way is refused. What the run would refuse is said, not raised,
    where the rest can still be shown.

    >>> import tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts = Path(folder.name, "posts.txt")
    >>> _ = posts.write_text("the doctor was angry\\n")
    >>> seen = preview_file(posts, inkblur.ReleaseSpec("staircase", strength="medium"))
    >>> seen.texts, [look.name for look in seen.looks]
    (('the doctor was angry',), ['light', 'medium', 'strong'])
    >>> folder.cleanup()
    """
    if spec.kind is ReleaseKind.TF:
        raise ParameterError(
            'a preview shows words in their places or as a bag: leave out `release="tf"`'
        )
    refuse_private_ingredients(source, spec)
    with open_described(source, spec, most_bytes) as opened:
        table = spec.table()
        extract = _read(opened, table, skip_public=spec.skip_public)
    shown = _evenly(extract.texts, TEXTS)
    analyst = Analyst(table, spec.policies)
    counts: Counter[str] = Counter()
    entering: list[int] = []
    lengths: Counter[int] = Counter()
    for text in extract.texts:
        analysis = analyst.read(text)
        counts.update(analysis.counts)
        entering += analysis.ids
        lengths[len(analysis.ids)] += 1
    ids = np.array(_evenly([i for i in entering if i != NULL_ID], _WORDS), dtype=np.int64)
    known = np.resize(ids, _WORDS) if len(ids) else ids  # few words are drawn several times
    drawn = sum(i != NULL_ID for i in entering)
    expected = _Words(known, drawn, *copied_words(counts))
    read = _Read(counts, lengths, expected, extract.first)
    looks, missing, pool = _looks(_at_strengths(spec, epsilons), table, shown, read)
    return Preview(
        source=opened.name,
        rows=extract.rows,
        complete=extract.complete,
        analyzed=len(extract.texts),
        columns=opened.layout.columns,
        copied=opened.copied,
        not_copied=opened.not_copied,
        telling=extract.telling,
        counts=counts,
        language=FunctionWords.of(counts),
        texts=tuple(shown),
        looks=tuple(looks),
        missing=missing,
        pool=pool,
    )


@dataclass(frozen=True, slots=True)
class _Extract:
    """What was read of a file."""

    rows: int
    complete: bool
    texts: list[str]  # none of them blank
    first: list[str]  # of the first rows, all of them
    telling: dict[str, str]


def _read(source: Source, table: Embedding, *, skip_public: bool) -> _Extract:
    look = ColumnLook()
    first: list[str] = []
    kept: list[tuple[str, ...]] = []
    stride = 1
    rows = characters = 0
    complete = True
    left_out, ids = False, Occurrences()
    for batch in source.batches(*_BATCH):
        if source.layout.id_column is not None:
            refuse_repeat(ids, batch, source.layout.id_column, source.name)
        if rows >= _ROWS or characters >= _CHARACTERS:
            complete = False
            break
        if skip_public:
            whole, batch = batch, without_public(batch, [(table.corpus, ADAPTED)])
            left_out |= len(batch) < len(whole)
        else:
            refuse_corpus(batch.records, table.corpus, ADAPTED)
        texts = batch.texts
        if not look.done:
            first += texts
        look.read(batch)
        characters += sum(map(len, texts))
        for row in range(-rows % stride, len(batch), stride):
            kept.append(tuple(texts[row * batch.width : (row + 1) * batch.width]))
        rows += len(batch)
        while len(kept) >= 2 * _SAMPLE:  # half of them, as evenly spread as before
            kept, stride = kept[::2], 2 * stride
    filled = [text[:_LETTERS] for row in kept for text in row if text.strip()]
    if not filled:
        why = "every one of them is blank"
        if not rows:
            why = "all are in the public corpus" if left_out else "it has no rows"
        raise InputError(f"{source.name} has no text to look at: {why}")
    return _Extract(rows, complete, filled, first, look.telling)


def _at_strengths(spec: ReleaseSpec, epsilons: Sequence[float]) -> Iterator[ReleaseSpec]:
    none = {"epsilon": None, "strength": None, "level": None, "radius": None}
    usual: list[dict[str, Any]] = [{"strength": strength.value} for strength in Strength]
    if spec.pool is not None and not epsilons:
        epsilons = POOL_EPSILONS
    for how in [{"epsilon": each} for each in sorted(epsilons, reverse=True)] or usual:
        yield spec.varied(**{**none, **how})


def _looks(
    specs: Iterator[ReleaseSpec], table: Embedding, texts: Sequence[str], read: _Read
) -> tuple[list[Look], dict[str, str], Pool | None]:
    """The texts under each spec; the strengths that do not exist, with the reason; and the pool."""
    looks: list[Look] = []
    missing: dict[str, str] = {}
    pool: Pool | None = None
    failed: ParameterError | None = None
    rng = secure_rng()
    records = [Record(str(place), text) for place, text in enumerate(texts)]
    for spec in specs:
        try:
            blur = spec.privatizer(table)
        except ParameterError as error:
            if spec.strength is None:
                raise
            missing[spec.strength], failed = str(error), error
            continue
        refusal = ""
        if isinstance(blur, PoolPrivatizer):
            pool = blur.mechanism.pool
            measured = _of_a_pool(blur)
        else:
            assert isinstance(blur, Privatizer)
            measured = _of_words(blur, read.words, rng)
        try:
            blur.refuse_weak(accept_weak=spec.accept_weak)
            blur.refuse_own(read.first, len(spec.columns))
        except (WeakSetting, PrivateCalibration) as error:
            refusal = str(error)
        drawn = blur.release_batch(records, rng.next_child("preview")).texts
        epsilon = float(blur.mechanism.parameters["epsilon"])
        words = draws_a_text(read.lengths)["median"]
        if isinstance(blur, Privatizer):
            words = blur.size_of(words)
        risks = three_risks(blur, read.counts, words)
        looks.append(Look(spec, epsilon, blur.guarantee, drawn, measured, risks, refusal))
    if not looks and failed is not None:
        raise failed
    return looks, missing, pool


@dataclass(frozen=True, slots=True)
class _Read:
    """What was found in the texts that are analyzed."""

    counts: Counter[str]
    lengths: Counter[int]  # texts by the number of words that a release draws for them
    words: _Words
    first: list[str]  # texts, row after row


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of the texts that are analyzed."""

    known: Ids  # some of those that are drawn
    drawn: int  # how many of them there are
    copied: int  # others
    copied_content: int


def _of_words(blur: Privatizer, words: _Words, rng: Rng) -> dict[str, str]:
    """The expected share of words that come out, of all and of content words."""
    known, vocabulary = words.known, blur.mechanism.vocabulary
    function = np.array([folded(vocabulary[i]) in STOP_WORDS for i in known.tolist()], dtype=bool)
    of_function, of_content = [
        blur.mechanism.survival(part, rng.next_child("preview")) if len(part) else 0.0
        for part in (known[function], known[~function])
    ]
    content = words.drawn * float(np.mean(~function)) if len(known) else 0.0
    left = words.copied_content + content * of_content
    all_left = words.copied + content * of_content + (words.drawn - content) * of_function
    return {
        "epsilon": f"{float(blur.mechanism.parameters['epsilon']):g}",
        "unchanged words": f"{all_left / (words.copied + words.drawn or 1):.0%}",
        "of content words": f"{left / (words.copied_content + content or 1):.0%}",
    }


def _of_a_pool(blur: PoolPrivatizer) -> dict[str, str]:
    """What was measured on the pool."""
    expected, labeled = blur.mechanism.expected, blur.mechanism.pool.labeled
    return {
        "share near": f"{expected.share:g}",
        "label kept": f"{expected.label:.0%}" if labeled else "-",
        "cosine": f"{expected.meaning:.2f}",
        "cosine of random pairs": f"{expected.random:z.2f}",
    }


def _evenly(items: Sequence[T], most: int) -> list[T]:
    """At most so many, evenly spread, from the middle of equal parts.

    >>> _evenly(range(100), 5)
    [10, 30, 50, 70, 90]
    """
    if len(items) <= most:
        return list(items)
    return [items[(2 * part + 1) * len(items) // (2 * most)] for part in range(most)]


def beginning(text: str, letters: int = 400) -> str:
    """The first letters of a text on one line, ended at a word.

    >>> beginning("the doctor\\nwas angry", 12)
    'the doctor ...'
    """
    line = " ".join(text.split())
    if len(line) <= letters:
        return line
    return f"{line[:letters].rsplit(' ', 1)[0]} ..."


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"
