"""Random displacements with the inequality each satisfies."""

from inkblur.mechanisms.noise.laplace import ComponentNoise, LaplaceNoise, MahalanobisNoise

__all__ = ["ComponentNoise", "LaplaceNoise", "MahalanobisNoise"]
