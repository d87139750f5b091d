"""Linking, singling out, inference and repetition find what is there, and nothing where nothing is."""

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.channel import ExactChannel, channel_of
from inkblur.evaluation.attacks.entering import unigram
from inkblur.evaluation.attacks.inference import infer
from inkblur.evaluation.attacks.linking import auc, linking, similarities
from inkblur.evaluation.attacks.reading import Reader
from inkblur.evaluation.attacks.repetition import repeated_words
from inkblur.evaluation.attacks.singling_out import single_out, single_out_by_channel
from inkblur.evaluation.measures.intervals import percentile_interval, resample_rows
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Array, Ids

from .made import corpus, table

pytest.importorskip("sklearn")


class EvenChannel:
    """Every word is as likely to come out as every other, whatever went in."""

    size, error = 50, 0.0

    def likelihood(self, ids: Ids, outs: Ids) -> Array:
        """1 / 50 everywhere."""
        return np.full((len(ids), len(outs)), 1 / self.size)


class TestLinking:
    def test_texts_of_one_hand_are_alike(self) -> None:
        texts, names, _ = corpus(each=8)
        authors = np.unique(names, return_inverse=True)[1]
        found = linking(texts, authors, confidence=0.95, seed=1)
        assert found.mean > 0.85
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.mean <= found.high
        assert found.over == "texts"

    def test_hands_that_do_not_differ_are_told_by_chance(self) -> None:
        texts, names, _ = corpus(each=12)
        authors = np.random.default_rng(1).permutation(np.unique(names, return_inverse=True)[1])
        assert linking(texts, authors, confidence=0.95, seed=1).mean == pytest.approx(0.5, abs=0.1)

    def test_the_area_counts_ties_half(self) -> None:
        draws = np.random.default_rng(2)
        higher, lower = 1 + draws.integers(0, 9, 40), draws.integers(0, 9, 30)
        pairs = (higher[:, None] > lower) + 0.5 * (higher[:, None] == lower)
        counts = [np.bincount(each, minlength=10) for each in (higher, lower)]
        assert auc(*counts) == pytest.approx(pairs.mean())

    def test_a_text_that_is_drawn_twice_counts_twice_in_the_interval(self) -> None:
        """By hand: left out the second time, texts would seem to differ less than they do."""
        texts, names, _ = corpus(each=6)
        authors = np.unique(names, return_inverse=True)[1]
        found = linking(texts, authors, confidence=0.8, seed=1)
        near = similarities(texts)
        places = np.triu_indices(len(texts), 1)
        areas = []
        for rows in resample_rows(200, len(texts), seeded_rng(1).child("bootstrap")):
            left, right = rows[places[0]], rows[places[1]]
            left, right = left[left != right], right[left != right]
            same, values = authors[left] == authors[right], near[left, right]
            higher, lower = values[same][:, None], values[~same]
            areas.append(float(((higher > lower) + 0.5 * (higher == lower)).mean()))
        ends = percentile_interval(np.array(areas), 0.8, units=len(texts))
        assert (found.low, found.high) == pytest.approx(ends)

    def test_what_cannot_be_linked_is_refused(self) -> None:
        for authors in ([0, 0], [0, 1]):
            with pytest.raises(ParameterError, match="two texts of one author"):
                linking(["a text", "one more"], authors, confidence=0.95, seed=1)


