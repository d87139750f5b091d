"""Names of people: by default none of them enters a mechanism, and the word alone decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
from inkblur.documents.policies import is_name
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.rng import seeded_rng
from inkblur.types import NULL_ID
from tests.laws.catalogue import ALL, PRIVATE, label, make

# The commonest first names of women and men and the commonest last names in the United States
# that are not among the commonest English words as well, 36 each.
FIRST = [
    "mary",
    "patricia",
    "linda",
    "barbara",
    "elizabeth",
    "jennifer",
    "maria",
    "susan",
    "margaret",
    "dorothy",
    "lisa",
    "nancy",
    "karen",
    "betty",
    "helen",
    "sandra",
    "donna",
    "carol",
    "ruth",
    "sharon",
    "michelle",
    "laura",
    "sarah",
    "kimberly",
    "deborah",
    "jessica",
    "shirley",
    "cynthia",
    "angela",
    "melissa",
    "brenda",
    "amy",
    "anna",
    "rebecca",
    "virginia",
    "kathleen",
    "james",
    "john",
    "robert",
    "michael",
    "william",
    "david",
    "richard",
    "charles",
    "joseph",
    "thomas",
    "christopher",
    "daniel",
    "paul",
    "donald",
    "george",
    "kenneth",
    "steven",
    "edward",
    "brian",
    "ronald",
    "anthony",
    "kevin",
    "jason",
    "matthew",
    "gary",
    "timothy",
    "jose",
    "larry",
    "jeffrey",
    "frank",
    "scott",
    "eric",
    "stephen",
    "andrew",
    "raymond",
    "gregory",
]
LAST = [
    "smith",
    "johnson",
    "williams",
    "jones",
    "davis",
    "miller",
    "wilson",
    "moore",
    "taylor",
    "anderson",
    "thomas",
    "jackson",
    "harris",
    "martin",
    "thompson",
    "garcia",
    "martinez",
    "robinson",
    "clark",
    "rodriguez",
    "lewis",
    "lee",
    "walker",
    "allen",
    "hernandez",
    "wright",
    "lopez",
    "scott",
    "gonzalez",
    "nelson",
    "mitchell",
    "perez",
    "roberts",
    "turner",
    "phillips",
    "campbell",
]
COMMON_WORDS = [
    "will",
    "mark",
    "hope",
    "brown",
    "young",
    "king",
    "hill",
    "green",
    "white",
    "grant",
    "may",
    "rose",
    "grace",
    "bill",
]
TABLE = Embedding(
    ["doctor", "nurse", "john", "smith", "hope", "met"],
    [[0, 0], [0, 2], [2, 0], [2, 2], [4, 0], [0, 4]],
    name="six",
)


def test_108_common_names_are_known_as_names() -> None:
    assert len(FIRST) + len(LAST) == 108
    written = [form for name in FIRST + LAST for form in (name, f"{name}'s")]
    assert [word for word in written if not is_name(word)] == []


def test_names_that_dictionaries_write_with_a_capital_are_names_and_places_are_not() -> None:
    names = (
        "flores hughes bennett jenkins sullivan hamilton agnes maurice stella leah cohen schmidt"
    )
    places = "washington israel georgia houston paris china london berlin french"
    assert [name for name in names.split() if not is_name(name)] == []
    assert [place for place in places.split() if is_name(place)] == []


def test_names_that_are_common_words_go_through_the_mechanism() -> None:
    assert [word for word in COMMON_WORDS if is_name(word)] == []
    assert [word for word in STOP_WORDS if is_name(word)] == []


def test_names_are_found_however_they_are_written() -> None:
    reader = Privatizer(make(ALL[0], TABLE, 1.0), length="exact")
    for written in (
        "John",
        "JOHN",
        "john",
        "John's",
        "John’s",
        "josé",
        "José",
        "O'Brien",
        "O’Brien's",
    ):
        assert reader.ids(written).tolist() == [NULL_ID], written


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_the_output_does_not_depend_on_the_names(setting: tuple[str, dict[str, Any]]) -> None:
    """Names known to the vocabulary, too: they enter as one and the same point."""
    blur = Privatizer(make(setting, TABLE, 1.0), length="exact")
    texts = [f"Doctor {first} {last} met Hope." for first in FIRST[:9] for last in LAST[:9]]
    assert {tuple(blur.ids(text).tolist()) for text in texts} == {(0, NULL_ID, NULL_ID, 5, 4)}


def test_names_can_be_blurred_or_kept_and_the_guarantee_says_so() -> None:
    mechanism = make(PRIVATE[0], TABLE, 1.0)
    blurred = Privatizer(mechanism, policies=TokenPolicies.of(names="blur"), length="exact")
    assert blurred.ids("John Smith").tolist() == [2, 3]
    kept = Privatizer(mechanism, policies=TokenPolicies.of(names="keep"), length="exact")
    assert kept.release("John Smith", seeded_rng(1)).text == "john smith"
    assert any("names" in line for line in kept.guarantee.passed)
    assert not any("names" in line for line in blurred.guarantee.passed)


def test_tf_vectors_do_not_count_names() -> None:
    text = "Doctor John Smith met hope"
    assert len(Vectorizer(TABLE).composition(text)[0]) == 3
    assert len(Vectorizer(TABLE, names="blur").composition(text)[0]) == 5
    assert Vectorizer(TABLE).spec != Vectorizer(TABLE, names="blur").spec
    with pytest.raises(ParameterError, match="tf release"):
        Vectorizer(TABLE, names="keep")


words = st.sampled_from([*TABLE.words, "John", "Garcia", "the", "zork", "Mary's", "12"])


@given(st.lists(words, min_size=1, max_size=12), words, st.data())
def test_one_changed_word_changes_one_input(text: list[str], other: str, data: Any) -> None:
    """What makes the guarantee for one word one for changing it."""
    place = data.draw(st.integers(0, len(text) - 1))
    changed = [*text[:place], other, *text[place + 1 :]]
    blur = Privatizer(make(PRIVATE[0], TABLE, 1.0), length="exact")
    before, after = blur.ids(" ".join(text)), blur.ids(" ".join(changed))
    assert (before != after).sum() <= 1


@pytest.mark.parametrize("clitic", ["'s", "'ll", "’ll", "'d", "'ve", "'d've", "n't", "'zz"])
def test_no_clitic_brings_a_name_into_the_mechanism(clitic: str) -> None:
    """A word that the table lacks is looked up without its clitic: then that word decides."""
    table = Embedding(["linda", "cat", "dog"], [[0, 0], [0, 2], [2, 1]], name="three")
    vectorizer = Vectorizer(table)
    for written in (f"linda{clitic}", f"LINDA{clitic}"):
        assert Privatizer(make(PRIVATE[0], table, 1.0), length="exact").ids(written).tolist() == [
            NULL_ID
        ]
        assert vectorizer.composition(written)[0].tolist() == [NULL_ID]
    blurred = TokenPolicies.of(names="blur")
    counted = Privatizer(make(PRIVATE[0], table, 1.0), policies=blurred, length="exact").ids(
        "Linda'll"
    )
    assert counted.tolist() == [0]


@pytest.mark.parametrize("clitic", ["", "'s", "'ll", "’ll", "'d", "'ve", "'d've"])
def test_no_clitic_makes_a_name_an_unknown_word_that_is_kept(clitic: str) -> None:
    table = Embedding(["cat", "dog"], [[0, 2], [2, 1]], name="two")
    kept = TokenPolicies.of(keep=["unknown"])
    blur = Privatizer(make(PRIVATE[0], table, 1.0), policies=kept, length="exact")
    released = blur.release(f"Linda{clitic} O'Brien{clitic} zyx{clitic}", seeded_rng(1)).text
    assert "linda" not in released.lower()
    assert "brien" not in released.lower()
    assert released.endswith(f" zyx{clitic}")
