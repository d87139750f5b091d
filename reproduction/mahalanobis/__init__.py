"""Experiments of the Mahalanobis paper."""
