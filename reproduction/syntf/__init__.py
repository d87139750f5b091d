"""Experiments of the SynTF paper."""
