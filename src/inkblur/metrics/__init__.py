"""Distances between documents: Earth Mover's, Ruzicka, Euclidean. Import each from its own file."""
