"""A setting that hides nothing is refused, wherever a file or a transformer is released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur.documents.base import MOST_SURVIVAL, expected_survival, refuse_weak
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, WeakSetting
from inkblur.files.release import privatize_file
from inkblur.rng import is_weak, read_key, readable_by_others, write_key
from inkblur.spec import ReleaseSpec
from tests.laws.catalogue import ALL, label, make


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_weak_settings_of_every_mechanism(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    strong = make(setting, toy, 0.01)
    refuse_weak(strong)
    assert expected_survival(strong) < 0.5
    if setting[1].get("bigram") or setting[1].get("tau"):
        return  # words that are spelled alike, or a whole neighborhood, take part at any epsilon
    weak = make(setting, toy, 600.0)
    assert expected_survival(weak) > MOST_SURVIVAL
    with pytest.raises(WeakSetting, match="accept_weak=True"):
        refuse_weak(weak)
    refuse_weak(weak, accept_weak=True)


@pytest.mark.parametrize(
    "release", [{}, {"release": "tf", "length": 40, "mechanism": "exponential"}]
)
def test_a_file_is_not_released_at_a_weak_setting(
    tmp_path: Path, toy: Embedding, release: dict[str, Any]
) -> None:
    write_store(tmp_path / "toy.ink", toy)
    source = tmp_path / "in.txt"
    source.write_text("wordaa wordab\n")
    target = tmp_path / ("out.npz" if release else "out.txt")
    spec = ReleaseSpec(epsilon=600.0, embedding=str(tmp_path / "toy.ink"), **release)
    with pytest.raises(WeakSetting):
        privatize_file(source, target, spec)
    assert not target.exists()
    summary = privatize_file(source, target, spec.varied(accept_weak=True))
    assert "does not hide the texts" in "\n".join(summary.lines())


def test_the_usual_strengths_are_not_weak() -> None:
    table = inkblur.load_embedding()
    for strength in ("light", "medium", "strong"):
        refuse_weak(ReleaseSpec(strength=strength).mechanism_on(table))


@pytest.mark.parametrize(
    "key",
    [bytes(32), b"\xff" * 32, b"0123456789abcdef" * 2, bytes(range(32)), bytes(range(64, 0, -2))],
)
def test_keys_that_can_be_guessed_are_refused(tmp_path: Path, key: bytes) -> None:
    assert is_weak(key)
    for content in (key, key.hex().encode()):
        (tmp_path / "key").write_bytes(content)
        with pytest.raises(InputError, match="can be guessed"):
            read_key(tmp_path / "key")


def test_short_keys_are_refused_and_random_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"secret")
    with pytest.raises(InputError, match="is not a key"):
        read_key(tmp_path / "short")
    for number in range(50):
        write_key(tmp_path / f"key{number}")
        assert len(read_key(tmp_path / f"key{number}")) == 32


def test_a_key_that_others_can_read_is_noticed(tmp_path: Path) -> None:
    write_key(tmp_path / "key")
    assert not readable_by_others(tmp_path / "key")
    (tmp_path / "key").chmod(0o644)
    assert readable_by_others(tmp_path / "key")
