"""Mechanisms: words in, noisy words out, with a guarantee."""

from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.catalogue import CATALOGUE, Entry, make_mechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.perturbation import ComponentLaplace, Laplace, Mahalanobis, Perturbation
from inkblur.mechanisms.staircase import Staircase

__all__ = [
    "CATALOGUE",
    "AngularLaplace",
    "ComponentLaplace",
    "Entry",
    "Exponential",
    "Laplace",
    "Mahalanobis",
    "Perturbation",
    "Staircase",
    "make_mechanism",
]
