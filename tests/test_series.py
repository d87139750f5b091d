"""`inkblur.privatize`: the same kind out, missing stays missing, the guarantee beside it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import inkblur
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import OutputError, ParameterError
from inkblur.ledger import micros
from tests.made_strengths import make_strengths

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
TEXTS = ["waa wab.", None, "wac", "", "waa wab.", None, "wad wae 47"]
KEY = b"k" * 32


class Pair(NamedTuple):
    one: str
    other: str


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> inkblur.ReleaseSpec:
    path = tmp_path_factory.mktemp("table") / "small.ink"
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    write_store(path, Embedding(WORDS, vectors, name="small"))
    return inkblur.ReleaseSpec("laplace", 1.0, length="exact", embedding=str(path))


def released(texts: Any, spec: inkblur.ReleaseSpec) -> Any:
    ids = [f"a{row}" for row in range(len(texts))]
    return inkblur.privatize(texts, spec=spec, ids=ids, rng=inkblur.keyed_rng(KEY)).texts


@pytest.fixture(scope="module")
def expected(spec: inkblur.ReleaseSpec) -> list[str | None]:
    """What the records give through the privatizer, which files go through as well."""
    blur = spec.privatizer(spec.table())
    ids = ["a0", "", "a2", "a3", "a4", "", "a6"]
    records = [inkblur.Record(i, t) for i, t in zip(ids, TEXTS, strict=True) if t is not None]
    out = iter(blur.release_batch(records, inkblur.keyed_rng(KEY)).texts)
    return [None if text is None else next(out) for text in TEXTS]


def test_lists_tuples_and_arrays(spec: inkblur.ReleaseSpec, expected: list[str | None]) -> None:
    assert released(TEXTS, spec) == expected
    assert released(tuple(TEXTS), spec) == tuple(expected)
    array = released(np.array(TEXTS, dtype=object), spec)
    assert isinstance(array, np.ndarray)
    assert array.tolist() == expected
    assert released([], spec) == []
    assert len(released(Pair("waa", "wab"), spec)) == 2  # they were charged, and lost
    assert expected[0] != expected[4]  # equal texts draw independently


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_arrow(kind: Any, spec: inkblur.ReleaseSpec, expected: list[str | None]) -> None:
    out = released(pa.array(TEXTS, kind), spec)
    assert out.type == kind
    assert out.to_pylist() == expected
    used = pa.array(["waa", "wab"]).dictionary_encode().take(pa.array([0]))
    assert released(used, spec).type == pa.string()  # no unused category
    chunked = pa.chunked_array([pa.array(TEXTS[:3], kind), pa.array(TEXTS[3:], kind)])
    out = released(chunked, spec)
    assert [len(chunk) for chunk in out.chunks] == [3, 4]
    assert out.type == kind
    assert out.to_pylist() == expected


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_pandas(dtype: str, spec: inkblur.ReleaseSpec, expected: list[str | None]) -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(TEXTS, index=range(10, 17), name="body", dtype=dtype)
    out = released(series, spec.varied(keep_columns=["index"]))
    assert isinstance(out, pd.Series)
    assert out.name == "body"
    assert list(out.index) == list(series.index)
    assert [None if pd.isna(text) else text for text in out] == expected
    assert (out.dtype == series.dtype) == (dtype != "category")  # categories would list true texts


@pytest.mark.parametrize("kinds", [["category"], [object, object], ["category", object]])
def test_an_index_holds_nothing_of_rows_that_were_left_out(
    kinds: list[Any], spec: inkblur.ReleaseSpec
) -> None:
    """pandas keeps the categories and levels of a longer series that somebody filtered."""
    pd = pytest.importorskip("pandas")
    names = [f"part {place}" for place in range(len(kinds))]
    columns = {name: ["SECRET", "b", "c", "b"] for name in names}
    rows = pd.DataFrame(columns).astype(dict(zip(names, kinds, strict=True)))
    series = pd.Series(["waa"] * 4, index=pd.MultiIndex.from_frame(rows))
    if len(kinds) == 1:
        series.index = series.index.get_level_values(0)
    left = series.iloc[1:]
    keep = spec.varied(keep_columns=names)
    out = inkblur.privatize(left, spec=keep, ledger=False).texts
    assert list(out.index) == list(left.index)
    assert out.index.names == left.index.names
    assert b"SECRET" not in pickle.dumps(out)
    frame = left.to_frame("text")
    frame["text"] = out  # labels repeat: pandas does this for equal indexes alone
    assert list(frame["text"]) == list(out)


@pytest.mark.parametrize(
    "index",
    [
        range(1, 3),  # where in the frame they stood
        {"ward": ["a", "b"]},
        {"ward": ["a", "b"], "mrn": ["c", "d"]},
        {1: ["a", "b"], 0: ["c", "d"]},
    ],
)
def test_an_index_is_copied_only_if_it_was_named(index: Any, spec: inkblur.ReleaseSpec) -> None:
    pd = pytest.importorskip("pandas")
    made = pd.MultiIndex.from_frame(pd.DataFrame(index)) if isinstance(index, dict) else index
    texts = pd.Series(["waa wab wac", "wad"], index=made)
    if texts.index.nlevels > 1 and len(index) == 1:
        texts.index = texts.index.get_level_values(0)
    names = [str(name) for name in index] if isinstance(index, dict) else ["index"]
    with pytest.raises(inkblur.PrivacyError, match=f"'{names[-1]}'.*reset_index") as refused:
        inkblur.privatize(texts, spec=spec.varied(keep_columns=names[:-1]))
    assert f"keep_columns={names}" in str(refused.value)  # what to type
    kept = inkblur.privatize(texts, spec=spec.varied(keep_columns=names))
    assert list(kept.texts.index) == list(texts.index)
    assert kept.texts.index.names == texts.index.names
    assert "the index, copied as is" in kept.guarantee.passed
    bare = inkblur.privatize(texts.reset_index(drop=True), spec=spec)
    assert list(bare.texts.index) == [0, 1]
    assert "the index, copied as is" not in bare.guarantee.passed


def test_an_index_that_tells_much_is_copied_with_a_warning(spec: inkblur.ReleaseSpec) -> None:
    pd = pytest.importorskip("pandas")
    named = spec.varied(keep_columns=["index"])
    with pytest.warns(UserWarning, match="'index' is copied: it holds the words of the texts"):
        inkblur.privatize(pd.Series(["waa wab wac"], index=["waa wab wac"]), spec=named)
    with pytest.warns(UserWarning, match="'index' is copied: nearly every value differs"):
        inkblur.privatize(pd.Series(["waa"] * 20, index=range(1, 21)), spec=named)


def test_polars(spec: inkblur.ReleaseSpec, expected: list[str | None]) -> None:
    pl = pytest.importorskip("polars")
    out = released(pl.Series("body", TEXTS), spec)
    assert isinstance(out, pl.Series)
    assert (out.name, out.dtype, out.to_list()) == ("body", pl.String, expected)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_missing_stays_missing_and_the_guarantee_says_so(
    missing: Any, spec: inkblur.ReleaseSpec
) -> None:
    out = inkblur.privatize(["waa", missing], spec=spec)
    assert out.texts[1] is None
    assert any("missing" in line for line in out.guarantee.to_json()["passed"])


def test_a_fixed_length_hides_what_is_missing(spec: inkblur.ReleaseSpec) -> None:
    out = inkblur.privatize([None, "waa"], spec=spec.varied(length=3))
    assert [len(text.split()) for text in out.texts if text is not None] == [3, 3]
    assert not any("missing" in line for line in out.guarantee.to_json()["passed"])


def test_the_guarantee_names_what_a_kept_key_shows(spec: inkblur.ReleaseSpec) -> None:
    fresh = inkblur.privatize(["waa"], spec=spec).guarantee
    kept = inkblur.privatize(["waa"], spec=spec, rng=inkblur.keyed_rng(KEY)).guarantee
    recurs = "under one key, whether a text recurs or was changed between runs"
    assert recurs not in fresh.passed
    assert recurs in kept.passed
    assert "the number of texts and their order" in fresh.passed


def test_fresh_keys_differ_and_ids_name_texts(spec: inkblur.ReleaseSpec) -> None:
    texts = ["waa wab wac wad wae waf wag"] * 3
    assert inkblur.privatize(texts, spec=spec).texts != inkblur.privatize(texts, spec=spec).texts
    key = inkblur.keyed_rng(KEY)
    first = inkblur.privatize(texts, spec=spec, ids=["a", "b", "c"], rng=key).texts
    turned = inkblur.privatize(texts, spec=spec, ids=["c", "b", "a"], rng=key).texts
    assert first == turned[::-1]


def test_what_is_returned_repeats_the_release(
    spec: inkblur.ReleaseSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = spec.embedding
    key = inkblur.keyed_rng(KEY)
    make_strengths(monkeypatch, inkblur.load_embedding(path))
    out = inkblur.privatize(TEXTS, "strong", embedding=path, rng=key)
    assert out.spec.epsilon is not None
    assert inkblur.privatize(TEXTS, spec=out.spec, rng=key).texts == out.texts


def test_every_release_is_entered_in_a_ledger(spec: inkblur.ReleaseSpec, tmp_path: Path) -> None:
    place, rng = tmp_path / "ledger.db", inkblur.keyed_rng(KEY)
    first = inkblur.privatize(["waa wab", "wac"], spec=spec, rng=rng, ledger=place)
    assert "first recorded release of these texts" in " ".join(first.guarantee.lines())
    again = inkblur.privatize(["waa wab", "wac"], spec=spec, rng=rng, ledger=place)
    assert again.texts == first.texts
    fresh = inkblur.privatize(["waa wab"], spec=spec, ledger=place)
    assert "released 3 times" in " ".join(fresh.guarantee.lines())
    with inkblur.open_ledger(place) as ledger:
        assert [release["state"] for release in ledger.history()] == ["confirmed"] * 3
        amounts = [release["amount"] for release in ledger.history()]
    a_draw = spec.privatizer(spec.table()).largest_loss
    assert amounts == [micros(a_draw, 2) + micros(a_draw), 0, micros(a_draw, 2)]
    uncounted = inkblur.privatize(["waa wab"], spec=spec, ledger=False)
    assert "no ledger was used" in " ".join(uncounted.guarantee.lines())


def test_the_users_own_ledger_is_the_default(
    spec: inkblur.ReleaseSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    inkblur.privatize(["waa wab"], spec=spec)
    with inkblur.open_ledger(tmp_path / "home" / "inkblur" / "ledger.db") as ledger:
        assert len(ledger.history()) == 1
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))  # nobody can write there
    with pytest.raises(OutputError, match="release without one"):
        inkblur.privatize(["waa wab"], spec=spec)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_list_keeps_to_budgets_all_of_it_or_nothing(
    spec: inkblur.ReleaseSpec, tmp_path: Path, missing: float | None
) -> None:
    def blur(*texts: str, limits: inkblur.Limits, **more: Any) -> None:
        inkblur.privatize(list(texts), spec=spec, ledger=tmp_path / "l.db", limits=limits, **more)

    a_word = spec.privatizer(spec.table()).largest_loss
    tight = inkblur.Limits(budget=2 * a_word + 0.000_002)
    blur("waa wab", "wac", ids=["a", "b"], limits=tight)
    with pytest.raises(inkblur.BudgetExceeded, match="text 1: record a: 0 left"):
        blur("wac", "wae", ids=["c", "a"], limits=tight)  # an edited text, the same id
    blur("waa wab", ids=["new"], limits=tight)  # another id is another record
    with pytest.raises(ParameterError, match=r"^without `ids=` a text"):
        blur("waa", limits=tight)
    person = inkblur.Limits(person_budget=2 * a_word + 0.000_002)
    with pytest.raises(
        ParameterError, match=r"belongs to nobody.*list beside the texts \(people\)"
    ):
        blur("waa", limits=person)
    with pytest.raises(ParameterError, match="belongs to nobody"):
        blur("waa", people=[missing], limits=person)
    blur("wba wbb", people=["ada"], limits=person)
    with pytest.raises(inkblur.BudgetExceeded, match="person"):
        blur("wbc", people=["ada"], limits=person)
    with pytest.raises(ParameterError, match="people"):
        blur("wbc", people=[], limits=person)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([np.array(["waa", "wab"])], {}, "text 0 is of type ndarray"),
        (np.array([["waa"]], dtype=object), {}, "one dimension"),
        (pa.table({"text": ["waa"]}), {}, "of a table, give one column"),
        (["waa", "wab"], {"ids": ["a", "a"]}, "2 different names"),
        (["waa"], {"ids": []}, "1 name,"),
        (["waa"], {"rng": KEY}, "rng must be a random stream"),
        (["waa"], {"spec": None}, "choose how strong"),
        (["waa"], {"spec": None, "stength": "strong"}, "did you mean `strength=`"),
        (["waa"], {"spec": None, "epsilon": 9.0, "release": "tf", "length": 4}, "TextPrivatizer"),
    ],
)
def test_what_cannot_be_is_refused(
    texts: Any, options: dict[str, Any], message: str, spec: inkblur.ReleaseSpec
) -> None:
    with pytest.raises(ParameterError, match=message):
        inkblur.privatize(texts, **{"spec": spec, **options})
