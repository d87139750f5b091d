"""Releases over HTTP, and a page to look at them first: `inkblur serve` (extra `serve`)."""
