"""A causal language model as the base: a tiny one, made on the spot."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

from inkblur import (
    Embedding,
    Privatizer,
    ReleaseSpec,
    keyed_rng,
    make_mechanism,
    privatize_file,
)
from inkblur.embeddings.store import write_store
from inkblur.errors import InputError, ParameterError
from inkblur.ledger import open_ledger
from inkblur.mechanisms.staircase import causal_model, device_draw, making, model_files
from inkblur.mechanisms.staircase.causal_model import CausalModel, TokenReading, WrittenForm
from inkblur.mechanisms.staircase.device_draw import DeviceDraw
from inkblur.mechanisms.staircase.expectation import SCALE, Expected
from inkblur.mechanisms.staircase.fluent import FluentStaircase
from inkblur.mechanisms.staircase.model_files import open_model
from inkblur.mechanisms.staircase.nearness import near_words
from inkblur.types import NULL_ID, Ids
from tests.laws.test_fluent import SHAPES, ToyModel, dense
from tests.tiny_model import save_tiny_model, save_tokenizer, sizes, spacing_tokenizer

WORDS = ["the", "soup", "was", "hot", "waiter", "unbelievably", "kind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers, and a tokenizer that cuts long words into several tokens."""
    path = tmp_path_factory.mktemp("model")
    texts = ["the soup was hot and the waiter was kind. the soup, the waiter!"] * 50
    save_tiny_model(path, texts, spread=0.5)  # so that what it read shows
    return path


@pytest.fixture(scope="module")
def table() -> Embedding:
    vectors = np.random.default_rng(2).standard_normal((len(WORDS), 4))
    return Embedding(WORDS, vectors, name="seven", counts=np.arange(len(WORDS), 0, -1))


@pytest.fixture(scope="module")
def model(folder: Path, table: Embedding) -> CausalModel:
    """Its own probabilities, without a prompt."""
    return CausalModel(table, str(folder)).expecting(trust=1.0, prompt="")


UNPACK = """
import os, sys, types
from pathlib import Path
import transformers
from inkblur.mechanisms.staircase import model_files

place, version, killed = sys.argv[1:]

def opened(kind):
    return types.SimpleNamespace(from_pretrained=lambda *_, **__: kind.from_pretrained(place))

def save(network, folder):
    network.save_pretrained(folder)
    if killed == "killed":
        os.kill(os.getpid(), 9)

library = types.SimpleNamespace(
    __version__=version,
    AutoTokenizer=opened(transformers.AutoTokenizer),
    AutoModelForCausalLM=opened(transformers.AutoModelForCausalLM),
    PreTrainedModel=types.SimpleNamespace(save_pretrained=save),
)
made = model_files._unpacked(Path(place, "model.gguf"), "5" * 64, library)
print(sorted(path.name for path in made.parent.iterdir() if path.is_dir()))
"""


def unpack(folder: Path, cache: Path, version: str, end: str) -> subprocess.CompletedProcess[str]:
    """Unpack a model in a process that ends so; what it prints is what lies in the cache then."""
    return subprocess.run(
        [sys.executable, "-c", UNPACK, str(folder), version, end],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )


def test_what_a_killed_process_had_unpacked_is_removed(folder: Path, tmp_path: Path) -> None:
    """A model takes half a gigabyte: it must not lie in the cache once for every crash."""
    for end in ("killed", "killed", "finished"):
        done = unpack(folder, tmp_path, "5.1", end)
        assert done.returncode == (0 if end == "finished" else -signal.SIGKILL), done.stderr
    assert done.stdout.strip() == str(["5" * 64 + "-5.1"])


def test_another_version_of_transformers_unpacks_anew(folder: Path, tmp_path: Path) -> None:
    """One that reads a file wrongly must not decide how the next one reads it."""
    for version in ("5.1", "5.2"):
        done = unpack(folder, tmp_path, version, "finished")
        assert done.stdout.strip() == str([f"{'5' * 64}-{version}"]), done.stderr


def test_some_words_have_several_tokens(model: CausalModel) -> None:
    sizes = {len(tokens) for tokens in model.inside.tokens}
    assert len(sizes) > 1