class TestSinglingOut:
    def test_copies_are_traced_and_noise_is_not(self) -> None:
        texts, _, _ = corpus(each=8)
        assert single_out(texts, texts)[0].all()
        blurred = ["nothing known here"] * len(texts)
        by_words, by_both = single_out(texts, blurred)
        assert by_words.mean() == pytest.approx(1 / len(texts))
        assert by_both is None

    def test_a_length_of_its_own_gives_a_text_away(self) -> None:
        originals = ["sea " * count for count in range(1, 9)]
        released = ["fog " * count for count in range(1, 9)]
        by_words, by_both = single_out(originals, released, range(1, 9))
        assert by_both is not None
        assert by_both.all()
        assert by_words.sum() == 1

    def test_the_channel_finds_a_text_of_which_no_word_can_be_read(self) -> None:
        """100 words at epsilon 1: the likeliest original is nearly always the true one."""
        mechanism, texts = self._made(epsilon=1.0)
        outs = [mechanism.replace(text, seeded_rng(2).child(str(row)))
                for row, text in enumerate(texts)]  # fmt: skip
        same = np.mean([(out == text).mean() for out, text in zip(outs, texts, strict=True)])
        found = single_out_by_channel(ExactChannel(mechanism, 50), texts, outs)
        assert same < 0.2
        assert found.mean() > 0.9

    def test_a_channel_that_shows_nothing_traces_nothing(self) -> None:
        """Every word comes out alike: no original is likelier than the others."""
        mechanism, texts = self._made(epsilon=1.0)
        outs = [mechanism.replace(text, seeded_rng(2)) for text in texts]
        assert not single_out_by_channel(EvenChannel(), texts, outs).any()

    def test_places_that_an_original_lacks_are_null_words(self) -> None:
        mechanism, _ = self._made(epsilon=6.0)
        channel = ExactChannel(mechanism, 50)
        originals = [np.array([3]), np.array([3, 7, 9])]
        found = single_out_by_channel(channel, originals, [np.array([3, 7]), np.array([3, 7, 9])])
        assert found.tolist() == [False, True]

    @staticmethod
    def _made(epsilon: float) -> tuple[Staircase, list[Ids]]:
        rng = np.random.default_rng(6)
        table = Embedding([f"w{'x' * i}" for i in range(50)], rng.normal(size=(50, 8)), name="made")
        mechanism = Staircase(table, epsilon=epsilon, tau=0.1, frequency_power=0.0)
        return mechanism, [rng.integers(0, 50, 100) for _ in range(20)]

    def test_one_text_and_texts_without_words_are_not_traced(self) -> None:
        for texts in (["a"], ["?", "!"]):
            with pytest.raises(ParameterError):
                single_out(texts, texts)


class TestInference:
    def test_a_secret_that_shows_is_told(self) -> None:
        texts, _, labels = corpus(each=10)
        other, _, secrets = corpus(each=10, seed=8)
        found = infer(texts, labels, other, secrets, seed=1)
        assert found.accuracy > 0.9
        assert found.chance == 0.5

    def test_one_that_does_not_show_is_not(self) -> None:
        texts, _, _ = corpus(each=30)
        coins = ["heads" if c else "tails" for c in np.random.default_rng(1).random(120) < 0.5]
        found = infer(texts[:80], coins[:80], texts[80:], coins[80:], seed=1)
        assert found.accuracy < 0.75

    def test_texts_without_a_secret_are_left_out(self) -> None:
        known = ["boat", "cloud", "boat sea", "what"]
        found = infer(
            known, ["sea", "sky", "sea", None], ["boat", "cloud", "hm"], ["sea", "fire", None],
            seed=1,
        )  # fmt: skip
        assert len(found.truth) == 1
        with pytest.raises(ParameterError, match="1 different value"):
            infer(known, ["sea"] * 4, known, ["sea"] * 4, seed=1)
        with pytest.raises(ParameterError, match="no test text"):
            infer(known, ["sea", "sky"] * 2, known, ["fire"] * 4, seed=1)


class TestRepetition:
    def test_words_that_come_out_twice_are_counted_text_by_text(self) -> None:
        true = ["fish swim in the sea", "the road is long", ""]
        released = ["fish fish the the tree tree", "road tree", "stone"]
        found = repeated_words(true, released)
        assert found.tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 0]]  # "the" is a stop word
        assert repeated_words(true, released, times=3).sum() == 0

    def test_chance_is_a_text_by_another_author(self) -> None:
        """In a file in order of authors the next text is mostly by the same one, on the same
        subject. Where none is by another, or no author is known, it is the next text.
        """
        true = ["wave fish", "wave tide", "wave boat", "rain wind", "rain cloud"]
        released = [f"{text} {text}" for text in true]
        assert repeated_words(true, released, authors=[0, 0, 0, 1, 1])[:, 2].sum() == 0
        plain = repeated_words(true, released)
        assert plain[:, 2].tolist() == [1, 1, 0, 1, 0]
        assert plain[:, :2].tolist() == [[2, 2]] * 5
        for authors in ([0] * 5, [-1] * 5):
            assert repeated_words(true, released, authors=authors).tolist() == plain.tolist()

    def test_each_further_release_gives_more_words_away(self) -> None:
        """Fresh noise each time; drawn again under one key, a text is the same and tells no more."""
        mechanism = Exponential(table(), epsilon=8.0)
        truth = mechanism.embedding.ids(" ".join(corpus(each=6)[0]).split())
        reader = Reader(channel_of(mechanism, seeded_rng(1)), unigram(mechanism.embedding))
        outs = np.stack([mechanism.replace(truth, seeded_rng(seed)) for seed in range(10)], axis=1)
        right = [
            float((reader.read([outs[:, :releases]])[0].words == truth).mean())
            for releases in (1, 2, 5, 10)
        ]
        assert right == sorted(right)
        assert right[-1] > right[0] + 0.15
        assert (mechanism.replace(truth, seeded_rng(0)) == outs[:, 0]).all()
