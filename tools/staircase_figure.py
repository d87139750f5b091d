"""Draws docs/images/staircase.svg: the weights of ten words for two inputs.

Run it from the repository's root: python tools/staircase_figure.py
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from inkblur import Embedding, Staircase

EPSILON = 2.0
WORDS = {  # word: (units, place on a line)
    "the": (30, 0.0),
    "house": (14, 1.0),
    "home": (12, 1.3),
    "hotel": (8, 2.0),
    "room": (12, 1.7),
    "drink": (10, 4.0),
    "coffee": (8, 4.6),
    "tea": (7, 4.4),
    "espresso": (5, 5.0),
    "cappuccino": (4, 5.1),
}
INPUTS = ("cappuccino", "home")


def main() -> None:
    """Write the figure."""
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "inkblur", "font.size": 8})
    places = np.array([[math.cos(p / 2), math.sin(p / 2)] for _, p in WORDS.values()])
    counts = np.array([units for units, _ in WORDS.values()])
    table = Embedding(list(WORDS), places, name="ten words", counts=counts)
    mechanism = Staircase(table, epsilon=EPSILON, tau=0.3, frequency_power=1.0, cache=None)
    width = mechanism.units / mechanism.steps.units
    left = np.cumsum(width) - width
    figure, axes = plt.subplots(2, 1, figsize=(6.4, 3.4), sharex=True, layout="constrained")
    for axis, word in zip(axes, INPUTS, strict=True):
        height = mechanism.probabilities(table.ids([word]))[0] / width
        height /= height.min()
        near = height > 1 + 1e-9
        colors = np.where(near, "#c2571a", "#9fb3c8")
        axis.bar(left, height, width, align="edge", color=colors, edgecolor="white", linewidth=0.8)
        axis.set_title(f"input: {word}", loc="left", fontsize=8)
        axis.set_yticks([1, math.exp(EPSILON)], ["1", "$e^{\\epsilon}$"])
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_xticks(
        left + width / 2, table.words, rotation=40, ha="right", rotation_mode="anchor"
    )
    axes[1].set_xlim(0, 1)
    axes[1].set_xlabel("words, as wide as their mass under q")
    out = Path("docs/images/staircase.svg")
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
