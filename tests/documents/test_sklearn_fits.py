"""The transformers fit into scikit-learn: its own checks, tables, worker processes, pickles."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from inkblur import Exponential, Laplace
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, WeakSetting
from inkblur.sklearn import TextPrivatizer, VectorPrivatizer

TABLE = Embedding(["good", "fine", "bad", "poor"], np.eye(4) * 9, name="four")
VECTORIZER = Vectorizer(TABLE)
TEXTS = ["good fine", "bad poor", "fine good good", "poor bad bad"]
KEY = bytes(range(7, 39))


def texts(**options: Any) -> TextPrivatizer:
    return TextPrivatizer(Laplace(TABLE, epsilon=0.5), **options)


def vectors(**options: Any) -> VectorPrivatizer:
    mechanism = Exponential(VECTORIZER.embedding, epsilon=4.0)
    return VectorPrivatizer(mechanism, VECTORIZER, length=5, **options)


# Every check of scikit-learn's that these transformers do not pass, and why. The properties that
# the first four are about are tested below, on texts.
NUMBERS = "transforms a table of numbers; there is nothing to transform but texts"
NOT_PASSED = {
    "check_estimators_pickle": NUMBERS,
    "check_fit_idempotent": NUMBERS,
    "check_transformer_general": NUMBERS,
    "check_dict_unchanged": NUMBERS,
    "check_estimators_dtypes": NUMBERS,
    "check_f_contiguous_array_estimator": NUMBERS,
    "check_fit_score_takes_y": NUMBERS,
    "check_pipeline_consistency": NUMBERS,
    "check_transformers_unfitted_stateless": NUMBERS,
}
SEEDED = {  # not run where the draws differ from call to call
    "check_methods_sample_order_invariance": "a text's draws depend on its position",
    "check_methods_subset_invariance": "a text's draws depend on its position",
}


@pytest.mark.parametrize("make", [texts, vectors])
@pytest.mark.parametrize("options", [{}, {"seed": 1}], ids=["fresh key", "seed"])
def test_scikit_learns_own_checks(make: Any, options: dict[str, Any]) -> None:
    expected = NOT_PASSED if not options else {**NOT_PASSED, **SEEDED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            make(**options), expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    by_status: dict[str, set[str]] = {}
    for result in results:
        by_status.setdefault(result["status"], set()).add(result["check_name"])
    assert by_status.get("failed", set()) == set()
    missed = by_status["xfail"] | by_status.get("skipped", set())
    assert missed >= set(expected), "a check passes now"
    assert len(by_status["passed"]) >= 20


def test_a_table_of_one_column_is_blurred_and_stays_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    blur = texts(key=KEY)
    expected = blur.transform(TEXTS)
    assert blur.transform(pandas.Series(TEXTS)) == expected
    assert blur.transform(polars.Series(TEXTS)) == expected
    assert blur.transform(np.array(TEXTS)) == expected
    tables = (
        pandas.DataFrame({"good": TEXTS}),  # its header is no text
        polars.DataFrame({"good": TEXTS}),
        np.array(TEXTS, dtype=object)[:, None],
    )
    for table in tables:
        released = blur.fit_transform(table)
        assert released.shape == (4, 1)
        assert released[:, 0].tolist() == expected
        np.testing.assert_array_equal(
            vectors(key=KEY).transform(table).toarray(),
            vectors(key=KEY).transform(TEXTS).toarray(),
        )


@pytest.mark.parametrize("make", [texts, vectors])
@pytest.mark.parametrize("shape", [(4, 2), (4, 0), (2, 2, 1)])
def test_other_tables_are_refused(make: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="one column of texts"):
        make().transform(np.full(shape, "good", dtype=object))


def test_in_a_column_transformer() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": TEXTS, "stars": [5, 1, 4, 2]})
    columns = ColumnTransformer(
        [("blur", texts(key=KEY), ["text"]), ("keep", "passthrough", ["stars"])]
    )
    released = columns.fit_transform(table)
    assert released[:, 0].tolist() == texts(key=KEY).transform(TEXTS)
    assert columns.get_feature_names_out().tolist() == ["blur__text", "keep__stars"]
    columns.set_output(transform="pandas")
    assert columns.fit_transform(table)["blur__text"].tolist() == released[:, 0].tolist()
    counted = ColumnTransformer(
        [("words", make_pipeline(texts(), CountVectorizer(vocabulary=list(TABLE.words))), "text")]
    )
    assert counted.fit_transform(table).shape == (4, 4)


@pytest.mark.parametrize("options", [{}, {"seed": 1}], ids=["fresh key", "seed"])
def test_in_worker_processes(options: dict[str, Any]) -> None:
    many, labels = TEXTS * 4, [1, 0, 1, 0] * 4
    counter = CountVectorizer(vocabulary=list(TABLE.words))
    for model in (
        make_pipeline(texts(**options), counter, MultinomialNB()),
        make_pipeline(vectors(**options), MultinomialNB()),
    ):
        model.fit(many, labels)  # used before it is sent
        assert len(cross_val_score(model, many, labels, cv=2, n_jobs=2)) == 2


@pytest.mark.parametrize("make", [texts, vectors])
def test_a_pickle_holds_no_key_and_no_word_that_was_met(make: Any) -> None:
    blur = make(key=KEY)
    blur.transform(["good secretword 0815 a@b.org"])
    kept = pickle.dumps(blur)
    for secret in (KEY, b"secretword", b"0815", b"a@b.org"):
        assert secret not in kept
    again = pickle.loads(kept)
    with pytest.raises(ParameterError, match="a pickle holds no key"):
        again.transform(TEXTS)
    released = again.set_params(key=KEY).transform(TEXTS)
    assert np.array_equal(np.asarray(_plain(released)), np.asarray(_plain(blur.transform(TEXTS))))


@pytest.mark.parametrize("make", [texts, vectors])
def test_it_is_idempotent_and_changes_nothing_it_was_given(make: Any) -> None:
    blur, given = make(seed=1), list(TEXTS)
    before = blur.get_params()
    first, second = blur.fit(given).transform(given), blur.fit(given).transform(given)
    assert np.array_equal(np.asarray(_plain(first)), np.asarray(_plain(second)))
    assert given == TEXTS
    assert blur.get_params() == before


def test_a_setting_that_hides_nothing_is_refused() -> None:
    weak = Laplace(TABLE, epsilon=100.0)
    for call in (TextPrivatizer(weak).fit, TextPrivatizer(weak).transform):
        with pytest.raises(WeakSetting, match="100% of the words"):
            call(TEXTS)
    assert TextPrivatizer(weak, accept_weak=True).fit_transform(TEXTS) == TEXTS


def _plain(released: Any) -> Any:
    return released.toarray() if hasattr(released, "toarray") else released
