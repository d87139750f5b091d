"""Adapting an embedding: the adapted vectors, their provenance, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur.documents.fingerprints import among, fingerprint, fingerprints
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.store import load_embedding, open_store, write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError, ParameterError

WORDS = ["goal", "team", "vote", "law", "café", "do", "unseen", "the"]
TEXTS = ["Goal, goal; TEAM!", "the team's goal", "Vote 4 the law", "cafe\u0301 law", "don't vote"]
TOPICS = ["sport", "sport", "politics", "politics", "politics"]


def table(words: list[str] | None = None) -> Embedding:
    words = WORDS if words is None else words
    rng = np.random.default_rng(0)
    return Embedding(words, rng.standard_normal((len(words), 4)), name="toy")


def profile(adapted: Embedding, word: str, base: int = 4) -> Any:
    return adapted.vectors[adapted.id(word), base:].astype(np.float64)


def by_hand(counts: Sequence[float], share: Sequence[float], smoothing: float) -> Any:
    prior = smoothing * len(counts)
    odds = [
        math.log((n + prior * p) / ((sum(counts) + prior) * p))
        for n, p in zip(counts, share, strict=True)
    ]
    return np.array(odds) - np.mean(odds)


def test_the_profile_is_the_smoothed_centered_log_odds_of_texts() -> None:
    """politics: vote 2, the 1, law 2, café 1, don't (as do: its clitic goes) 1; sport: goal 2,
    team 2, the 1.
    """
    adapted = adapt_embedding(table(), TEXTS, {"topic": TOPICS}, beta=2.0, smoothing=0.5)
    share = [7 / 12, 5 / 12]
    assert adapted.dimension == 5  # two centered labels need one coordinate
    for word, counts in {"goal": [0, 2], "vote": [2, 0], "the": [1, 1], "café": [1, 0]}.items():
        odds = by_hand(counts, share, 0.5)
        (value,) = profile(adapted, word)
        assert abs(value) == pytest.approx(2.0 * np.linalg.norm(odds), rel=1e-5)
    assert np.sign(profile(adapted, "goal")) != np.sign(profile(adapted, "vote"))


def test_distances_are_those_of_the_whole_profile() -> None:
    """Dropping the coordinate to spare is an isometry."""
    topics = ["sport", "sport", "politics", "food", "politics"]
    adapted = adapt_embedding(table(), TEXTS, {"topic": topics}, smoothing=1.0)
    share = [2 / 12, 5 / 12, 5 / 12]  # food, politics, sport
    odds = {"goal": by_hand([0, 0, 2], share, 1.0), "law": by_hand([1, 1, 0], share, 1.0)}
    measured = np.linalg.norm(profile(adapted, "goal") - profile(adapted, "law"))
    assert measured == pytest.approx(3.0 * np.linalg.norm(odds["goal"] - odds["law"]), rel=1e-5)


def test_an_unseen_word_keeps_its_vector_times_alpha_and_has_profile_zero() -> None:
    base = table()
    adapted = adapt_embedding(base, TEXTS, {"topic": TOPICS}, alpha=0.7)
    expected = (np.float32(0.7) * base.vectors).astype(np.float32)
    np.testing.assert_array_equal(adapted.vectors[:, :4], expected)
    assert (profile(adapted, "unseen") == 0).all()
    assert (profile(adapted, "goal") != 0).all()
    assert adapted.words == base.words
    assert adapted.vectors.dtype == np.float32


def test_naming_the_labels_otherwise_changes_no_distance() -> None:
    topics = ["a", "a", "b", "c", "b"]
    other = [{"a": "z", "b": "c", "c": "a"}[topic] for topic in topics]
    left = adapt_embedding(table(), TEXTS, {"topic": topics})
    right = adapt_embedding(table(), TEXTS, {"topic": other})
    grams = [t.vectors.astype(np.float64) @ t.vectors.T.astype(np.float64) for t in (left, right)]
    np.testing.assert_allclose(grams[0], grams[1], atol=1e-5)


def test_several_columns_stand_one_after_the_other() -> None:
    tone = ["loud", "quiet", "loud", None, " "]
    both = adapt_embedding(table(), TEXTS, {"topic": TOPICS, "tone": tone})
    topic = adapt_embedding(table(), TEXTS, {"topic": TOPICS})
    np.testing.assert_array_equal(both.vectors[:, :5], topic.vectors)
    alone = adapt_embedding(table(), TEXTS, {"tone": tone})
    np.testing.assert_array_equal(both.vectors[:, 5:], alone.vectors[:, 4:])
    assert [c.name for c in both.adaptations[0].columns] == ["topic", "tone"]
    assert both.adaptations[0].columns[1].counts == {"loud": 2, "quiet": 1}
    assert both.adaptations[0].documents == 5


def test_more_than_a_hundred_labels_are_reduced_and_it_is_said() -> None:
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(240)]
    texts = [words[i] + " " + words[(i + 1) % 120] for i in range(240)]
    labels = [f"label {i % 120}" for i in range(240)]
    adapted = adapt_embedding(table(words), texts, {"topic": labels})
    assert adapted.dimension == 4 + 100
    column = adapted.adaptations[0].columns[0]
    assert (column.dimensions, len(column.counts)) == (100, 120)
    assert "120 labels projected onto 100 axes by truncated SVD" in column.reduction
    # A projection never lengthens a profile, and here it keeps most of it.
    whole = np.linalg.norm(by_hand([0.0] * 119 + [4.0], [1 / 120] * 120, 10.0)) * 3
    lengths = np.linalg.norm(adapted.vectors[:, 4:], axis=1)
    assert lengths.max() <= whole * 1.01


def test_provenance_and_corpus_survive_the_store(tmp_path: Path) -> None:
    base = table()
    adapted = adapt_embedding(base, TEXTS, {"topic": TOPICS}, name="mine")
    write_store(tmp_path / "mine.ink", adapted)
    for opened in (open_store(tmp_path / "mine.ink"), load_embedding(tmp_path / "mine.ink")):
        assert opened.provenance == adapted.provenance
        assert opened.adaptations == adapted.adaptations
        np.testing.assert_array_equal(opened.corpus, adapted.corpus)
        np.testing.assert_array_equal(opened.vectors, adapted.vectors)
        assert (opened.name, opened.sha256) == ("mine", adapted.sha256)
    (told,) = adapted.adaptations
    assert (told.base, told.base_sha256) == ("toy", base.sha256)
    assert (told.documents, told.skipped, told.words) == (5, 0, 7)
    assert (told.beta, told.smoothing) == (3.0, 10.0)
    centered = base.vectors - base.null_vector
    assert told.alpha * np.linalg.norm(centered, axis=1).mean() == pytest.approx(0.65, rel=1e-6)
    assert told.columns[0].counts == {"politics": 3, "sport": 2}


def test_a_narrower_table_still_knows_its_corpus(tmp_path: Path) -> None:
    adapted = adapt_embedding(table(), TEXTS, {"topic": TOPICS})
    write_store(tmp_path / "mine.ink", adapted)
    narrowed = [
        adapted.restricted(["goal", "law", "vote"], origin="a list"),
        load_embedding(tmp_path / "mine.ink", limit=3),
        load_embedding(tmp_path / "mine.ink", vocabulary=["goal", "law"]),
        load_embedding(tmp_path / "mine.ink", name="other"),
    ]
    for narrow in narrowed:
        np.testing.assert_array_equal(narrow.corpus, adapted.corpus)
        assert narrow.adaptations == adapted.adaptations


def _rewritten(path: Path, changes: dict[bytes, bytes]) -> None:
    """The file again, with other metadata."""
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source:
        batch = pa.ipc.open_file(source).get_batch(0)
    metadata = {**batch.schema.metadata, **changes}
    with pa.ipc.new_file(str(path), batch.schema.with_metadata(metadata)) as writer:
        writer.write_batch(batch.replace_schema_metadata(metadata))


def test_a_store_that_lost_its_corpus_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.ink"
    write_store(path, adapt_embedding(table(), TEXTS, {"topic": TOPICS}))
    for left in (b"", b"AAAA", b"not base64"):
        _rewritten(path, {b"inkblur.corpus": left})
        with pytest.raises(EmbeddingError, match="fingerprints of its corpus"):
            open_store(path)


def _header(path: Path) -> dict[str, Any]:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source:
        metadata = pa.ipc.open_file(source).schema.metadata
    header: dict[str, Any] = json.loads(metadata[b"inkblur"])
    return header


def test_versions_that_know_no_corpus_cannot_open_an_adapted_table(tmp_path: Path) -> None:
    """They read format 1 and no other."""
    path = tmp_path / "mine.ink"
    adapted = adapt_embedding(table(), TEXTS, {"topic": TOPICS})
    for made, number in ((table(), 1), (adapted, 3), (adapted.unguarded(), 3)):
        write_store(path, made)
        assert _header(path)["format"] == number
        assert open_store(path).sha256 == made.sha256


def test_an_adapted_table_of_format_1_is_still_read_with_its_corpus(tmp_path: Path) -> None:
    path = tmp_path / "mine.ink"
    adapted = adapt_embedding(table(), TEXTS, {"topic": TOPICS})
    write_store(path, adapted)
    _rewritten(path, {b"inkblur": json.dumps({**_header(path), "format": 1}).encode()})
    np.testing.assert_array_equal(open_store(path).corpus, adapted.corpus)


def test_adapting_twice_keeps_both_corpora_and_both_lines() -> None:
    once = adapt_embedding(table(), TEXTS[:4], {"topic": TOPICS[:4]})
    twice = adapt_embedding(once, ["vote goal", "law team", "law goal"], {"tone": ["x", "y", "x"]})
    assert [a.columns[0].name for a in twice.adaptations] == ["topic", "tone"]
    assert among([*TEXTS[:4], "VOTE; goal", "other"], twice.corpus).tolist() == [True] * 5 + [False]


@pytest.mark.parametrize("missing", [None, math.nan])  # as in a column of pandas
def test_texts_that_teach_nothing_are_counted(missing: float | None) -> None:
    texts = [*TEXTS, "", "goal", "xyzzy"]
    labels: Any = [*TOPICS, "sport", missing, "sport"]
    adapted = adapt_embedding(table(), texts, {"topic": labels})
    plain = adapt_embedding(table(), TEXTS, {"topic": TOPICS})
    assert (adapted.adaptations[0].documents, adapted.adaptations[0].skipped) == (5, 3)
    assert adapted.adaptations[0].corpus_sha256 == plain.adaptations[0].corpus_sha256
    np.testing.assert_array_equal(adapted.vectors, plain.vectors)
    assert not among(["", "goal", "xyzzy"], adapted.corpus).any()


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (TEXTS, {}, "at least one column"),
        (TEXTS, {"topic": TOPICS[:2]}, "5 texts need as many labels; the column 'topic' has 2"),
        (TEXTS, {"topic": ["sport"] * 5}, "'topic' has 1 label"),
        (TEXTS, {"topic": [None] * 5}, "'topic' has 0 labels"),
        (TEXTS, {"topic": list("abcde")}, "another label on each of its 5 texts"),
        (["xyzzy", "42"], {"topic": ["a", "b"]}, "no text of the corpus has a word that toy knows"),
        ("goal", {"topic": ["a"] * 4}, "a list of texts, not one text"),
    ],
)
def test_a_corpus_that_cannot_teach_is_an_error(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        adapt_embedding(table(), texts, labels)


@pytest.mark.parametrize("name", ["alpha", "beta", "smoothing"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_weights_are_finite_and_above_zero(name: str, value: float) -> None:
    weights: dict[str, Any] = {name: value}
    with pytest.raises(ParameterError, match=name):
        adapt_embedding(table(), TEXTS, {"topic": TOPICS}, **weights)


def test_fingerprints_see_through_layout_and_stop_words() -> None:
    same = ["The Café, and a goal.", "cafe\u0301 GOAL", "  café\n\ngoal 12 http://x.y/z :-)"]
    assert len({fingerprint(text) for text in same}) == 1
    assert fingerprint("goal café") != fingerprint("café goal")
    assert fingerprint("And so it was") not in (None, fingerprint("It was so"))
    assert fingerprint("") is fingerprint("12 !") is None
    assert fingerprints(["", "goal", "Goal!", "law"]).tolist() == sorted(
        [fingerprint("goal"), fingerprint("law")]  # type: ignore[type-var]
    )