def parts_of(reading: TokenReading, text: int) -> Ids:
    """What is expected next in one text, by word."""
    ((words, parts),) = reading.expected(np.array([text]))
    table = np.zeros(len(WORDS), dtype=np.int64)
    table[words] = parts
    return table


@pytest.mark.parametrize("prompt", ["", "the waiter was hot."], ids=["no prompt", "a prompt"])
@pytest.mark.parametrize("context", [256, 8], ids=["one context", "starting again"])
def test_texts_read_together_are_read_as_each_alone(
    model: CausalModel, context: int, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of one token and of several, so that the texts do not keep step; they end apart."""
    monkeypatch.setattr(causal_model, "_CONTEXT", context)
    model = model.expecting(trust=0.7, prompt=prompt)
    texts = [[0, 5, 2, 3, 5, 1], [5, 5, 1, 1, 0, 2], [3, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1]]

    def read(chosen: list[int]) -> dict[tuple[int, int], Ids]:
        reading = model.begin(len(chosen))
        places = [0] * len(chosen)
        seen = {}
        while len(waiting := reading.waiting()):
            for text in waiting.tolist():
                seen[chosen[text], places[text]] = parts_of(reading, text)
            words = [texts[chosen[text]][places[text]] for text in waiting.tolist()]
            reading.add(waiting, np.array(words))
            for text in waiting.tolist():
                places[text] += 1
                if places[text] == len(texts[chosen[text]]):
                    reading.end(np.array([text]))
        return seen

    together = read([0, 1, 2, 3])
    assert len(together) == sum(map(len, texts))
    for text in range(4):
        for place, parts in read([text]).items():
            difference = np.abs(parts - together[place])
            assert difference.max() <= 1  # the last bits of floats may round apart


def test_the_prompt_is_a_part_of_the_context(
    model: CausalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal_model, "_CONTEXT", 32)
    reading = model.expecting(trust=1.0, prompt="the waiter was hot.").begin(1)
    longest = 0
    for word in [0, 1, 2, 3] * 10:
        reading.waiting()
        reading.add(np.array([0]), np.array([word]))
        longest = max(longest, reading._past.get_seq_length())
    assert longest == 32  # never more, however long the text


def test_a_reading_that_has_ended_keeps_nothing(model: CausalModel) -> None:
    """Else the next group of texts would be read beside what was kept of the last."""
    reading = model.begin(2)
    reading.waiting()
    assert reading._past is not None
    reading.end(np.array([0, 1]))
    assert not len(reading.waiting())
    assert reading._past is None


def test_a_prompt_may_be_longer_than_the_context(
    model: CausalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that end alike, no more than the end is looked back on."""
    monkeypatch.setattr(causal_model, "_CONTEXT", 16)
    seen = []
    for start in ("the", "hot hot hot"):
        reading = model.expecting(trust=1.0, prompt=f"{start}{' waiter' * 12}").begin(1)
        reading.waiting()
        seen.append(parts_of(reading, 0))
    assert np.abs(seen[0] - seen[1]).max() <= 1


@pytest.mark.parametrize("prompt", ["", "the waiter was hot."])
def test_a_tokenizer_may_put_a_space_of_its_own_before_a_text(
    folder: Path, table: Embedding, tmp_path: Path, prompt: str
) -> None:
    """Else every word and mark begins with that space, and the model tells none from another."""
    texts = ["the soup was hot and the waiter was kind. the soup, the waiter! The Soup?;:"] * 50
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    save_tokenizer(tmp_path, spacing_tokenizer(texts, 200))
    model = CausalModel(table, str(tmp_path)).expecting(prompt=prompt)
    opened = open_model(str(tmp_path))
    firsts = {tokens[0] for tokens in model.inside.tokens}
    assert len(firsts) > len(WORDS) // 2
    assert len(model.marks) == 6
    reading = model.begin(1)
    shown = f"{prompt} " if prompt else ""
    for word in [1, 2, 3, 4, 6]:
        reading.waiting()
        shown += reading.add(np.array([0]), np.array([word]))[0]
    reading.waiting()
    assert reading._history[0] == [model.start, *opened.begun(shown + reading._mark[0])]


@pytest.mark.parametrize("prompt", ["", "the waiter was hot."])
def test_the_model_reads_what_is_written(model: CausalModel, prompt: str) -> None:
    """What it expects after some words is what the network says after the text as it stands."""
    import torch

    model = model.expecting(trust=1.0, prompt=prompt)
    reading = model.begin(1)
    shown = ""
    for word in [5, 1, 2, 3]:
        reading.waiting()
        (piece,) = reading.add(np.array([0]), np.array([word]))
        shown += piece
    reading.waiting()
    mark = reading._mark[0]
    opened = open_model(model.name)
    tokens = opened.tokens([shown + mark])[0]
    if prompt:
        tokens = opened.begun(prompt) + tokens
    with torch.inference_mode():
        logits = model.network(
            torch.tensor([[model.start, *tokens]], device=model.network.device)
        ).logits[:, -1]
    form = model.beginning if mark in (".", "?", "!") else model.inside
    likely = form.likely(logits[:, model.next_tokens].softmax(-1))[0].cpu().numpy()
    expected = SCALE * likely / likely.sum()
    assert np.abs(parts_of(reading, 0) - expected).max() <= 1


def test_a_text_begins_with_a_capital_and_is_expected_so(model: CausalModel) -> None:
    import torch

    reading = model.begin(1)
    reading.waiting()
    with torch.inference_mode():
        logits = model.network(torch.tensor([[model.start]], device=model.network.device)).logits[
            :, -1
        ]
    scored = logits[:, model.next_tokens].softmax(-1)
    likely = model.beginning.likely(scored)[0].cpu().numpy()
    other = model.inside.likely(scored)[0].cpu().numpy()
    parts = parts_of(reading, 0)
    assert np.abs(parts - SCALE * likely / likely.sum()).max() <= 1
    assert np.abs(parts - SCALE * other / other.sum()).max() > 1  # the two forms differ here
    assert reading.add(np.array([0]), np.array([1])) == ["Soup"]


def test_probabilities_are_the_models_own_for_words_of_one_token(model: CausalModel) -> None:
    shares = model.inside.share.cpu().numpy()
    first = model.inside.first.cpu().numpy()
    for token in set(first.tolist()):
        assert shares[first == token].sum() == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1.0, 1e3, 1e6]))
