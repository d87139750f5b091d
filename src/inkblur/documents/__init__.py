"""Documents: tokens and their policies, and the lift from words to sequences and bags."""

from inkblur.documents.policies import TokenPolicies, Treatment
from inkblur.documents.privatizer import BatchRelease, Privatizer, TextRelease

__all__ = ["BatchRelease", "Privatizer", "TextRelease", "TokenPolicies", "Treatment"]
