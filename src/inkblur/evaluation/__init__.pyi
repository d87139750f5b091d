"""Where each public name lives: read by type checkers, and by `__init__.py` to load it."""

from inkblur.atomic_file import write_atomically
from inkblur.documents.analysis import known_id
from inkblur.documents.fingerprints import among, fingerprints
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.evaluation.attacks.base import DONT_KNOW
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
    clopper_pearson_lower,
    clopper_pearson_upper,
    percentile_interval,
    resample_counts,
    resample_rows,
)
from inkblur.evaluation.measures.meaning import earth_movers, euclidean_costs
from inkblur.evaluation.measures.statistics import privacy_statistics
from inkblur.evaluation.measures.utility import LabelAnswers, label_answers
from inkblur.evaluation.measures.words import content_words, space_free_ngrams, words_of
from inkblur.evaluation.releasers import Released, VectorReleaser, releaser, reverse_vectorized
from inkblur.evaluation.reports.charts import COLORS, MARKERS, rendered, require_matplotlib
from inkblur.evaluation.results import Interval
from inkblur.mechanisms.loss import improved_bound, standard_bound, tight_loss
from inkblur.mechanisms.nearest.canonical import exhaustive
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Device, Engine, backend_on
from inkblur.mechanisms.rating import CosineRating
from inkblur.mechanisms.strengths import calibrate
from inkblur.types import NULL_ID, Array, Ids

# fmt: off
__all__ = [  # noqa: RUF022 (sorted, several a line)
    "Array", "AuthorClassifier", "COLORS", "CosineRating", "DONT_KNOW", "Dataset",
    "Device", "Engine", "Ids", "Interval", "Koppel", "LabelAnswers", "LinearSvm", "MARKERS",
    "NULL_ID", "Names", "Reference", "Released", "TokenClass", "VectorReleaser",
    "WritePrintsFeatures", "among", "backend_on", "calibrate", "clopper_pearson_lower",
    "clopper_pearson_upper", "content_words", "earth_movers", "euclidean_costs", "exhaustive",
    "fingerprints", "improved_bound", "known_id", "label_answers", "make_classifier",
    "make_dataset", "measured_groups", "percentile_interval", "privacy_statistics", "releaser",
    "rendered", "require_matplotlib", "resample_counts", "resample_rows", "reverse_vectorized",
    "space_free_ngrams", "standard_bound", "tight_loss", "tokenize", "words_of",
    "write_atomically",
]
# fmt: on
