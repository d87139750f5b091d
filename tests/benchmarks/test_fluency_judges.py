"""A causal model as a judge of fluency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks.fluency_judges import CausalJudge
from inkblur.evaluation import open_model
from tests.tiny_model import save_tiny_model


def test_texts_judged_together_are_judged_as_each_alone(tmp_path: Path) -> None:
    """Each word by all of its tokens, after everything before it."""
    import torch

    words = ["the", "soup", "was", "unbelievably", "hot", "and", "the", "waiter", "kind"]
    save_tiny_model(tmp_path, [" ".join(words)] * 50, spread=0.5)
    judge, opened = CausalJudge(str(tmp_path)), open_model(str(tmp_path))
    texts = [" ".join(words[start : start + size]) for size in (1, 3, 9) for start in range(5)]
    for text, logs in zip(texts, judge.logs(texts), strict=True):
        tokens = opened.tokens(text.split())
        read = [opened.start, *(token for word in tokens for token in word)]
        with torch.inference_mode():
            every = opened.network(torch.tensor([read])).logits[0].log_softmax(-1)
        each = [float(every[place, token]) for place, token in enumerate(read[1:])]
        ends = np.cumsum([len(word) for word in tokens]).tolist()
        own = [sum(each[end - len(word) : end]) for word, end in zip(tokens, ends, strict=True)]
        assert logs == pytest.approx(own, rel=1e-4)
