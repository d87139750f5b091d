"""Exact nearest words: one canonical answer, several backends that all give it."""
