"""Numbers about releases: survival, distances, utility, meaning, and their intervals."""
