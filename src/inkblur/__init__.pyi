"""Where each public name lives: read by type checkers, and by `__init__.py` to load it."""

from inkblur.documents import TokenPolicies, Treatment
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.loading import import_embedding
from inkblur.embeddings.store import load_embedding
from inkblur.embeddings.table import Embedding
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
from inkblur.evaluation.audit import Claim, audit
from inkblur.files.preview import preview_file
from inkblur.files.release import privatize_file
from inkblur.guarantees import Guarantee, compose
from inkblur.ledger import Ledger, open_ledger
from inkblur.mechanisms import make_mechanism
from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.component import ComponentLaplace
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.mechanisms.staircase import Staircase
from inkblur.pools import Pool, PoolPrivatizer, PoolStaircase, build_pool
from inkblur.pools.encoder import TransformerEncoder
from inkblur.pools.pool import open_pool, write_pool
from inkblur.release import Limits
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
from inkblur.series import privatize
from inkblur.sklearn import TextPrivatizer
from inkblur.spec import ReleaseSpec
from inkblur.types import Record

__version__: str

# fmt: off
__all__ = [
    "AngularLaplace", "BudgetExceeded", "Claim", "ComponentLaplace",
    "Embedding", "EmbeddingError", "Exponential", "Guarantee", "Incomposable", "InkblurError",
    "InputError", "Laplace", "Ledger", "Limits", "Mahalanobis", "MissingExtra", "NoGuarantee",
    "OutputError", "ParameterError", "Pool", "PoolPrivatizer", "PoolStaircase",
    "PrivacyError", "PrivateCalibration", "Privatizer", "Record",
    "ReleaseSpec", "Rng",
    "Staircase", "SyntheticVectors", "TextPrivatizer", "TokenPolicies", "TransformerEncoder",
    "Treatment", "Unreachable", "Vectorizer", "WeakSetting", "__version__",
    "adapt_embedding", "audit", "build_pool", "compose", "import_embedding", "keyed_rng",
    "load_embedding", "make_mechanism", "open_ledger", "open_pool", "preview_file", "privatize",
    "privatize_file", "secure_rng", "seeded_rng", "write_pool",
]
# fmt: on
