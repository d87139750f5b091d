"""Exact nearest words on a GPU."""
