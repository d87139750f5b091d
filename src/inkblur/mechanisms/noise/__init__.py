"""Random displacements with the inequality each satisfies."""

from inkblur.mechanisms.noise.component import ComponentNoise
from inkblur.mechanisms.noise.laplace import LaplaceNoise
from inkblur.mechanisms.noise.mahalanobis import MahalanobisNoise

__all__ = ["ComponentNoise", "LaplaceNoise", "MahalanobisNoise"]
