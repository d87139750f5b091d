"""Exact nearest words on the processor: C++ where it can be built, NumPy elsewhere."""
