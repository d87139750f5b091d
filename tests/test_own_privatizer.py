"""A privatizer that a user brings is checked, charged, bound to its key and shown like any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import inkblur
from inkblur.documents.base import Reading
from inkblur.errors import (
    BudgetExceeded,
    NoGuarantee,
    ParameterError,
    PrivateCalibration,
    WeakSetting,
)
from inkblur.guarantees import Guarantee
from inkblur.ledger import micros
from inkblur.mechanisms.laplace import Laplace
from inkblur.own import PublicTexts
from inkblur.types import Metric, Unit

WORDS = ["red", "green", "blue"]
TEXTS = ["my first long text", "another one of mine"]
KEY = bytes(range(9, 41))


class Colours:
    """Each word becomes a colour, whatever it was."""

    law = "colours, 1"
    guarantee = Guarantee(epsilon=0.5, metric=Metric.DISCRETE, unit=Unit.SEQUENCE)
    public: Sequence[PublicTexts] = (PublicTexts(["red green blue sky"], "the colours are from"),)

    def read(self, texts: Sequence[str]) -> Reading:
        sizes = tuple(len(text.split()) for text in texts)
        return Reading(sizes, ((b"",),) * len(texts), sizes)

    def draw(self, reading: Reading, streams: Sequence[inkblur.Rng]) -> tuple[list[str], Any]:
        texts = []
        for size, stream in zip(reading.state, streams, strict=True):
            rows = stream.bits(size, 1)[:, 0]
            texts.append(" ".join(WORDS[int(row) % len(WORDS)] for row in rows))
        return texts, {"drawn": sum(reading.state)}


def test_it_is_charged_and_repeats_under_a_key(tmp_path: Path) -> None:
    place, limits = tmp_path / "ledger.db", inkblur.Limits(budget=2.0)

    def ask(own: Any = None, **options: Any) -> Any:
        rng = inkblur.keyed_rng(KEY)
        given = {"ids": ["a", "b"], "ledger": place, "rng": rng, **options}
        return inkblur.privatize(TEXTS, privatizer=own or Colours(), **given)

    first = ask(limits=limits)
    assert [len(text.split()) for text in first.texts] == [4, 4]
    assert set(" ".join(first.texts).split()) <= set(WORDS)
    assert "at most 2 of a record" in first.guarantee.statement()
    assert ask(limits=limits).texts == first.texts
    with inkblur.open_ledger(place) as ledger:
        assert [entry["amount"] for entry in ledger.history()] == [2 * micros(0.5, 4), 0]

    class Others(Colours):
        law = "colours, 2"

    with pytest.raises(BudgetExceeded):
        ask(Others(), limits=limits)
    assert ask(Others(), ledger=False).texts != first.texts  # another law, other noise
    pipeline = inkblur.TextPrivatizer(privatizer=Colours(), key=KEY)
    listed = ask(ids=["0", "1"], ledger=False)
    assert pipeline.fit_transform(TEXTS) == listed.texts


def test_its_public_texts_are_not_the_protected_ones() -> None:
    with pytest.raises(PrivateCalibration, match="the colours are from"):
        inkblur.privatize(["Red, GREEN blue sky"], privatizer=Colours(), ledger=False)


def test_what_is_no_privatizer_is_refused() -> None:
    class Void(Colours):
        guarantee = Guarantee(epsilon=0.5, metric=Metric.DISCRETE).voided("nothing is proved")

    class Short(Colours):
        def draw(self, reading: Any, streams: Any) -> tuple[list[str], Any]:
            return super().draw(reading, streams)[0][:-1], {}

    class Unknown(Colours):
        guarantee = Guarantee(epsilon=0.5, metric=Metric.EUCLIDEAN)

    def ask(own: Any, **options: Any) -> Any:
        return inkblur.privatize(TEXTS, privatizer=own, ledger=False, **options)

    with pytest.raises(ParameterError, match="`law`"):
        ask(object())
    with pytest.raises(NoGuarantee, match="nothing is proved"):
        ask(Void())
    with pytest.raises(ParameterError, match="gave 1 texts for 2"):
        ask(Short())
    with pytest.raises(inkblur.PrivacyError, match="no finite loss"):
        ask(Unknown(), ids=["a", "b"], limits=inkblur.Limits(budget=100.0))
    with pytest.raises(ParameterError, match="leave out the other"):
        ask(Colours(), strength="medium")
    table = inkblur.Embedding(WORDS, [[0.0], [9.0], [99.0]], name="toy")
    weak = inkblur.Privatizer(Laplace(table, epsilon=100.0))
    with pytest.raises(WeakSetting):
        ask(weak)
    assert len(ask(weak, accept_weak=True).texts) == len(TEXTS)