def test_every_word_that_rounds_to_a_part_has_it(seed: int, largest: float) -> None:
    """However many words begin with a token, and however unlike their frequencies are."""
    import torch

    random = np.random.default_rng(seed)
    words, tokens = 400, 12
    firsts = random.integers(0, tokens - 2, words)  # two tokens begin no word
    counts = np.exp(random.random(words) * np.log(largest)).astype(np.int64)
    table = Embedding([f"w{i}" for i in range(words)], np.eye(words, 2), name="made", counts=counts)
    form = WrittenForm([[int(first)] for first in firsts], table, range(tokens), "cpu")
    logits = torch.from_numpy(6 * random.standard_normal((5, tokens))).float()
    rows, found, parts = form.parts(logits, 1.0)
    table_of_parts = torch.zeros(5, words, dtype=torch.int64)
    table_of_parts[rows, found] = parts
    begins = torch.zeros(tokens, dtype=torch.bool)
    begins[torch.from_numpy(firsts)] = True
    likely = form.likely(logits.masked_fill(~begins, -torch.inf).softmax(-1))
    assert torch.equal(table_of_parts, (likely * SCALE).round().long())


@pytest.mark.parametrize("trust", [1.0, 0.5, 0.1])
def test_a_model_is_trusted_in_part(model: CausalModel, table: Embedding, trust: float) -> None:
    """First tokens in proportion to P^trust f^(1 - trust), f being that of their words."""
    import torch

    trusted = model.expecting(trust=trust, prompt="")
    reading = trusted.begin(1)
    reading.waiting()
    reading.add(np.array([0]), np.array([0]))
    reading.waiting()
    with torch.inference_mode():
        read = torch.tensor([[model.start, *model.beginning.tokens[0]]])
        logits = model.network(read.to(model.network.device)).logits[0, -1]
    likely = logits.double().softmax(-1).cpu().numpy()
    first = np.array([tokens[0] for tokens in model.inside.tokens])
    assert len(set(first.tolist())) == len(WORDS)  # else there is nothing to be trusted with
    counts = np.asarray(table.counts, dtype=float)
    by_token = {token: counts[first == token].sum() for token in first.tolist()}
    weights = np.array(
        [
            likely[token] ** trust
            * (by_token[token] / counts.sum()) ** (1 - trust)
            * count
            / by_token[token]
            for token, count in zip(first.tolist(), counts, strict=True)
        ]
    )
    assert np.abs(parts_of(reading, 0) - SCALE * weights / weights.sum()).max() <= 1


