"""Documents: tokens and their policies, and the lift from words to sequences, bags and vectors."""

from inkblur.documents.policies import TokenPolicies, Treatment

__all__ = ["TokenPolicies", "Treatment"]
