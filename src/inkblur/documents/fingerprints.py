"""Telling a protected text from a public corpus that some ingredient was learned from.

A text is known again by its content words: folded, in order, without stop words, numbers,
addresses and signs. So other capitals, spaces and punctuation hide nothing, nor does a text whose
stop words were taken out before. Where there are no content words, all its words count. An edited,
shortened or quoted copy has other words and is not recognized.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import folded
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import written_words
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import PrivateCalibration
from inkblur.types import Record

ADAPTED = "the embedding was adapted on"
_BYTES = 8  # among a million texts and a million others, one false alarm in 10^7 runs
_EXAMPLES = 5  # records that an error names


def fingerprint(text: str) -> int | None:
    """Eight bytes of BLAKE2b over the content words; None for a text without a word.

    >>> fingerprint("The CAT, the dog.") == fingerprint("cat dog"), fingerprint("12 :-)")
    (True, None)
    """
    return fingerprint_of(written_words(text))


def fingerprint_of(written: Sequence[str]) -> int | None:
    """The fingerprint of a text that has these words."""
    words = [folded(word) for word in written]
    content = [word for word in words if word not in STOP_WORDS] or words
    if not content:
        return None
    plain = "\n".join(content).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(plain, digest_size=_BYTES).digest(), "little")


def fingerprints(texts: Iterable[str]) -> Fingerprints:
    """Of all texts that have one: sorted, each once."""
    return gathered(fingerprint(text) for text in texts)


def gathered(marks: Iterable[int | None]) -> Fingerprints:
    """Fingerprints as a table keeps them."""
    return np.array(sorted({mark for mark in marks if mark is not None}), dtype=np.uint64)


def among(texts: Sequence[str], corpus: Fingerprints) -> NDArray[np.bool_]:
    """Which texts are in the corpus of these fingerprints (sorted); never one without a word."""
    marks = [fingerprint(text) for text in texts]
    known = np.array([mark is not None for mark in marks], dtype=bool)
    if not corpus.size:
        return np.zeros_like(known)
    wanted = np.array([mark or 0 for mark in marks], dtype=np.uint64)
    place = np.minimum(np.searchsorted(corpus, wanted), corpus.size - 1)
    found: NDArray[np.bool_] = (corpus[place] == wanted) & known
    return found


def refuse_corpus(records: Sequence[Record], corpus: Fingerprints, learned: str) -> None:
    """Raise where a text to protect is one that a public ingredient was learned from."""
    if not corpus.size:
        return
    found = np.flatnonzero(among([record.text for record in records], corpus))
    if found.size:
        places = [str(records[int(row)]) for row in found]
        raise PrivateCalibration(corpus_refusal(places, learned))


def corpus_refusal(places: Sequence[str], learned: str) -> str:
    """Why these records are refused."""
    several = len(places) > 1
    such = f"{len(places):,} records, such as " if several else ""
    return (
        f"{such}{', '.join(places[:_EXAMPLES])} {'have' if several else 'has'} the same content "
        f"words as a text of the public corpus that {learned}; what was learned from a text cannot "
        "protect it: learn from other, public texts, or leave such records out with "
        "`skip_public=True`"
    )
