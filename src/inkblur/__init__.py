"""Inkblur: differentially private text. Hides who wrote a text and keeps what it says."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkblur.adaptation.adapt import adapt_embedding
    from inkblur.desk import CountedRelease, ReleaseDesk, ReleaseOrder
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
    from inkblur.pools.store import open_pool, write_pool
    from inkblur.pools.transformer import TransformerEncoder
    from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
    from inkblur.series import privatize
    from inkblur.spec import ReleaseSpec
    from inkblur.types import Record

    __version__: str

# Names are loaded when first used, so that `import inkblur` and `inkblur --help` stay fast.
_NAMES = {
    "inkblur.adaptation.adapt": "adapt_embedding",
    "inkblur.desk": "CountedRelease ReleaseDesk ReleaseOrder",
    "inkblur.documents": "TokenPolicies Treatment",
    "inkblur.documents.privatizer": "Privatizer",
    "inkblur.documents.sklearn": "TextPrivatizer",
    "inkblur.documents.sklearn_vectors": "VectorPrivatizer",
    "inkblur.documents.tf_vector": "SyntheticVectors",
    "inkblur.documents.vectorizer": "Vectorizer",
    "inkblur.embeddings": "Embedding import_embedding load_embedding",
    "inkblur.errors": """
        BudgetExceeded EmbeddingError Incomposable InkblurError InputError MissingExtra
        NoGuarantee OutputError ParameterError PrivacyError PrivateCalibration Unreachable
        WeakSetting
    """,
    "inkblur.files.preview": "preview_file",
    "inkblur.files.release": "privatize_file",
    "inkblur.files.spending": "Limits",
    "inkblur.guarantees": "Guarantee compose",
    "inkblur.ledger": "Ledger open_ledger",
    "inkblur.mechanisms": "make_mechanism",
    "inkblur.mechanisms.angular": "AngularLaplace",
    "inkblur.mechanisms.exponential": "Exponential",
    "inkblur.mechanisms.perturbation": "ComponentLaplace Laplace Mahalanobis",
    "inkblur.mechanisms.staircase": "Staircase",
    "inkblur.pools": "Pool PoolPrivatizer PoolStaircase build_pool",
    "inkblur.pools.sklearn": "PoolTextPrivatizer",
    "inkblur.pools.store": "open_pool write_pool",
    "inkblur.pools.transformer": "TransformerEncoder",
    "inkblur.rng": "Rng keyed_rng secure_rng seeded_rng",
    "inkblur.series": "privatize",
    "inkblur.spec": "ReleaseSpec",
    "inkblur.types": "Record",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

# fmt: off
__all__ = [
    "AngularLaplace", "BudgetExceeded", "ComponentLaplace", "CountedRelease", "Embedding",
    "EmbeddingError", "Exponential", "Guarantee", "Incomposable", "InkblurError", "InputError",
    "Laplace", "Ledger", "Limits", "Mahalanobis", "MissingExtra", "NoGuarantee", "OutputError",
    "ParameterError", "Pool", "PoolPrivatizer", "PoolStaircase", "PoolTextPrivatizer",
    "PrivacyError", "PrivateCalibration", "Privatizer", "Record", "ReleaseDesk", "ReleaseOrder",
    "ReleaseSpec", "Rng",
    "Staircase", "SyntheticVectors", "TextPrivatizer", "TokenPolicies", "TransformerEncoder",
    "Treatment", "Unreachable", "VectorPrivatizer", "Vectorizer", "WeakSetting", "__version__",
    "adapt_embedding", "build_pool", "compose", "import_embedding", "keyed_rng",
    "load_embedding", "make_mechanism", "open_ledger", "open_pool", "preview_file", "privatize",
    "privatize_file", "secure_rng", "seeded_rng", "write_pool",
]
# fmt: on


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
