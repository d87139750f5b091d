"""Inkblur: differentially private text. Hides who wrote a text and keeps what it says."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkblur.adaptation.adapt import adapt_embedding
    from inkblur.documents import TokenPolicies, Treatment
    from inkblur.documents.privatizer import Privatizer
    from inkblur.documents.sklearn import TextPrivatizer
    from inkblur.documents.sklearn_vectors import VectorPrivatizer
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.documents.vectorizer import Vectorizer
    from inkblur.embeddings import Embedding, import_embedding, load_embedding
    from inkblur.errors import (
        BudgetExceeded,
        EmbeddingError,
        Incomposable,
        InkblurError,
        InputError,
        MissingExtra,
        NoGuarantee,
        OutputError,
        ParameterError,
        PrivacyError,
        PrivateCalibration,
        Unreachable,
        WeakSetting,
    )
    from inkblur.files.preview import preview_file
    from inkblur.files.release import privatize_file
    from inkblur.files.spending import Limits
    from inkblur.guarantees import Guarantee, compose
    from inkblur.ledger import Ledger, open_ledger
    from inkblur.mechanisms import make_mechanism
    from inkblur.mechanisms.angular import AngularLaplace
    from inkblur.mechanisms.exponential import Exponential
    from inkblur.mechanisms.perturbation import ComponentLaplace, Laplace, Mahalanobis
    from inkblur.mechanisms.staircase import Staircase
    from inkblur.pools import Pool, PoolPrivatizer, PoolStaircase, build_pool
    from inkblur.pools.sklearn import PoolTextPrivatizer
    from inkblur.pools.store import open_pool
    from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
    from inkblur.series import privatize
    from inkblur.spec import ReleaseSpec
    from inkblur.types import Record

    __version__: str

# Names are loaded when first used, so that `import inkblur` and `inkblur --help` stay fast.
_HOMES = {
    "AngularLaplace": "inkblur.mechanisms.angular",
    "BudgetExceeded": "inkblur.errors",
    "ComponentLaplace": "inkblur.mechanisms.perturbation",
    "Embedding": "inkblur.embeddings",
    "EmbeddingError": "inkblur.errors",
    "Exponential": "inkblur.mechanisms.exponential",
    "Guarantee": "inkblur.guarantees",
    "Incomposable": "inkblur.errors",
    "InkblurError": "inkblur.errors",
    "InputError": "inkblur.errors",
    "Laplace": "inkblur.mechanisms.perturbation",
    "Ledger": "inkblur.ledger",
    "Limits": "inkblur.files.spending",
    "Mahalanobis": "inkblur.mechanisms.perturbation",
    "MissingExtra": "inkblur.errors",
    "NoGuarantee": "inkblur.errors",
    "OutputError": "inkblur.errors",
    "ParameterError": "inkblur.errors",
    "Pool": "inkblur.pools",
    "PoolPrivatizer": "inkblur.pools",
    "PoolStaircase": "inkblur.pools",
    "PoolTextPrivatizer": "inkblur.pools.sklearn",
    "PrivacyError": "inkblur.errors",
    "PrivateCalibration": "inkblur.errors",
    "Privatizer": "inkblur.documents.privatizer",
    "Record": "inkblur.types",
    "ReleaseSpec": "inkblur.spec",
    "Rng": "inkblur.rng",
    "Staircase": "inkblur.mechanisms.staircase",
    "SyntheticVectors": "inkblur.documents.tf_vector",
    "TextPrivatizer": "inkblur.documents.sklearn",
    "TokenPolicies": "inkblur.documents",
    "Treatment": "inkblur.documents",
    "Unreachable": "inkblur.errors",
    "VectorPrivatizer": "inkblur.documents.sklearn_vectors",
    "Vectorizer": "inkblur.documents.vectorizer",
    "WeakSetting": "inkblur.errors",
    "adapt_embedding": "inkblur.adaptation.adapt",
    "build_pool": "inkblur.pools",
    "compose": "inkblur.guarantees",
    "import_embedding": "inkblur.embeddings",
    "keyed_rng": "inkblur.rng",
    "load_embedding": "inkblur.embeddings",
    "make_mechanism": "inkblur.mechanisms",
    "open_ledger": "inkblur.ledger",
    "open_pool": "inkblur.pools.store",
    "privatize": "inkblur.series",
    "preview_file": "inkblur.files.preview",
    "privatize_file": "inkblur.files.release",
    "secure_rng": "inkblur.rng",
    "seeded_rng": "inkblur.rng",
}

__all__ = [
    "AngularLaplace",
    "BudgetExceeded",
    "ComponentLaplace",
    "Embedding",
    "EmbeddingError",
    "Exponential",
    "Guarantee",
    "Incomposable",
    "InkblurError",
    "InputError",
    "Laplace",
    "Ledger",
    "Limits",
    "Mahalanobis",
    "MissingExtra",
    "NoGuarantee",
    "OutputError",
    "ParameterError",
    "Pool",
    "PoolPrivatizer",
    "PoolStaircase",
    "PoolTextPrivatizer",
    "PrivacyError",
    "PrivateCalibration",
    "Privatizer",
    "Record",
    "ReleaseSpec",
    "Rng",
    "Staircase",
    "SyntheticVectors",
    "TextPrivatizer",
    "TokenPolicies",
    "Treatment",
    "Unreachable",
    "VectorPrivatizer",
    "Vectorizer",
    "WeakSetting",
    "__version__",
    "adapt_embedding",
    "build_pool",
    "compose",
    "import_embedding",
    "keyed_rng",
    "load_embedding",
    "make_mechanism",
    "open_ledger",
    "open_pool",
    "preview_file",
    "privatize",
    "privatize_file",
    "secure_rng",
    "seeded_rng",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("inkblur")
    if name not in _HOMES:
        raise AttributeError(f"module 'inkblur' has no attribute {name!r}")
    from inkblur.errors import MissingExtra

    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except MissingExtra as error:  # so that hasattr answers no
        raise AttributeError(f"inkblur.{name} is not there: {error}") from error


def __dir__() -> list[str]:
    return __all__
