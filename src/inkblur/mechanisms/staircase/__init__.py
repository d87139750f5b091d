"""The staircase mechanism: two weights, one loss between any two words."""

from inkblur.mechanisms.staircase.mechanism import Staircase

__all__ = ["Staircase"]
