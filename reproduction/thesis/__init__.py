"""Experiments of the thesis on author obfuscation."""
