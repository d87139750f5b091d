"""The seam of every door: checked, charged, drawn; and shown only against a receipt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import inkblur
from inkblur import Privatizer, Record
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.files.records import Batch
from inkblur.mechanisms.laplace import Laplace
from inkblur.release import Columns, Release, Stream, draw_together

TABLE = Embedding(["good", "fine", "bad", "poor"], np.eye(4) * 9, name="four")
BLUR = Privatizer(Laplace(TABLE, epsilon=0.5))


def stream(id: str | None = "id", *, vouched: bool = False) -> Stream:
    release = Release(BLUR, inkblur.keyed_rng(os.urandom(32)))
    return release.stream(Columns(id=id), vouched=vouched)


def batch(*ids: str, text: str = "good secretword") -> Batch:
    return Batch(tuple(Record(id, text, f"line {id}") for id in ids))


def test_what_was_drawn_shows_nothing_without_its_receipt() -> None:
    one = stream()
    drawn = one.draw(one.check(batch("1", "2")))
    other = one.draw(one.check(batch("3")))
    for part in (drawn, drawn.checked, one.charge(drawn)):  # nor the true texts to a log
        assert not any(word in repr(part) for word in (*TABLE.words, "secretword"))
    for receipt in (one.charge(other), one.charge(drawn.checked), one.charge()):
        with pytest.raises(ParameterError, match="not charged"):
            drawn.texts(receipt)
    with pytest.raises(ParameterError, match="its own account"):  # which may count nothing
        stream().charge(drawn)
    assert len(drawn.texts(one.charge(drawn))) == 2


def test_batches_are_held_back_until_enough_rows_were_looked_at() -> None:
    read: list[int] = []

    def batches() -> Iterator[Batch]:
        for number in range(6):
            read.append(number)
            yield batch(*(f"{number}.{row}" for row in range(400)))

    checked = stream().check_all(batches())
    next(checked)
    assert read == [0, 1, 2]  # twelve hundred rows
    assert sum(len(part.batch) for part in checked) == 5 * 400
    few = stream().check_all(iter([batch("1"), batch("2")]))
    assert [len(part.batch) for part in few] == [1, 1]  # a file that is shorter


@pytest.mark.parametrize("vouched", [False, True])
@pytest.mark.parametrize("ids", [("1", "2", "1"), ("1", "", "3"), ("1", " ", "3")])
def test_ids_that_repeat_or_are_empty(ids: tuple[str, ...], vouched: bool) -> None:
    """Whoever vouches for a whole table has no say within a batch."""
    with pytest.raises(InputError, match=r"line 1 repeats|empty id"):
        stream(vouched=vouched).check(batch(*ids))
    apart = stream(vouched=vouched)
    apart.check(batch("1"))
    if vouched:
        apart.check(batch("1"))
        return
    with pytest.raises(InputError, match="repeats"):
        apart.check(batch("1"))


def test_drawn_together_or_alone_is_the_same() -> None:
    mine, yours = stream(), stream()
    parts = [mine.check(batch("1", "2")), yours.check(batch("1"))]
    together = draw_together(parts)
    alone = [part.stream.draw(part) for part in parts]
    for part, other in zip(together, alone, strict=True):
        own = part.checked.stream
        assert part.texts(own.charge(part)) == other.texts(own.charge(other))


def test_what_fails_before_anything_showed_is_given_back(tmp_path: Path) -> None:
    release = inkblur.release.prepare(inkblur.ReleaseSpec("staircase", 8.0, id_column="id"))

    def fail(show: bool) -> None:
        with release.charged_to(tmp_path / "l.db", ids="id") as counted:
            own = counted.stream()
            own.charge(own.draw(own.check(batch("1"))))
            if show:
                counted.about_to_show()
            raise RuntimeError

    for show in (False, True):
        with pytest.raises(RuntimeError):
            fail(show)
    with inkblur.open_ledger(tmp_path / "l.db") as ledger:
        assert [entry["state"] for entry in ledger.history()] == ["void", "reserved"]
        assert ledger.most_spent()["record"].amount > 0
