"""Numbers about releases: survival, intervals, utility, meaning, and the words of texts."""
