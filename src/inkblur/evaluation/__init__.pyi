"""Where each public name lives: read by type checkers, and by `__init__.py` to load it."""

from inkblur.atomic_file import write_atomically
from inkblur.documents.analysis import known_id
from inkblur.documents.fingerprints import among, fingerprints
from inkblur.documents.names import is_name
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.evaluation.attacks.base import DONT_KNOW, Attack, attribute
from inkblur.evaluation.attacks.catalogue import CHANNEL_ATTACKS
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.koppel import Koppel, NgramWeighting, Similarity
from inkblur.evaluation.attacks.language import Trigrams, entering_ids, unigram
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.reading import Reader, guessed
from inkblur.evaluation.attacks.reverse import reverse_vectorized
from inkblur.evaluation.attacks.stacking import stacked_across
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.attacks.views import Words
from inkblur.evaluation.attacks.writeprints import AuthorClassifier, make_classifier
from inkblur.evaluation.attacks.writeprints_features import WritePrintsFeatures, measured_groups
from inkblur.evaluation.dataset import Dataset, Names, Scenario, make_dataset
from inkblur.evaluation.measures.bootstrap import (
    percentile_interval,
    rates_by_resample,
    resample_counts,
    resample_rows,
)
from inkblur.evaluation.measures.density import density
from inkblur.evaluation.measures.earth_movers import earth_movers, euclidean_costs
from inkblur.evaluation.measures.fasttext_model import fasttext_labels
from inkblur.evaluation.measures.intervals import clopper_pearson_lower, clopper_pearson_upper
from inkblur.evaluation.measures.ngrams import space_free_ngrams
from inkblur.evaluation.measures.recovered import recovered, true_words
from inkblur.evaluation.measures.statistics import privacy_statistics
from inkblur.evaluation.measures.utility import LabelAnswers, UtilityClassifier, label_answers
from inkblur.evaluation.measures.words import words_of
from inkblur.evaluation.preprocessing import ContentWords, TopicWords, content_words
from inkblur.evaluation.releasers import Released, VectorReleaser, releaser
from inkblur.evaluation.reports.html import page, require_page_libraries
from inkblur.evaluation.reports.plots import COLORS, MARKERS, rendered, require_matplotlib
from inkblur.evaluation.reports.tables import Cell, Table, TableRow, heads
from inkblur.evaluation.results import Interval
from inkblur.evaluation.risk import Attempt, AuthorTexts, attempts, strongest
from inkblur.evaluation.scrubbing import SCRUBBERS, Scrubber
from inkblur.files.checkpoint import Checkpoint
from inkblur.mechanisms.calibration import calibrate, survival_rate
from inkblur.mechanisms.catalogue import CATALOGUE
from inkblur.mechanisms.loss import improved_bound, standard_bound, tight_loss
from inkblur.mechanisms.nearest.canonical import exhaustive
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Device, Engine, backend_on
from inkblur.mechanisms.rating import CosineRating
from inkblur.processes import explain_broken_pool, process_pool
from inkblur.spec import grid
from inkblur.types import NULL_ID, Array, Bounding, Ids

# fmt: off
__all__ = [  # noqa: RUF022 (sorted, several a line)
    "Array", "Attack", "Attempt", "AuthorClassifier", "AuthorTexts", "Bounding", "CATALOGUE",
    "CHANNEL_ATTACKS", "COLORS", "Cell", "Checkpoint", "ContentWords", "CosineRating", "DONT_KNOW",
    "Dataset", "Device", "Engine", "Ids", "Interval", "Koppel", "LabelAnswers",
    "Likelihood", "LinearSvm", "MARKERS", "NULL_ID", "Names", "NgramWeighting",
    "Reader", "Reference", "Released", "SCRUBBERS", "STOP_WORDS", "Scenario", "Scrubber",
    "Similarity", "Table", "TableRow", "TokenClass", "TopicWords", "Trigrams", "UtilityClassifier",
    "VectorReleaser", "Words", "WritePrintsFeatures", "among", "attempts", "attribute",
    "backend_on", "calibrate", "channel_of", "clopper_pearson_lower",
    "clopper_pearson_upper", "content_words", "density", "earth_movers", "entering", "entering_ids",
    "euclidean_costs", "exhaustive", "explain_broken_pool", "fasttext_labels", "fingerprints",
    "grid", "guessed", "heads", "improved_bound", "is_name", "known_id", "label_answers",
    "make_classifier", "make_dataset", "measured_groups", "page",
    "percentile_interval", "privacy_statistics", "process_pool", "rates_by_resample", "recovered",
    "releaser", "rendered", "require_matplotlib", "require_page_libraries", "resample_counts",
    "resample_rows", "reverse_vectorized", "space_free_ngrams", "stacked_across", "standard_bound",
    "strongest", "survival_rate", "tight_loss", "tokenize", "true_words", "unigram", "words_of",
    "write_atomically",
]
# fmt: on
