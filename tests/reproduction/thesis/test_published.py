"""The printed tables are whole, and read as the thesis prints them."""

from __future__ import annotations

import pytest

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
