"""One draw for each distinct word of a text: what it keeps, and what its guarantee says."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur import Privatizer, Staircase, privatize_file
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import Incomposable, ParameterError
from inkblur.guarantees import compose
from inkblur.rng import keyed_rng
from inkblur.service.plain_words import loss_of_a_text, loss_of_a_word
from inkblur.sklearn import TextPrivatizer
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID, Ids, Record, Unit
from tests.laws.catalogue import ALL, label, make

KEY = bytes(range(32))


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_a_word_comes_out_alike_in_one_text_and_null_words_do_not(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    blur = Privatizer(make(setting, toy, 0.5), consistent=True)
    one, two = toy.words[3], toy.words[8]
    text = " ".join([one, two, one, "zzz", two, one] + ["zzz"] * 40)
    words = [blur.release_batch([Record(str(i), text)], keyed_rng(KEY)).texts[0] for i in range(9)]
    for out in (text.split() for text in words):
        assert out[0] == out[2] == out[5]
        assert out[1] == out[4]
        assert len(set(out[6:])) > 1
    assert len({out.split()[0] for out in words}) > 1  # between texts draws are independent
    batch = blur.release_batch([Record(str(i), text) for i in range(9)], keyed_rng(KEY)).texts
    assert list(batch) == words


def law(mechanism: Staircase, ids: Ids) -> dict[tuple[int, ...], float]:
    """The law of a consistent release of a text, by enumeration of its distinct draws."""
    keys = [(-1, i) if word == NULL_ID else (int(word), 0) for i, word in enumerate(ids)]
    distinct = list(dict.fromkeys(keys))
    tables = mechanism.probabilities(np.array([word for word, _ in distinct]))
    found: dict[tuple[int, ...], float] = {}
    for drawn in product(range(len(mechanism.vocabulary)), repeat=len(distinct)):
        chosen = dict(zip(distinct, drawn, strict=True))
        out = tuple(chosen[key] for key in keys)
        chance = float(np.prod([tables[i, w] for i, w in enumerate(drawn)]))
        found[out] = found.get(out, 0.0) + chance
    return found


def test_texts_of_one_pattern_are_bounded_and_others_are_not() -> None:
    vectors = np.random.default_rng(1).standard_normal((4, 3))
    table = Embedding(["a0", "b0", "c0", "d0"], vectors, name="four")
    mechanism = Staircase(table, epsilon=2.0, tau=0.25, cache=None)
    guarantee = Privatizer(mechanism, consistent=True).guarantee

    def largest(left: list[int], right: list[int]) -> float:
        one, other = law(mechanism, np.array(left)), law(mechanism, np.array(right))
        return max(
            (np.log(chance / other[out]) if other.get(out) else np.inf)
            for out, chance in one.items()
            if chance
        )

    assert largest([0, 1, 0], [2, 1, 2]) <= guarantee.loss(distance=1) * (1 + 1e-12)
    assert largest([0, 1, 0], [2, 3, 2]) <= guarantee.loss(distance=2) * (1 + 1e-12)
    assert largest([0, 1, 0], [2, 3, 2]) > guarantee.loss(distance=1)
    assert largest([0, NULL_ID, NULL_ID], [0, 2, 3]) <= guarantee.loss(distance=2) * (1 + 1e-12)
    assert largest([0, 1, 2], [0, 1, 0]) == np.inf  # another pattern
    # "a0 a0" and "zz zz" repeat a word at the same positions, but one that is unknown draws twice.
    assert largest([NULL_ID, NULL_ID], [0, 0]) == np.inf
    assert "at the same positions (null words count as different)" in guarantee.sentence()
    assert any(line.startswith("Null words are") for line in guarantee.lines())


def test_the_guarantee_says_so_and_never_joins_a_plain_one(toy: Embedding) -> None:
    mechanism = Staircase(toy, epsilon=8.0, tau=0.05)
    once, plain = (Privatizer(mechanism, consistent=c).guarantee for c in (True, False))
    assert once.unit is Unit.PATTERN
    assert "repeat words at the same positions" in once.sentence()
    statement = once.statement()
    assert "no finite bound" in statement
    assert "which words of a text are the same" in statement
    assert compose([once, once]).epsilon == 16.0
    with pytest.raises(Incomposable, match="unit"):
        compose([once, plain])
    assert Privatizer(mechanism).spec != Privatizer(mechanism, consistent=True).spec


def test_no_sentence_promises_a_bound_for_one_of_several_equal_words(
    tmp_path: Path, toy: Embedding
) -> None:
    """Changed at one of its places, a word gives away that it stood at both."""
    write_store(tmp_path / "toy.ink", toy)
    (tmp_path / "in.txt").write_text(" ".join([toy.words[0]] * 3))
    for consistent in (False, True):
        for mechanism in ("staircase", "laplace"):
            spec = ReleaseSpec(
                mechanism, 2.0, consistent=consistent, embedding=str(tmp_path / "toy.ink")
            )
            summary = privatize_file(tmp_path / "in.txt", tmp_path / "out.txt", spec, ledger=False)
            said = "changes have no finite bound" in " ".join(summary.worth())
            assert said == consistent
            assert (
                summary.worth()[:2]
                == summary.to_json()["bound_at_typical_distances"]["sentences"][:2]
            )
        promised = Privatizer(Staircase(toy, epsilon=2.0), consistent=consistent).guarantee
        assert ("as for any other" in loss_of_a_word(promised)) != consistent
        assert ("no finite bound" in loss_of_a_text(promised, 3)) == consistent


def test_bags_and_vectors_refuse_it(toy: Embedding) -> None:
    mechanism = Staircase(toy, epsilon=8.0, tau=0.05)
    with pytest.raises(ParameterError, match="only a sequence"):
        Privatizer(mechanism, release="bag", consistent=True)
    for release in ("bag", "tf"):
        with pytest.raises(ParameterError, match="only a sequence"):
            ReleaseSpec("staircase", 8.0, release=release, length=9, consistent=True)


def test_every_door_has_it(toy: Embedding) -> None:
    word = toy.words[0]
    spec = ReleaseSpec("staircase", 3.0, consistent=True)
    assert spec.name == "staircase, epsilon 3, consistent"
    assert ReleaseSpec.from_json(spec.to_json()) == spec
    assert spec.privatizer(toy).consistent
    blur = TextPrivatizer(Staircase(toy, epsilon=3.0), consistent=True, key=KEY)
    assert len(set(blur.fit_transform([f"{word} {word} {word} {word}"])[0].split())) == 1
