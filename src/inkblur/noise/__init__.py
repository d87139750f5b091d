"""Random displacements with the inequality each satisfies."""

from inkblur.noise.angular import truncated_angle
from inkblur.noise.component import ComponentNoise
from inkblur.noise.laplace import LaplaceNoise
from inkblur.noise.mahalanobis import MahalanobisNoise

__all__ = ["ComponentNoise", "LaplaceNoise", "MahalanobisNoise", "truncated_angle"]
