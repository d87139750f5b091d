"""How far a noisy bag lies from the true one."""

from __future__ import annotations

from scipy.special import gammainc


def chance_within(distance: float, *, epsilon: float, dimension: int, size: int) -> float:
    """At least this likely, a noisy bag of `size` vectors lies within Earth Mover's `distance`.

    Mathematics: moving every vector to its own noisy copy is one way to carry the bag over, so
    Earth Mover's distance is at most the mean of the N displacements. Each is Gamma(n, 1/epsilon)
    in the noise's own metric, and they are independent, so their sum is Gamma(nN, 1/epsilon) and
    the chance is at least P(Gamma(nN, 1) <= epsilon N distance).

    The Earth Mover's paper prints Theorem 3 with n where nN belongs. That form is too optimistic:
    with n = 30, N = 2 and epsilon N distance = 11.036 = n/e it promises 1.8e-6 where the truth is
    about 8.8e-25. A test here simulates both.

    The bound is about the noisy vectors (the paper's Algorithm 1). Snapping a vector to its nearest
    word moves it by at most as much again, where the true word is in the vocabulary and the metric
    is Euclidean: so for released words put half the distance in.

    >>> round(chance_within(30.0, epsilon=10.0, dimension=300, size=50), 2)
    0.5
    """
    return float(gammainc(dimension * size, epsilon * size * distance))
