"""One thing is not called by its plural, wherever a count is printed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from inkblur import Privatizer, ReleaseSpec, privatize_file, seeded_rng
from inkblur.documents import TokenPolicies
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError
from inkblur.files.preview import preview_file
from inkblur.files.summary import Fate, Summary
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.staircase import Staircase
from inkblur.mechanisms.strengths import typical_loss
from inkblur.release import over_budget
from inkblur.service.plain_words import loss_of_a_text

PLURAL = re.compile(r"(?<![\d.,])1 (?:[a-z]+ )?(?!was|repeats)[a-z]{2,}s\b(?!/s)")


def told(toy: Embedding, **counts: int) -> str:
    blur = Privatizer(Laplace(toy, epsilon=1.0), policies=TokenPolicies())
    fate = Fate(("text",), repeated=1, left_out=1)
    summary = Summary(
        privatizer=blur,
        guarantee=blur.guarantee,
        typical=typical_loss(blur.mechanism),
        documents=1,
        counts=Counter(counts),
        seconds=1.0,
        fate=fate,
    )
    return "\n".join(summary.lines())


def test_the_summary_of_one_text_with_one_word(toy: Embedding) -> None:
    lines = told(toy, drawn=1, null=1, **{"numbers keep": 1})
    assert "1 text (0 empty), 1 word drawn" in lines
    assert "1 unknown word, number or address was replaced" in lines
    assert "1 text repeats an earlier one" in lines
    assert "1 record of the public corpus was left out" in lines
    assert not PLURAL.search(lines)
    assert "1 name of a person was replaced" in told(toy, null=1, **{"names null": 1})
    assert "2 names of people were replaced" in told(toy, null=2, **{"names null": 2})


def test_a_budget_a_guarantee_and_a_loss_of_one(toy: Embedding) -> None:
    assert "1 record would exceed its budget" in str(over_budget(["record 7: ..."]))
    assert str(over_budget(["..."])).endswith(". Raise the budget, or leave these records out")
    assert "2 records would exceed their budget" in str(over_budget(["record 7: ...", "..."]))
    one = Privatizer(Staircase(toy, epsilon=2.0), length=1).guarantee
    assert "texts of 1 word each" in one.sentence()
    assert "This text: 1 word adds up" in loss_of_a_text(Staircase(toy, epsilon=2.0).guarantee, 1)


def test_files_of_one_text(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text\nhello\n", encoding="utf-8")
    spec = ReleaseSpec("staircase", 2.0)
    summary = privatize_file(source, tmp_path / "out.csv", spec, rng=seeded_rng(1), ledger=False)
    assert not PLURAL.search("\n".join(summary.lines()))
    facts = dict(preview_file(source, spec).facts())
    assert facts["analyzed"].startswith("1 text,")
    assert not PLURAL.search("\n".join(facts.values()))
    source.write_text("text,stars\nhello\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2 .* has 1 field, expected 2"):
        privatize_file(source, tmp_path / "other.csv", spec, rng=seeded_rng(1), ledger=False)
