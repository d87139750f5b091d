"""Choosing a setting by measuring many."""
