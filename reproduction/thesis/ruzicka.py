"""Ruzicka distance between two texts (thesis, Definition 7), over space-free character n-grams:

    Ruzicka(x, y) = 1 - sum_i min(x_i, y_i) / sum_i max(x_i, y_i)

for counts x and y that are not negative; 0 between two texts without any.
"""

from __future__ import annotations

from inkblur.evaluation import space_free_ngrams


def text_distance(left: str, right: str, *, n: int = 4, relative: bool = False) -> float:
    """Counts, as in the thesis; `relative` divides by their sum first, so that a long and a short
    text of one author are near each other.

    >>> text_distance("to be", "to be or not"), text_distance("to be", "be to")
    (0.5, 0.0)
    """
    x, y = space_free_ngrams(left, n), space_free_ngrams(right, n)
    by_x, by_y = (counts.total() or 1 if relative else 1 for counts in (x, y))
    # min(x, y) + max(x, y) = x + y, so the sum of minima is enough.
    minima = sum(min(times / by_x, y[gram] / by_y) for gram, times in x.items())
    maxima = x.total() / by_x + y.total() / by_y - minima
    return max(0.0, 1.0 - minima / maxima) if maxima else 0.0
