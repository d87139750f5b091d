"""Experiments of the Earth Mover's paper."""
