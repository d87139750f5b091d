"""What repetition gives away, within a text, over an author's texts and over releases."""

import numpy as np
import pytest

from inkblur import Exponential, seeded_rng
from inkblur.evaluation.attacks.base import joined_by_author
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.language import unigram
from inkblur.evaluation.attacks.reading import Reader
from inkblur.evaluation.attacks.repetition import repeated_words

from .made import corpus, table


def test_words_that_come_out_twice_are_counted_text_by_text() -> None:
    true = ["fish swim in the sea", "the road is long", ""]
    released = ["fish fish the the tree tree", "road tree", "stone"]
    found = repeated_words(true, released)
    assert found.found.tolist() == [2, 0, 0]  # fish and tree; "the" is a stop word
    assert found.true.tolist() == [1, 0, 0]
    assert found.share == 0.5
    assert repeated_words(true, released, times=3).share == 0.0
    copied = repeated_words(["road road", "wave wave"], ["road road", "wave wave"])
    assert (copied.share, copied.chance) == (1.0, 0.0)


def test_chance_is_a_text_by_another_author() -> None:
    """In a file in order of authors the next text is mostly by the same one, on the same subject."""
    true = ["wave fish", "wave tide", "wave boat", "rain wind", "rain cloud"]
    released = [f"{text} {text}" for text in true]
    assert repeated_words(true, released, authors=[0, 0, 0, 1, 1]).chance == 0.0
    assert repeated_words(true, released).chance == 0.3


def test_where_no_text_is_by_another_author_chance_is_the_next_text() -> None:
    """So it is where no author is known: one text for all would be its own chance, too."""
    true = ["wave fish", "wave tide", "rain boat", "rain wind"]
    released = [f"{text} {text}" for text in true]
    for authors in ([0] * 4, [-1] * 4):
        found = repeated_words(true, released, authors=authors)
        assert found.by_chance.tolist() == repeated_words(true, released).by_chance.tolist()
        assert found.by_chance.tolist() == [1, 0, 1, 0]
        assert found.found.tolist() == [2] * 4


def test_an_authors_texts_are_read_together() -> None:
    texts, authors = ["wave", "rain", "fish", "nobody's"], [3, 1, 3, -1]
    assert joined_by_author(texts, authors) == ["rain", "wave\nfish"]


def test_each_further_release_gives_more_words_away() -> None:
    """Fresh noise each time; drawn again under one key, a text is the same and tells no more."""
    mechanism = Exponential(table(), epsilon=8.0)
    texts, _, _ = corpus(each=6)
    truth = mechanism.ids(" ".join(texts).split())
    reader = Reader(channel_of(mechanism, seeded_rng(1)), unigram(mechanism.embedding))
    outs = np.stack([mechanism.replace(truth, seeded_rng(seed)) for seed in range(10)], axis=1)
    right = [
        float((reader.read([outs[:, :releases]])[0].words == truth).mean())
        for releases in (1, 2, 5, 10)
    ]
    assert right == sorted(right)
    assert right[-1] > right[0] + 0.15
    again = mechanism.replace(truth, seeded_rng(0))
    assert (again == outs[:, 0]).all()
    assert right[0] == pytest.approx((reader.read([again[:, None]])[0].words == truth).mean())


def test_one_text_has_no_other_to_compare_with() -> None:
    """Its own words would make the attack look as if it found nothing."""
    found = repeated_words(["the fish swam"], ["fish boat fish"])
    assert found.share == 1.0
    assert found.chance is None
