"""fastText as a classifier: the same each time, from the vectors that it was given."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from inkblur import Embedding
from inkblur.errors import InputError
from reproduction import fasttext_model
from reproduction.fasttext_model import fasttext_labels

SKY, SEA = ["rain", "wind", "cloud", "storm", "moon"], ["wave", "fish", "boat", "tide", "salt"]


@pytest.mark.parametrize("pretrained", [False, True])
def test_clear_topics_are_told_the_same_each_time(pretrained: bool) -> None:
    pytest.importorskip("fasttext", reason="needs fasttext-numpy2")
    rng = np.random.default_rng(3)
    labels = [("sky", "sea")[i % 2] for i in range(60)]
    texts = [list(rng.choice(SKY if label == "sky" else SEA, 8)) for label in labels]
    table = Embedding([*SKY, *SEA], rng.normal(size=(10, 5)), name="toy") if pretrained else None
    runs = [
        fasttext_labels(texts[:40], labels[:40], [*texts[40:], []], seed=1, embedding=table)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert np.mean([a == b for a, b in zip(runs[0], labels[40:], strict=False)]) >= 0.9


def test_words_start_from_the_pretrained_vectors(tmp_path: Path) -> None:
    table = Embedding(["rain", "wave", "moon"], [[1, 0], [0, 1], [1, 1]], name="toy")
    fasttext_model._write(tmp_path / "v", [["wave", "rain"], ["fog"]], 2, table, 1)
    rows = [line.split() for line in (tmp_path / "v").read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in rows] == ["4", "</s>", "fog", "rain", "wave"]
    assert rows[3] == ["rain", "1", "0"]
    assert rows[4] == ["wave", "0", "1"]
    assert all(0 < abs(float(number)) <= 0.5 for number in rows[2][1:])


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(InputError, match="fasttext-numpy2"):
        fasttext_labels([["x"], ["y"]], ["a", "b"], [["x"]], seed=1)
