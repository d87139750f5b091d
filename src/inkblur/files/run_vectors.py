"""Releasing a stream of records as synthetic term-frequency vectors, in one file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkblur.atomic_file import AtomicFile
from inkblur.documents.coverage import Coverage
from inkblur.documents.fingerprints import ADAPTED
from inkblur.documents.survival import Survival
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.errors import OutputError, ParameterError
from inkblur.files.identifiers import ROWS, refuse_columns
from inkblur.files.public_records import PublicRecords
from inkblur.files.run import ChooseRows
from inkblur.files.source import Source
from inkblur.files.spending import Spending, shown_by
from inkblur.files.summary import NOTE, Fate, described, draws_a_text, stated
from inkblur.files.vectors import write_vectors
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.rng import Rng

_RECORDS = 1 << 14
_CHARACTERS = 1 << 26


@dataclass(frozen=True, slots=True)
class VectorSummary:
    """What a run did, for the data owner."""

    synthetic: SyntheticVectors
    guarantee: Guarantee
    documents: int
    empty: int  # without a single known term; counted from the true texts, so keep it inside
    survival: Survival  # how many true terms the vectors show; this stays inside, too
    coverage: Coverage  # how many true words are terms
    seconds: float
    fate: Fate

    @property
    def terms_per_second(self) -> float:
        """Terms drawn in a second, everything included."""
        return self.documents * self.synthetic.length / max(self.seconds, 1e-9)

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        return [
            f"{self.documents:,} texts ({self.empty:,} without a known term) as vectors of "
            f"{self.synthetic.length:,} terms; {self.seconds:.1f} s, "
            f"{self.terms_per_second:,.0f} terms/s",
            *self.survival.lines(),
            *self.coverage.lines(self.synthetic.mechanism.embedding),
            *self.fate.lines(),
        ]

    def worth(self) -> list[str]:
        """What the bound is worth, in plain words."""
        return [
            "Between any two documents the log of the likelihood ratio is at most "
            f"{rounded_up(self.guarantee.loss(1.0))}."
        ]

    def to_json(self) -> dict[str, Any]:
        """The report file, as for texts where it applies."""
        mechanism = self.synthetic.mechanism
        return {
            "mechanism": {"name": mechanism.name, **mechanism.parameters},
            "release": {"kind": "tf", "length": self.synthetic.length},
            "guarantee": self.guarantee.to_json(),
            "loss_between_any_two_documents": self.guarantee.loss(1.0)
            if self.guarantee.private
            else None,
            "embedding": described(mechanism.embedding),
            "vocabulary": self.coverage.to_json(mechanism.embedding),
            "terms": {
                "drawn": self.documents * self.synthetic.length,
                "distinct_true_terms": self.survival.known,
                "shown": self.survival.unchanged,
                "shown_share": round(self.survival.share, 4),
                "hides_the_texts": self.survival.hides,
                "sentences": self.survival.lines(),
            },
            "columns": self.fate.to_json(),
            "documents": {
                "total": self.documents,
                "without_known_terms": self.empty,
                "repeated": self.fate.repeated,
                "left_out_as_public": self.fate.left_out or 0,
                "draws": draws_a_text({self.synthetic.length: self.documents}),
            },
            "seconds": round(self.seconds, 3),
            "words_per_second": round(self.terms_per_second, 1),
            "note": NOTE,
        }


def run_vectors(
    source: Source,
    output: str,
    synthetic: SyntheticVectors,
    rng: Rng,
    *,
    skip_public: bool = False,
    rows: ChooseRows | None = None,
    spending: Spending | None = None,
) -> VectorSummary:
    """Draw a vector for every record of `source` and write them to `output`.

    Other columns are not written. Records are named by the id column, and otherwise numbered: the
    ids that a source makes up are hashes of the true texts and are never written. Records of
    a public corpus refuse the file; with `skip_public` they are left out instead. `rows` chooses
    among what is left. `spending` is charged before anything is written.
    """
    from scipy.sparse import vstack

    replaced = None if output == "-" else AtomicFile(Path(output)).identity()
    if replaced is not None and replaced == source.identity():
        raise OutputError(f"{output} is the input itself; choose another output")
    if len(source.schema.columns) > 1:
        raise ParameterError("a tf release is made from one text column; name one")
    began = time.perf_counter()
    corpora = [*synthetic.vectorizer.corpora, (synthetic.mechanism.embedding.corpus, ADAPTED)]
    public = PublicRecords(corpora, skip=skip_public)
    ids: list[str] = []
    parts, empty = [synthetic.vectors([], rng).vectors], 0  # a file without records is no error
    survival, coverage = Survival(0, 0, 0, 0), Coverage(0, 0)
    batches = public.screened(source.batches(_RECORDS, _CHARACTERS))
    for batch in batches if rows is None else rows(batches):
        if spending is not None:
            spending.charge((batch, [synthetic.length] * len(batch), synthetic.bases(batch.texts)))
        release = synthetic.vectors(batch.records, rng)
        parts.append(release.vectors)
        named = source.layout.id_column is not None
        ids += release.ids if named else map(str, range(len(ids), len(ids) + len(batch)))
        empty += release.empty or 0
        if release.survival is not None:
            survival += release.survival
        if release.coverage is not None:
            coverage += release.coverage
    fate = Fate(
        columns=source.schema.columns,
        dropped=source.copied,
        repeated=source.repeated,
        left_out=public.count if skip_public else None,
        over_budget=None if spending is None else spending.left_out,
    )
    if source.layout.id_column is not None:
        refuse_columns({source.layout.id_column: ids[:ROWS]}, source.layout.keep)
    guarantee = stated(synthetic, fate, rng, ["the texts' ids"])
    write_vectors(
        output,
        vstack(parts, format="csr"),
        vocabulary=synthetic.mechanism.vocabulary,
        ids=ids,
        guarantee=guarantee,
        on_show=shown_by(spending),
    )
    seconds = time.perf_counter() - began
    return VectorSummary(synthetic, guarantee, len(ids), empty, survival, coverage, seconds, fate)
