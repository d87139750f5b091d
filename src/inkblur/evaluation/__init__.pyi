"""Where each public name lives: read by type checkers, and by `__init__.py` to load it."""

from inkblur.documents.analysis import known_id
from inkblur.documents.tokens import tokenize
from inkblur.evaluation.attacks.koppel import Koppel
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.attacks.writeprints import (
    AuthorClassifier,
    WritePrintsFeatures,
    make_classifier,
    measured_groups,
)
from inkblur.evaluation.dataset import Dataset, Names, make_dataset
from inkblur.evaluation.measures.intervals import (
    clopper_pearson,
    percentile_interval,
    resample_rows,
)
from inkblur.evaluation.measures.meaning import earth_movers
from inkblur.evaluation.measures.statistics import privacy_statistics
from inkblur.evaluation.measures.utility import label_answers
from inkblur.evaluation.measures.words import content_words, space_free_ngrams, words_of
from inkblur.evaluation.releasers import Released, VectorReleaser, releaser, reverse_vectorized
from inkblur.evaluation.results import Interval
from inkblur.mechanisms.loss import improved_bound, standard_bound, tight_loss
from inkblur.mechanisms.rating import CosineRating
from inkblur.mechanisms.strengths import calibrate

# fmt: off
__all__ = [
    "AuthorClassifier", "CosineRating", "Dataset", "Interval", "Koppel", "LinearSvm", "Names",
    "Released", "VectorReleaser", "WritePrintsFeatures", "calibrate", "clopper_pearson",
    "content_words", "earth_movers", "improved_bound", "known_id", "label_answers",
    "make_classifier", "make_dataset", "measured_groups", "percentile_interval",
    "privacy_statistics", "releaser", "resample_rows", "reverse_vectorized", "space_free_ngrams",
    "standard_bound", "tight_loss", "tokenize", "words_of",
]
# fmt: on
