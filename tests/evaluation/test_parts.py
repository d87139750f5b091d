"""Public texts in four parts: nothing is learned from and judged, in either file."""

from __future__ import annotations

from collections import Counter

import pytest

from inkblur.documents.fingerprints import fingerprint, fingerprints
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.tuning.four_way_split import FourWaySplit, PublicTexts, make_parts

from .made import corpus


def one_file(each: int = 20) -> PublicTexts:
    texts, names, labels = corpus(each=each)
    return PublicTexts(texts, names, labels)


def two_files() -> list[PublicTexts]:
    texts, _, labels = corpus(each=20, seed=8)
    others, names, _ = corpus(each=10, seed=9)
    return [PublicTexts(texts, labels=labels), PublicTexts(others, names)]


def marks(texts: tuple[str, ...]) -> set[int | None]:
    return {fingerprint(text) for text in texts}


def assert_apart(parts: FourWaySplit) -> None:
    learned = marks(parts.validation.train.texts)
    assert parts.validation.train.texts == parts.held_out.train.texts
    chosen, held = marks(parts.validation.test.texts), marks(parts.held_out.test.texts)
    assert not learned & chosen
    assert not (learned | chosen) & held


@pytest.mark.parametrize("files", [[one_file()], two_files()], ids=["one", "two"])
def test_parts_share_no_text(files: list[PublicTexts]) -> None:
    parts = make_parts(files, seed=4)
    assert_apart(parts)
    for data in (parts.validation, parts.held_out):
        assert (data.test.authors != DONT_KNOW).any()
        assert any(label is not None for label in data.test.labels)
        # No attacker studies what teaches the metric: it could not be released.
        taught = marks(parts.taught)
        pairs = zip(data.train.texts, data.train.authors, strict=True)
        studied = {fingerprint(text) for text, author in pairs if author != DONT_KNOW}
        assert not taught & studied
    total = sum(len(file.texts) for file in files)
    held = len(parts.held_out.test)
    assert total == len(parts.validation.train) + len(parts.validation.test) + held + parts.left_out


def test_the_same_text_stays_in_one_part_whichever_file_has_it() -> None:
    labeled, authored = two_files()
    again = [text.upper() + "!" for text in authored.texts[::2]]  # other capitals hide nothing
    label = ["sea", "sky"] * (len(again) // 2)
    both = PublicTexts([*labeled.texts, *again], labels=[*(labeled.labels or ()), *label])
    parts = make_parts([both, authored], seed=4)
    assert parts.left_out > len(again) // 3
    assert_apart(parts)


def test_what_the_embedding_learned_from_is_left_out() -> None:
    files = two_files()
    learned = files[1].texts[:10]
    parts = make_parts(files, seed=4, learned=fingerprints(learned))
    everything = {
        *parts.validation.train.texts,
        *parts.validation.test.texts,
        *parts.held_out.test.texts,
    }
    assert not marks(tuple(learned)) & marks(tuple(everything))


def test_every_author_and_label_is_in_every_part() -> None:
    parts = make_parts(two_files(), seed=4, test_share=0.2)
    for part in (parts.validation.test, parts.held_out.test):
        assert Counter(part.authors.tolist()).keys() == {DONT_KNOW, 0, 1, 2, 3}
        assert set(part.labels) == {None, "sea", "sky"}
    assert set(parts.taught_labels) == {"sea", "sky"}


def test_the_seed_decides() -> None:
    first, again, other = (make_parts([one_file()], seed=seed) for seed in (1, 1, 2))
    assert first.held_out.test.texts == again.held_out.test.texts != other.held_out.test.texts


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_as_many_are_held_out_as_choose(share: float) -> None:
    with pytest.raises(ParameterError, match=r"between 0 and 0\.5"):
        make_parts([one_file()], seed=1, test_share=share)


def test_too_few_texts_are_refused() -> None:
    texts, names, labels = corpus(each=2)
    with pytest.raises(ParameterError, match="at least 3"):
        make_parts([PublicTexts(texts, names, labels)], seed=1)
    with pytest.raises(ParameterError, match="no text with a label is left for the validation"):
        make_parts([PublicTexts(*corpus(each=20)[:2])], seed=1)
