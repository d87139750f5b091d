"""Mechanisms: words in, noisy words out, with a guarantee. The classes are in their own files."""

from inkblur.mechanisms.catalogue import CATALOGUE, Entry, make_mechanism

__all__ = ["CATALOGUE", "Entry", "make_mechanism"]
