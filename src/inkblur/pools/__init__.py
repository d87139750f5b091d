"""Public texts as an alphabet: one loss for a whole text."""

from inkblur.pools.building import build_pool
from inkblur.pools.cleaning import Identifiers
from inkblur.pools.mechanism import PoolStaircase
from inkblur.pools.pool import Pool
from inkblur.pools.privatizer import PoolPrivatizer

__all__ = ["Identifiers", "Pool", "PoolPrivatizer", "PoolStaircase", "build_pool"]
