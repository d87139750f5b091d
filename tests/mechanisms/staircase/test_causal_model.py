"""A causal language model as the base: a tiny one, made on the spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from inkblur import Embedding, Privatizer, keyed_rng, make_mechanism  # noqa: E402
from inkblur.errors import InputError  # noqa: E402
from inkblur.mechanisms.staircase import causal_model  # noqa: E402
from inkblur.mechanisms.staircase.causal_model import CausalModel  # noqa: E402
from inkblur.mechanisms.staircase.fluent import SCALE  # noqa: E402

WORDS = ["the", "soup", "was", "hot", "waiter", "unbelievably", "kind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one layer, and a tokenizer that cuts long words into several tokens."""
    path = tmp_path_factory.mktemp("model")
    made = tokenizers.ByteLevelBPETokenizer()
    corpus = ["the soup was hot and the waiter was kind. the soup, the waiter!"] * 50
    made.train_from_iterator(corpus, vocab_size=290, special_tokens=["<s>"])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made._tokenizer, bos_token="<s>"
    ).save_pretrained(path)
    transformers.set_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=1024,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def table() -> Embedding:
    vectors = np.random.default_rng(2).standard_normal((len(WORDS), 4))
    return Embedding(WORDS, vectors, name="seven", counts=np.arange(len(WORDS), 0, -1))


@pytest.fixture(scope="module")
def model(folder: Path, table: Embedding) -> CausalModel:
    return CausalModel(table, str(folder))


def test_some_words_have_several_tokens(model: CausalModel) -> None:
    sizes = {len(tokens) for tokens in model.tokens}
    assert len(sizes) > 1


@pytest.mark.parametrize("context", [512, 8], ids=["one context", "starting again"])
def test_reading_on_is_reading_it_all(
    model: CausalModel, context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts read together, word by word, with padding, as each one read alone."""
    monkeypatch.setattr(causal_model, "_CONTEXT", context)
    texts = [[0, 5, 2, 3, 5, 1], [5, 5, 1, 1, 0, 2], [3, 0]]
    together = model.begin(3)
    seen = []
    for position in range(6):
        going = sum(len(text) > position for text in texts)
        together.keep(going)
        seen.append(together.shares())
        together.add(np.array([text[position] for text in texts[:going]]))
    if context == 8:  # texts start again at different words when they are read together
        assert all(len(shares) for shares in seen)
        return
    for row, text in enumerate(texts):
        alone = model.begin(1)
        for position, word in enumerate(text):
            difference = np.abs(alone.shares()[0] - seen[position][row])
            assert difference.max() <= 1  # the last bits of floats may round apart
            alone.add(np.array([word]))


def test_shares_are_the_models_own_for_words_of_one_token(model: CausalModel) -> None:
    import torch

    reading = model.begin(1)
    with torch.inference_mode():
        logits = model.model(torch.tensor([[model.start]])).logits[0, -1]
    first = [tokens[0] for tokens in model.tokens]
    single = [i for i in range(len(WORDS)) if first.count(first[i]) == 1]
    likely = logits.softmax(-1)[first].numpy() * model.share.numpy()
    shares = reading.shares()[0]
    expected = SCALE * likely / likely.sum()
    assert len(single) > 2
    assert np.abs(shares - expected)[single].max() <= 1


def test_a_release_replays_and_reads_as_text(table: Embedding, folder: Path) -> None:
    mechanism = make_mechanism(
        "staircase", table, epsilon=4.0, tau=0.3, base="lm", language_model=str(folder)
    )
    blur = Privatizer(mechanism)
    key = bytes(range(32))
    first = blur.release("The soup was hot. The waiter was kind!", keyed_rng(key)).text
    again = blur.release("The soup was hot. The waiter was kind!", keyed_rng(key)).text
    assert first == again
    assert first[0].isupper()
    assert first.endswith(".")
    assert "language model is public" in " ".join(blur.guarantee.assumptions)


@pytest.mark.parametrize("place", ["nowhere", "empty"])
def test_a_model_that_cannot_be_read_is_an_error_of_one_line(
    place: str, table: Embedding, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="language model") as wrong:
        CausalModel(table, str(tmp_path / place))
    assert "\n" not in str(wrong.value)
