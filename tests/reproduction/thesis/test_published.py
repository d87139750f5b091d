"""The printed tables are whole, and read as the thesis prints them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from reproduction.thesis.published import (
    AUTHORS,
    FORMS,
    OBFUSCATED,
    SCALES,
    TOPICS,
    PrintedTable,
    accuracy,
    kept,
)
from reproduction.thesis.relative_change import OWN_MEANS
from reproduction.thesis.stop_words import stop_words

TABLES = [*TOPICS.values(), *AUTHORS.values()]


@pytest.mark.parametrize("table", TABLES)
def test_every_form_has_a_baseline_and_every_obfuscated_one_three_scales(
    table: PrintedTable,
) -> None:
    assert tuple(table) == FORMS
    assert len(table["raw"]) == 1
    assert all(len(table[form]) == 1 + len(SCALES) for form in OBFUSCATED)
    assert accuracy(table, "raw", 0.1) is None
    assert kept(table, "raw", 0.1) is None


def test_the_stop_words_are_the_317_of_appendix_a() -> None:
    words = stop_words()
    assert len(words) == 317
    assert {"afterwards", "bill", "system", "thin", "yourselves"} < words
    assert words.isdisjoint({"amoungst", "don't"})


def test_what_the_thesis_keeps_of_the_topic_itself() -> None:
    for table, stated in (("Reuters", "0.904"), ("fan fiction", "0.715")):
        shares = [kept(TOPICS[table], form, 0.5) for form in OBFUSCATED]
        assert all(share is not None for share in shares)
        assert f"{np.mean([share or 0.0 for share in shares]):.3f} on {table}" == (
            f"{stated} on {table}"
        )
        assert f"{stated} on {table}" in OWN_MEANS


def test_sums_of_the_columns() -> None:  # added up from the thesis's pages by hand
    columns = [
        [round(sum(table[form][column] for form in OBFUSCATED), 1) for column in range(4)]
        for table in TABLES
    ]
    assert columns == [
        [383.3, 385.7, 385.3, 346.2],
        [388.2, 357.9, 357.9, 276.4],
        [270.3, 258.6, 261.0, 157.8],
        [211.8, 161.8, 165.6, 22.6],
    ]
