"""Tables 5.3 and 5.4 of the thesis: accuracies in percent, as printed."""

from __future__ import annotations

from collections.abc import Mapping

FORMS = ("raw", "content", "bow-1000", "bow-500", "bow-200", "bow-50")
OBFUSCATED = FORMS[1:]  # the thesis prints no obfuscated raw texts
SCALES = (0.1, 0.2, 0.5)  # of the Laplace noise on each component, r / epsilon in Algorithm 2

PrintedTable = Mapping[str, tuple[float, ...]]  # form: baseline, then scales 0.1, 0.2 and 0.5

TOPICS: Mapping[str, PrintedTable] = {  # Table 5.3; guessing reaches 20
    "Reuters": {
        "raw": (81.4,),
        "content": (81.4, 81.6, 81.0, 71.9),
        "bow-1000": (80.4, 80.8, 80.8, 75.2),
        "bow-500": (79.2, 79.4, 79.4, 70.7),
        "bow-200": (76.0, 76.0, 76.0, 66.7),
        "bow-50": (66.3, 67.9, 68.1, 61.7),
    },
    "fan fiction": {
        "raw": (82.4,),
        "content": (83.3, 79.4, 79.4, 54.9),
        "bow-1000": (83.3, 77.5, 76.5, 57.8),
        "bow-500": (81.4, 80.4, 81.4, 63.7),
        "bow-200": (79.4, 71.6, 71.6, 53.9),
        "bow-50": (60.8, 49.0, 49.0, 46.1),
    },
}

AUTHORS: Mapping[str, PrintedTable] = {  # Table 5.4; guessing reaches 5 (Reuters), 1 (fan fiction)
    "Reuters": {
        "raw": (71.1,),
        "content": (68.5, 67.9, 67.9, 41.7),
        "bow-1000": (65.9, 62.1, 63.5, 41.9),
        "bow-500": (64.1, 61.7, 62.1, 40.9),
        "bow-200": (47.9, 46.9, 48.5, 27.1),
        "bow-50": (23.9, 20.0, 19.0, 6.2),
    },
    "fan fiction": {
        "raw": (70.6,),
        "content": (67.7, 67.7, 67.6, 4.9),
        "bow-1000": (48.0, 35.3, 40.2, 2.0),
        "bow-500": (46.1, 34.3, 34.3, 5.9),
        "bow-200": (36.3, 19.6, 18.6, 8.8),
        "bow-50": (13.7, 4.9, 4.9, 1.0),
    },
}


def accuracy(table: PrintedTable, form: str, scale: float | None) -> float | None:
    """A printed accuracy as a share; None where the thesis prints none.

    >>> accuracy(TOPICS["Reuters"], "content", 0.5)
    0.719
    """
    row = table[form]
    column = 0 if scale is None else 1 + SCALES.index(scale)
    return round(row[column] / 100, 3) if column < len(row) else None


def kept(table: PrintedTable, form: str, scale: float) -> float | None:
    """A printed accuracy as a share of the baseline of its form.

    >>> kept(AUTHORS["fan fiction"], "bow-50", 0.5)
    0.073
    """
    found = accuracy(table, form, scale)
    return None if found is None else round(100 * found / table[form][0], 3)
