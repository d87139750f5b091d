"""Two callers of one key and one ledger: neither noise nor account of one says anything to the other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import inkblur
from inkblur.arrow import CountedRelease
from inkblur.errors import BudgetExceeded, InputError, NoGuarantee, ParameterError
from inkblur.release import Limits
from inkblur.rng import secure_rng
from tests.together import Desk, Order

TEXTS = [f"the doctor was angry about visit number {word}" for word in ("one", "two", "three")]
SPEC = inkblur.ReleaseSpec("staircase", 6.0, id_column="id")
LOSS = 6.0 * 8


def order(caller: str, texts: list[str] = TEXTS, spec: inkblur.ReleaseSpec = SPEC) -> Order:
    ids = [str(i) for i in range(len(texts))]
    return Order(pa.record_batch({"id": ids, "text": texts}), spec, caller)


def words(answer: object) -> list[str]:
    assert isinstance(answer, CountedRelease), answer
    return [str(text) for text in answer.rows.column("text").to_pylist()]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[inkblur.Ledger]:
    with inkblur.open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture
def desk(ledger: inkblur.Ledger) -> Desk:
    return Desk(inkblur.keyed_rng(os.urandom(32)), ledger, limits=Limits(budget=LOSS))


def test_equal_ids_and_texts_of_two_callers_draw_apart(desk: Desk) -> None:
    alice, bob, again = desk.release([order("alice"), order("bob"), order("alice")])
    assert words(alice) == words(again)
    assert all(one != other for one, other in zip(words(alice), words(bob), strict=True))


def test_no_caller_is_charged_for_another(desk: Desk) -> None:
    assert words(desk.release([order("alice")])[0])  # her budget is spent
    [bob] = desk.release([order("bob")])
    assert isinstance(bob, CountedRelease)
    assert (bob.replayed, bob.largest_loss) == (0, LOSS)
    [other] = desk.release([order("bob", spec=SPEC.varied(epsilon=5.0))])
    assert isinstance(other, BudgetExceeded)  # his own account is one


def test_a_name_cannot_be_made_to_look_like_anothers(desk: Desk) -> None:
    """`alice` with the id `1:x` is not `alice:1` with the id `x`."""
    one = Order(pa.record_batch({"id": ["1:x"], "text": TEXTS[:1]}), SPEC, "alice")
    two = Order(pa.record_batch({"id": ["x"], "text": TEXTS[:1]}), SPEC, "alice:1")
    first, second = desk.release([one, two])
    assert words(first) != words(second)


def test_drawn_together_or_alone_is_the_same(ledger: inkblur.Ledger) -> None:
    key = os.urandom(32)
    orders = [order("alice"), order("bob", TEXTS[:1]), order("", TEXTS[1:])]
    together = Desk(inkblur.keyed_rng(key), ledger).release(orders)
    alone = [Desk(inkblur.keyed_rng(key), ledger).release([each])[0] for each in orders]
    assert [words(each) for each in together] == [words(each) for each in alone]


def test_what_a_copied_column_tells_is_said_here_too(desk: Desk) -> None:
    rows = pa.record_batch({"id": ["1"], "note": TEXTS[:1], "text": TEXTS[:1]})
    [bare] = desk.release([Order(rows, SPEC, "alice")])
    assert isinstance(bare, CountedRelease)
    assert (bare.rows.schema.names, bare.warnings) == (["text"], ())
    kept = SPEC.varied(keep_columns=("note",))
    [told] = desk.release([Order(rows, kept, "alice")])
    assert isinstance(told, CountedRelease)
    [warning] = told.warnings
    assert "'note' is copied: it holds the words" in warning


def test_a_refused_order_leaves_the_others_and_no_trace(desk: Desk, ledger: inkblur.Ledger) -> None:
    long = order("alice", [TEXTS[0] + " again"])
    refused, fine = desk.release([long, order("bob")])
    assert isinstance(refused, BudgetExceeded)
    assert words(fine)
    assert [each["state"] for each in ledger.history()] == ["confirmed"]
    assert ledger.verify() == []


def test_the_same_bytes_as_a_file(ledger: inkblur.Ledger, tmp_path: Path) -> None:
    """Without a caller a desk is the library: a release repeated by either costs nothing."""
    key, source = os.urandom(32), tmp_path / "in.csv"
    source.write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(TEXTS)))
    inkblur.privatize_file(
        source,
        tmp_path / "out.csv",
        SPEC.varied(keep_order=True),
        rng=inkblur.keyed_rng(key),
        ledger=ledger,
    )
    [answer] = Desk(inkblur.keyed_rng(key), ledger).release([order("")])
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == words(answer)
    assert isinstance(answer, CountedRelease)
    assert answer.replayed == len(TEXTS)


def test_files_of_two_callers_draw_apart(ledger: inkblur.Ledger, tmp_path: Path) -> None:
    key, source = os.urandom(32), tmp_path / "in.jsonl"
    rows = [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec, outputs = inkblur.ReleaseSpec("staircase", 6.0, id_column="id"), []
    for caller in ("", "alice", "bob"):
        target = tmp_path / f"{caller}.out.jsonl"
        rng = inkblur.keyed_rng(key)
        inkblur.privatize_file(
            source, target, spec, rng=rng, ledger=ledger, caller=caller, limits=Limits(LOSS)
        )
        outputs.append(target.read_text())
    assert len(set(outputs)) == 3
    assert [each.get("caller", "") for each in ledger.history()] == ["", "alice", "bob"]


def test_a_desk_releases_nothing_without_a_guarantee(ledger: inkblur.Ledger) -> None:
    [answer] = Desk(inkblur.seeded_rng(1), ledger).release([order("")])
    assert isinstance(answer, NoGuarantee)
    [fresh] = Desk(secure_rng(), ledger).release([order("")])
    assert isinstance(fresh, ParameterError)
    assert "keeps its key" in str(fresh)
    assert ledger.history() == []


def test_a_missing_text_shows_at_the_desk_only_where_lengths_do(desk: Desk) -> None:
    texts = pa.array(["the doctor was angry", None], pa.string())
    rows = pa.record_batch({"id": ["1", "2"], "text": texts})
    plain, filled = desk.release(
        [
            Order(rows, SPEC.varied(length="exact"), "alice"),
            Order(rows, SPEC.varied(length=4), "bob"),
        ]
    )
    assert isinstance(plain, CountedRelease)
    assert isinstance(filled, CountedRelease)
    assert plain.rows.column("text").to_pylist()[1] is None
    assert filled.rows.column("text").null_count == 0
    assert [len(text.split()) for text in words(filled)] == [4, 4]


def test_a_repeated_id_is_refused_at_the_desk(desk: Desk) -> None:
    rows = pa.record_batch({"id": ["7", "7"], "text": TEXTS[:2]})
    [answer] = desk.release([Order(rows, SPEC, "alice")])
    assert isinstance(answer, InputError)
    assert "repeats an id of column 'id'" in str(answer)
