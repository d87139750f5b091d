"""A sentence transformer as a pool's encoder: a small one, made here."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur.errors import InputError, ParameterError
from inkblur.pools import PoolPrivatizer, PoolStaircase, build_pool
from inkblur.pools.encoder import TransformerEncoder
from inkblur.pools.pool import write_pool
from inkblur.rng import keyed_rng
from inkblur.types import Record
from tests.pools.made import WORDS
from tests.pools.test_building import LABELS, TABLE, TEXTS

pytest.importorskip("transformers")
pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel

    made = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(1)
    pieces = {"[UNK]": 0, **{word: place + 1 for place, word in enumerate(WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=40)  # as some models' files have it: must not count
    tokenizer.save(str(made / "tokenizer.json"))
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    kind: Any = BertModel
    kind(config).save_pretrained(made)
    return made


def test_texts_lie_where_the_model_puts_them(folder: Path) -> None:
    from transformers import BertModel

    encoder = TransformerEncoder(folder)
    found = encoder.directions(["Alpha beta", "?", "alpha [name] beta"])
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 0, 1])
    assert found[0] == pytest.approx(found[2])  # what was masked has no meaning
    import torch

    model: Any = BertModel.from_pretrained(folder)
    model.eval()
    with torch.inference_mode():
        last = model(torch.tensor([[1, 2]])).last_hidden_state[0].mean(dim=0).numpy()
    assert found[0] == pytest.approx(last / np.linalg.norm(last), abs=1e-5)
    assert (encoder.sums(["?"]) == 0).all()


def test_texts_are_encoded_on_one_thread_and_torch_has_its_own_afterwards(folder: Path) -> None:
    """The whole process was left with one; a thread that had used torch before kept its own."""
    import torch

    encoder, before, seen = TransformerEncoder(folder), torch.get_num_threads(), []
    encoder._model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))

    def encode() -> None:
        torch.set_num_threads(3)
        encoder.sums(["alpha"])
        seen.append(torch.get_num_threads())

    try:
        for _ in range(2):
            thread = Thread(target=encode)
            thread.start()
            thread.join()
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 3, 1, 3]


def test_half_a_character_is_read_as_a_sign(folder: Path) -> None:
    """JSON can spell one half of a surrogate pair; tokenizers refuse it."""
    broken, plain = TransformerEncoder(folder).sums(["alpha \ud83d beta", "alpha ? beta"])
    assert (broken == plain).all()


def test_a_pool_is_built_and_released_with_it(folder: Path, tmp_path: Path) -> None:
    encoder = TransformerEncoder(folder)
    pool = build_pool(TEXTS, TABLE, labels=LABELS, encoder=encoder, name="toy")
    assert pool.encoder == TransformerEncoder(folder).name
    blur = PoolPrivatizer(PoolStaircase(pool, TABLE, epsilon=4.0, encoder=encoder))
    records = [Record(str(i), text) for i, text in enumerate(("alpha beta", "", "sigma"))]
    together = blur.release_batch(records, keyed_rng(bytes(32)))
    alone = [blur.release_batch([r], keyed_rng(bytes(32))) for r in records]
    assert together.texts == tuple(each.texts[0] for each in alone)
    assert together.bases == tuple(each.bases[0] for each in alone)  # what the ledger counts by
    assert len(set(together.bases)) == 3
    path = tmp_path / "a.pool"
    write_pool(path, pool)
    again = inkblur.privatize(
        [r.text for r in records], epsilon=4.0, unit="text", pool=str(path),
        encoder=str(folder), rng=keyed_rng(bytes(32)),
    )  # fmt: skip
    assert set(again.texts) <= set(pool.texts)


def test_what_does_not_fit_is_refused(folder: Path, tmp_path: Path) -> None:
    encoder = TransformerEncoder(folder)
    pool = build_pool(TEXTS, TABLE, encoder=encoder, name="toy")
    with pytest.raises(InputError, match="encoded with a sentence transformer; give its folder"):
        PoolStaircase(pool, TABLE, epsilon=4.0)
    plain = build_pool(TEXTS, TABLE, name="plain")
    with pytest.raises(InputError, match="encoded with another encoder"):
        PoolStaircase(plain, TABLE, epsilon=4.0, encoder=encoder)
    with pytest.raises(InputError, match=r"config.json, .* is missing"):
        TransformerEncoder(tmp_path)
    with pytest.raises(ParameterError, match="go with"):
        inkblur.ReleaseSpec(epsilon=1.0, encoder=str(folder))


@pytest.mark.parametrize("damaged", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_model_is_one_line(folder: Path, tmp_path: Path, damaged: str) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        body = (folder / name).read_bytes()
        (tmp_path / name).write_bytes(body[: len(body) // 2] if name == damaged else body)
    with pytest.raises(InputError, match=f"no sentence transformer can be read from {tmp_path}: "):
        TransformerEncoder(tmp_path).directions(["alpha beta"])


def test_a_long_text_is_cut_to_what_the_model_takes(folder: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    kind: Any = BertModel
    config = BertConfig.from_pretrained(folder, max_position_embeddings=16)
    kind(config).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    short, long = TransformerEncoder(tmp_path).directions(["alpha " * 16, "alpha " * 40])
    assert short == pytest.approx(long)


def test_another_model_is_another_encoder(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert TransformerEncoder(tmp_path).name == TransformerEncoder(folder).name
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    assert TransformerEncoder(tmp_path).name != TransformerEncoder(folder).name
