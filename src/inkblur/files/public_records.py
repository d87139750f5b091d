"""Records of the file that are also in a public corpus that something was learned from.

What was learned from a text cannot protect it. All such records are found before the run is
refused, or they are left out where the caller says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from inkblur.documents.fingerprints import among, corpus_refusal
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import PrivateCalibration
from inkblur.files.records import Batch

LEFT_OUT = (
    "which records were left out because the public corpus has their content words: their absence "
    "shows that it does"
)


class PublicRecords:
    """Takes the records of a public corpus out of batches, and counts them."""

    def __init__(self, corpora: Sequence[tuple[Fingerprints, str]], *, skip: bool) -> None:
        """Each corpus with what was learned from it; without `skip` a find refuses the file."""
        self._corpora = [(corpus, learned) for corpus, learned in corpora if corpus.size]
        self._skip = skip
        self.count = 0

    @property
    def left_out(self) -> int | None:
        """How many were left out; None where they refuse the file instead."""
        return self.count if self._skip else None

    def screened(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches without such records; or, at the end of the file, an error naming all."""
        if not self._corpora:
            yield from batches
            return
        places: list[str] = []
        reason = ""
        for batch in batches:
            public = np.zeros(len(batch), dtype=bool)
            for corpus, learned in self._corpora:
                found = among(batch.texts, corpus).reshape(len(batch), batch.width).any(axis=1)
                reason = reason or (learned if found.any() else "")
                public |= found
            self.count += int(public.sum())
            if not self._skip:
                places += [batch.place(int(row)) for row in np.flatnonzero(public)]
            if public.any():
                batch = batch.take(np.flatnonzero(~public).tolist())
            if batch.records and not places:  # nothing more is drawn once the file is refused
                yield batch
        if places:
            raise PrivateCalibration(f"{corpus_refusal(places, reason)} with `skip_public=True`")
