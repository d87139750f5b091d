"""Public texts as an alphabet: one loss for a whole text."""

from inkblur.pools.building import Identifiers, build_pool
from inkblur.pools.mechanism import PoolPrivatizer, PoolStaircase
from inkblur.pools.pool import Pool

__all__ = ["Identifiers", "Pool", "PoolPrivatizer", "PoolStaircase", "build_pool"]
