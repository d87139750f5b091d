"""Numbers that the Earth Mover's paper prints."""

from __future__ import annotations

EPSILONS = (30, 25, 20, 15, 10)
MEASURES = ("SRauth", "SRtopic", "DRauth", "DRtopic")

# Table 1: right answers of 20 and of 50, by epsilon, in the order of MEASURES.
TABLE_1 = {
    20: {
        "none": (12, 16, 15, 18),
        "30": (8, 18, 16, 18),
        "25": (8, 18, 14, 17),
        "20": (5, 11, 11, 16),
        "15": (2, 11, 12, 17),
        "10": (0, 15, 11, 19),
    },
    50: {
        "none": (19, 36, 27, 43),
        "30": (19, 37, 29, 43),
        "25": (17, 34, 24, 41),
        "20": (12, 28, 19, 42),
        "15": (9, 22, 13, 42),
        "10": (1, 24, 10, 43),
    },
}

# Table 2: distances of five snippets to their three nearest known texts.
TABLE_2 = (
    (2.112, 2.136, 2.147),
    (1.618, 1.773, 1.805),
    (1.844, 1.879, 1.974),
    (1.913, 1.948, 1.986),
    (1.798, 1.854, 1.896),
)

# Section 2: the example bags and their Earth Mover's distances.
BAGS = {
    "b1": "president greets press chicago",
    "b2": "chief speaks media illinois",
    "b3": "chef breaks cooking record",
}
BAG_DISTANCES = {("b1", "b2"): 2.816, ("b1", "b3"): 4.121, ("b2", "b3"): 3.941}

# Mean norms of the vectors: of the 7,895 words of the paper's word2vec that are at hand, and of all
# 65,205 words of GloVe that are (its first 30,000: 6.487).
NORMS = {"word2vec": 2.927, "glove": 6.510}
