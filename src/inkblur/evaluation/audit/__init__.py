"""Is the privacy claim true? Attempts to prove a mechanism false."""