def test_another_trust_or_prompt_is_another_model(model: CausalModel, table: Embedding) -> None:
    """Replay and the ledger tell models apart by their fingerprints."""
    others = [
        model,
        model.expecting(trust=0.5, prompt=""),
        model.expecting(trust=1.0, prompt="the"),
        model.expecting(trust=1.0, prompt="the soup"),
    ]
    made = [FluentStaircase(table, epsilon=2.0, tau=0.1, model=each, cache=None) for each in others]
    assert len({mechanism.spec for mechanism in made}) == len(others)
    assert (model.trust, model.prompt) == (1.0, "")  # as it was


@pytest.mark.parametrize("trust", [0.0, -1.0, 1.1, float("nan")])
def test_a_trust_outside_its_range_is_refused(model: CausalModel, trust: float) -> None:
    with pytest.raises(ParameterError, match="trust"):
        model.expecting(trust=trust)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.5, 3.0, 8.0]), st.sampled_from(SHAPES))
def test_many_draws_at_a_time_draw_what_one_does(
    seed: int, epsilon: float, shape: dict[str, float]
) -> None:
    random = np.random.default_rng(seed)
    words, texts = 60, 40
    vectors = random.integers(-2, 3, (words, 3))  # many ties
    table = Embedding(
        [f"w{i}" for i in range(words)], vectors, name="made", counts=random.integers(1, 99, words)
    )
    mechanism = FluentStaircase(
        table, epsilon=epsilon, tau=0.05, model=ToyModel(words), cache=None, **shape
    )
    bases = mechanism.bases
    many = DeviceDraw(bases, mechanism.fixed.grid, "cpu")
    parts = random.integers(0, 9, (texts, words)) * (random.random((texts, words)) < 0.2)
    parts[:, 3] += 1
    expected = dense(parts)
    entering = random.integers(-1, words, texts)
    bits = random.integers(0, 2**64, texts, dtype=np.uint64)
    steps, keys = mechanism.steps, mechanism.fixed.grid.keys(entering)
    for row, (x, (own, shares)) in enumerate(zip(entering.tolist(), expected, strict=True)):
        # Every second number points to the first unit of some word, where it is easy to be off.
        if row % 2 and x != NULL_ID:
            base = bases.units(own, shares)
            _, near = near_words(bases.order(keys[row], x, own, shares), x, base, steps.near)
            ends, cut = np.cumsum(near)[:-1].tolist(), steps.step * steps.near
            far = cut + int(np.cumsum(base)[words // 2]) * steps.low
            bits[row] = steps.step * ends[len(ends) // 2] if ends and row % 4 == 1 else far
    one_by_one = mechanism.draw(expected, entering, bits).tolist()
    for first in (2, 4096):  # nearest words looked at first: too few, and enough
        held = random.integers(1, words * texts)  # so many texts at a time, or all
        with (
            patch.object(device_draw, "_FIRST", first),
            patch.object(device_draw, "_HELD", held),
        ):
            assert many.words(expected, entering, bits).tolist() == one_by_one


def test_the_default_model_is_opened_once(
    folder: Path, table: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name or by none: a reader with the same model would need its memory twice."""
    monkeypatch.setattr(model_files, "BUNDLED", str(folder))
    assert making.causal_model(table, "") is making.causal_model(table, str(folder))


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


def test_weights_that_are_not_fingerprinted_are_not_read(folder: Path, tmp_path: Path) -> None:
    """Otherwise every model in torch's own format would have the hash of nothing."""
    import torch
    from safetensors.torch import load_file

    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    torch.save(load_file(folder / "model.safetensors"), tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"no weights in a \.safetensors file"):
        open_model(str(tmp_path))
    (tmp_path / "adapter.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    with pytest.raises(InputError, match="no language model can be read"):
        open_model(str(tmp_path))


@pytest.mark.parametrize("kind", ["Rwkv", "Mamba", "Bert"])
def test_a_network_that_does_not_look_back_is_refused(
    kind: str, folder: Path, table: Embedding, tmp_path: Path
) -> None:
    """One would have seen the last token alone and said nothing; others failed at the first text."""
    library: Any = importlib.import_module("transformers")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    config = getattr(library, f"{kind}Config")(**sizes(290), initializer_range=0.5)
    head = "BertLMHeadModel" if kind == "Bert" else f"{kind}ForCausalLM"
    getattr(library, head)(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=f"{kind}.*cannot be read token by token") as wrong:
        CausalModel(table, str(tmp_path))
    assert "\n" not in str(wrong.value)


def test_a_model_may_be_a_part_of_one_that_also_sees(
    folder: Path, table: Embedding, tmp_path: Path
) -> None:
    """The sizes of its text part do not stand where those of other models do."""
    library: Any = importlib.import_module("transformers")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    text = {**sizes(290), "num_key_value_heads": 2, "head_dim": 16}
    sees = {**sizes(290), "image_size": 28, "patch_size": 14}
    config = library.Gemma3Config(text_config=text, vision_config=sees, mm_tokens_per_image=4)
    library.Gemma3ForConditionalGeneration(config).save_pretrained(tmp_path)
    reading = CausalModel(table, str(tmp_path)).begin(1)
    assert reading.waiting().tolist() == [0]
    assert parts_of(reading, 0).sum() > 0


@pytest.mark.parametrize("damaged", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_model_is_an_error_of_one_line(
    folder: Path, tmp_path: Path, damaged: str
) -> None:
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        body = (folder / file).read_bytes()
        (tmp_path / file).write_bytes(body[: len(body) // 2] if file == damaged else body)
    with pytest.raises(InputError, match="no language model can be read") as wrong:
        open_model(str(tmp_path))
    assert "\n" not in str(wrong.value)


def test_a_repeated_run_is_charged_where_the_model_expects_something_else(
    table: Embedding, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine's floats may round apart: then the draws are new, and cost as much again."""
    write_store(tmp_path / "seven.ink", table)
    (tmp_path / "in.csv").write_text("id,who,text\n1,ada,the soup was hot\n")
    spec = ReleaseSpec(
        "staircase",
        4.0,
        embedding=str(tmp_path / "seven.ink"),
        id_column="id",
        person_column="who",
        drop_columns=("who",),
        parameters={"tau": 0.3, "base": "lm", "language_model": str(folder)},
    )

    def spent() -> int:
        privatize_file(
            tmp_path / "in.csv",
            tmp_path / "out.csv",
            spec,
            rng=keyed_rng(bytes(range(32))),
            ledger=tmp_path / "ledger.db",
            report=tmp_path / "report.json",
        )
        with open_ledger(tmp_path / "ledger.db") as ledger:
            return sum(ledger.spent("ada").values())

    first = spent()
    assert first > 0
    assert spent() == first  # the same bases, the same draws
    plain = TokenReading.expected

    def elsewhere(reading: TokenReading, texts: Ids) -> Expected:
        found = plain(reading, texts)
        return Expected(found.words, found.parts + 1, found.ends)

    monkeypatch.setattr(TokenReading, "expected", elsewhere)
    assert spent() == 2 * first
    recorded = json.loads((tmp_path / "report.json").read_text())["mechanism"]
    assert {"model_sha256", "device", "torch", "transformers", "texts_together"} <= set(recorded)
