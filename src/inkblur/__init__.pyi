"""Where each public name lives: read by type checkers, and by `__init__.py` to load it.

Every error is in `inkblur.errors`, the mechanisms' classes in `inkblur.mechanisms`, what pools are
made of in `inkblur.pools`.
"""

from inkblur.documents import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.store import load_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import BudgetExceeded, InkblurError, ParameterError, PrivacyError
from inkblur.evaluation.audit import Claim, audit
from inkblur.files.release import privatize_file
from inkblur.guarantees import Guarantee
from inkblur.ledger import Ledger, open_ledger
from inkblur.mechanisms import make_mechanism
from inkblur.pools import build_pool
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
    "BudgetExceeded", "Claim", "Embedding", "Guarantee", "InkblurError", "Ledger", "Limits",
    "ParameterError", "PrivacyError", "Privatizer", "Record", "ReleaseSpec", "Rng",
    "TextPrivatizer", "TokenPolicies", "Vectorizer", "__version__",
    "adapt_embedding", "audit", "build_pool",
    "keyed_rng", "load_embedding", "make_mechanism", "open_ledger", "open_pool", "privatize",
    "privatize_file", "secure_rng", "seeded_rng", "write_pool",
]
# fmt: on
