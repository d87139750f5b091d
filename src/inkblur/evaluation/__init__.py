"""Attacks, measures and audits of releases, and what studies of mechanisms need beside them.

These names are public: the papers' experiments (`reproduction/`) and the benchmarks use nothing
else of Inkblur but its top-level names. Each is loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkblur.atomic_file import write_atomically as write_atomically
    from inkblur.documents.analysis import known_id as known_id
    from inkblur.documents.bag_utility import chance_within as chance_within
    from inkblur.documents.fingerprints import among as among
    from inkblur.documents.fingerprints import fingerprints as fingerprints
    from inkblur.documents.tokens import TokenClass as TokenClass
    from inkblur.documents.tokens import tokenize as tokenize
    from inkblur.evaluation.attacks import DONT_KNOW as DONT_KNOW
    from inkblur.evaluation.attacks import Koppel as Koppel
    from inkblur.evaluation.attacks import LinearSvm as LinearSvm
    from inkblur.evaluation.attacks import attribute as attribute
    from inkblur.evaluation.attacks import reverse_vectorized as reverse_vectorized
    from inkblur.evaluation.attacks.classifiers import Classifier as Classifier
    from inkblur.evaluation.attacks.classifiers import make_classifier as make_classifier
    from inkblur.evaluation.attacks.koppel import NgramWeighting as NgramWeighting
    from inkblur.evaluation.attacks.koppel import Similarity as Similarity
    from inkblur.evaluation.attacks.views import Words as Words
    from inkblur.evaluation.attacks.writeprints_features import (
        WritePrintsFeatures as WritePrintsFeatures,
    )
    from inkblur.evaluation.attacks.writeprints_features import measured_groups as measured_groups
    from inkblur.evaluation.dataset import Dataset as Dataset
    from inkblur.evaluation.dataset import Names as Names
    from inkblur.evaluation.dataset import Scenario as Scenario
    from inkblur.evaluation.dataset import make_dataset as make_dataset
    from inkblur.evaluation.measures.bootstrap import percentile_interval as percentile_interval
    from inkblur.evaluation.measures.bootstrap import rates_by_resample as rates_by_resample
    from inkblur.evaluation.measures.bootstrap import resample_counts as resample_counts
    from inkblur.evaluation.measures.bootstrap import resample_rows as resample_rows
    from inkblur.evaluation.measures.density import density as density
    from inkblur.evaluation.measures.earth_movers import earth_movers as earth_movers
    from inkblur.evaluation.measures.earth_movers import euclidean_costs as euclidean_costs
    from inkblur.evaluation.measures.fasttext_model import fasttext_labels as fasttext_labels
    from inkblur.evaluation.measures.intervals import clopper_pearson_lower as clopper_pearson_lower
    from inkblur.evaluation.measures.intervals import clopper_pearson_upper as clopper_pearson_upper
    from inkblur.evaluation.measures.ruzicka import text_distances as text_distances
    from inkblur.evaluation.measures.statistics import privacy_statistics as privacy_statistics
    from inkblur.evaluation.measures.utility import LabelAnswers as LabelAnswers
    from inkblur.evaluation.measures.utility import Model as Model
    from inkblur.evaluation.measures.utility import label_answers as label_answers
    from inkblur.evaluation.measures.utility import rates_of as rates_of
    from inkblur.evaluation.measures.words import words_of as words_of
    from inkblur.evaluation.preprocessing import ContentWords as ContentWords
    from inkblur.evaluation.preprocessing import TopicWords as TopicWords
    from inkblur.evaluation.preprocessing import content_words as content_words
    from inkblur.evaluation.releasers import Released as Released
    from inkblur.evaluation.releasers import VectorReleaser as VectorReleaser
    from inkblur.evaluation.releasers import releaser as releaser
    from inkblur.evaluation.reports.html import page as page
    from inkblur.evaluation.reports.html import require_page_libraries as require_page_libraries
    from inkblur.evaluation.reports.plots import COLORS as COLORS
    from inkblur.evaluation.reports.plots import MARKERS as MARKERS
    from inkblur.evaluation.reports.plots import rendered as rendered
    from inkblur.evaluation.reports.plots import require_matplotlib as require_matplotlib
    from inkblur.evaluation.reports.tables import Cell as Cell
    from inkblur.evaluation.reports.tables import Table as Table
    from inkblur.evaluation.reports.tables import TableRow as TableRow
    from inkblur.evaluation.reports.tables import heads as heads
    from inkblur.evaluation.results import Interval as Interval
    from inkblur.evaluation.scrubbing import SCRUBBERS as SCRUBBERS
    from inkblur.evaluation.scrubbing import Scrubber as Scrubber
    from inkblur.files.checkpoint import Checkpoint as Checkpoint
    from inkblur.mechanisms.bounds import improved_bound as improved_bound
    from inkblur.mechanisms.bounds import standard_bound as standard_bound
    from inkblur.mechanisms.calibration import calibrate as calibrate
    from inkblur.mechanisms.calibration import survival_rate as survival_rate
    from inkblur.mechanisms.catalogue import CATALOGUE as CATALOGUE
    from inkblur.mechanisms.loss import tight_loss as tight_loss
    from inkblur.mechanisms.nearest.canonical import exhaustive as exhaustive
    from inkblur.mechanisms.nearest.cpu.reference import Reference as Reference
    from inkblur.mechanisms.nearest.engine import Device as Device
    from inkblur.mechanisms.nearest.engine import Engine as Engine
    from inkblur.mechanisms.nearest.engine import backend_on as backend_on
    from inkblur.mechanisms.rating import CosineRating as CosineRating
    from inkblur.mechanisms.rating import measured_sensitivity as measured_sensitivity
    from inkblur.processes import explain_broken_pool as explain_broken_pool
    from inkblur.processes import process_pool as process_pool
    from inkblur.spec import grid as grid
    from inkblur.types import NULL_ID as NULL_ID
    from inkblur.types import Array as Array
    from inkblur.types import Bounding as Bounding
    from inkblur.types import Ids as Ids

_HOMES = {
    "Array": "inkblur.types",
    "Bounding": "inkblur.types",
    "CATALOGUE": "inkblur.mechanisms.catalogue",
    "COLORS": "inkblur.evaluation.reports.plots",
    "Cell": "inkblur.evaluation.reports.tables",
    "Checkpoint": "inkblur.files.checkpoint",
    "Classifier": "inkblur.evaluation.attacks.classifiers",
    "ContentWords": "inkblur.evaluation.preprocessing",
    "CosineRating": "inkblur.mechanisms.rating",
    "DONT_KNOW": "inkblur.evaluation.attacks",
    "Dataset": "inkblur.evaluation.dataset",
    "Device": "inkblur.mechanisms.nearest.engine",
    "Engine": "inkblur.mechanisms.nearest.engine",
    "Ids": "inkblur.types",
    "Interval": "inkblur.evaluation.results",
    "Koppel": "inkblur.evaluation.attacks",
    "LabelAnswers": "inkblur.evaluation.measures.utility",
    "LinearSvm": "inkblur.evaluation.attacks",
    "MARKERS": "inkblur.evaluation.reports.plots",
    "Model": "inkblur.evaluation.measures.utility",
    "NULL_ID": "inkblur.types",
    "Names": "inkblur.evaluation.dataset",
    "NgramWeighting": "inkblur.evaluation.attacks.koppel",
    "Reference": "inkblur.mechanisms.nearest.cpu.reference",
    "Released": "inkblur.evaluation.releasers",
    "SCRUBBERS": "inkblur.evaluation.scrubbing",
    "Scenario": "inkblur.evaluation.dataset",
    "Scrubber": "inkblur.evaluation.scrubbing",
    "Similarity": "inkblur.evaluation.attacks.koppel",
    "Table": "inkblur.evaluation.reports.tables",
    "TableRow": "inkblur.evaluation.reports.tables",
    "TokenClass": "inkblur.documents.tokens",
    "TopicWords": "inkblur.evaluation.preprocessing",
    "VectorReleaser": "inkblur.evaluation.releasers",
    "Words": "inkblur.evaluation.attacks.views",
    "WritePrintsFeatures": "inkblur.evaluation.attacks.writeprints_features",
    "among": "inkblur.documents.fingerprints",
    "attribute": "inkblur.evaluation.attacks",
    "backend_on": "inkblur.mechanisms.nearest.engine",
    "calibrate": "inkblur.mechanisms.calibration",
    "chance_within": "inkblur.documents.bag_utility",
    "clopper_pearson_lower": "inkblur.evaluation.measures.intervals",
    "clopper_pearson_upper": "inkblur.evaluation.measures.intervals",
    "content_words": "inkblur.evaluation.preprocessing",
    "density": "inkblur.evaluation.measures.density",
    "earth_movers": "inkblur.evaluation.measures.earth_movers",
    "euclidean_costs": "inkblur.evaluation.measures.earth_movers",
    "exhaustive": "inkblur.mechanisms.nearest.canonical",
    "explain_broken_pool": "inkblur.processes",
    "fasttext_labels": "inkblur.evaluation.measures.fasttext_model",
    "fingerprints": "inkblur.documents.fingerprints",
    "grid": "inkblur.spec",
    "heads": "inkblur.evaluation.reports.tables",
    "improved_bound": "inkblur.mechanisms.bounds",
    "known_id": "inkblur.documents.analysis",
    "label_answers": "inkblur.evaluation.measures.utility",
    "make_classifier": "inkblur.evaluation.attacks.classifiers",
    "make_dataset": "inkblur.evaluation.dataset",
    "measured_groups": "inkblur.evaluation.attacks.writeprints_features",
    "measured_sensitivity": "inkblur.mechanisms.rating",
    "page": "inkblur.evaluation.reports.html",
    "percentile_interval": "inkblur.evaluation.measures.bootstrap",
    "privacy_statistics": "inkblur.evaluation.measures.statistics",
    "process_pool": "inkblur.processes",
    "rates_by_resample": "inkblur.evaluation.measures.bootstrap",
    "rates_of": "inkblur.evaluation.measures.utility",
    "releaser": "inkblur.evaluation.releasers",
    "rendered": "inkblur.evaluation.reports.plots",
    "require_page_libraries": "inkblur.evaluation.reports.html",
    "require_matplotlib": "inkblur.evaluation.reports.plots",
    "resample_counts": "inkblur.evaluation.measures.bootstrap",
    "resample_rows": "inkblur.evaluation.measures.bootstrap",
    "reverse_vectorized": "inkblur.evaluation.attacks",
    "standard_bound": "inkblur.mechanisms.bounds",
    "survival_rate": "inkblur.mechanisms.calibration",
    "text_distances": "inkblur.evaluation.measures.ruzicka",
    "tight_loss": "inkblur.mechanisms.loss",
    "tokenize": "inkblur.documents.tokens",
    "words_of": "inkblur.evaluation.measures.words",
    "write_atomically": "inkblur.atomic_file",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'inkblur.evaluation' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
