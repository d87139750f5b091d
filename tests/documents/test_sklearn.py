from __future__ import annotations

from typing import Any

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from inkblur import Laplace, Privatizer  # noqa: E402
from inkblur.embeddings.table import Embedding  # noqa: E402
from inkblur.errors import ParameterError  # noqa: E402
from inkblur.guarantees import NOBODY_COUNTS  # noqa: E402
from inkblur.rng import keyed_rng  # noqa: E402
from inkblur.sklearn import TextPrivatizer  # noqa: E402
from inkblur.types import Record  # noqa: E402

TABLE = Embedding(["good", "fine", "bad", "poor"], np.eye(4) * 9, name="four")
TEXTS = ["good fine", "bad poor", "fine good good", "poor bad bad"]


def test_it_behaves_like_the_privatizer() -> None:
    mechanism = Laplace(TABLE, epsilon=0.5)
    key = bytes(32)
    blur = TextPrivatizer(mechanism, key=key)
    records = [Record(str(i), text) for i, text in enumerate(TEXTS)]
    expected = Privatizer(mechanism).release_batch(records, keyed_rng(key)).texts
    assert blur.fit_transform(TEXTS) == list(expected)
    promised = Privatizer(mechanism).guaranteed(keyed_rng(key))
    assert blur.guarantee == promised.revealing(NOBODY_COUNTS)  # and says that it counts nothing


def test_it_clones_and_works_in_a_pipeline() -> None:
    blur = TextPrivatizer(
        Laplace(TABLE, epsilon=5.0), release="bag", length=3, seed=1, accept_weak=True
    )
    copy = clone(blur, safe=False)
    assert copy.get_params()["length"] == 3
    assert copy.transform(TEXTS) == blur.transform(TEXTS)
    model = make_pipeline(clone(blur), CountVectorizer(), MultinomialNB())
    model.fit(TEXTS, [1, 0, 1, 0])
    assert model.predict(["fine fine"]).tolist() == [1]


def test_fit_learns_nothing() -> None:
    blur = TextPrivatizer(Laplace(TABLE, epsilon=0.5), seed=1)
    before = dict(vars(blur))
    blur.fit(["some very private text"])
    assert vars(blur) == before


def test_without_a_key_each_transform_is_fresh_and_a_seed_is_not_private() -> None:
    blur = TextPrivatizer(Laplace(TABLE, epsilon=0.01))
    long = ["good bad fine poor " * 30]
    assert blur.transform(long) != blur.transform(long)
    assert blur.guarantee.private
    assert not TextPrivatizer(Laplace(TABLE, epsilon=1.0), seed=3).guarantee.private


def test_wrong_input_is_refused() -> None:
    blur = TextPrivatizer(Laplace(TABLE, epsilon=0.5))
    with pytest.raises(ParameterError, match="list of texts"):
        blur.transform("one text")
    with pytest.raises(ParameterError, match="text 1 is of type int, expected a string"):
        blur.transform(["fine", 7])
    for missing in (None, float("nan")):
        with pytest.raises(ParameterError, match="text 1 is missing; leave such texts out"):
            blur.transform(["fine", missing])


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_the_key_is_never_printed(kind: Any) -> None:
    key = kind(b"0123456789abcdef" * 2)
    blur = TextPrivatizer(Laplace(TABLE, epsilon=0.5), key=key)
    copy = clone(blur)
    pipeline = make_pipeline(blur, CountVectorizer())
    for shown in (
        repr(blur),
        repr(copy),
        repr(pipeline),
        blur._repr_html_(),
        str(blur.get_params()),
    ):
        assert "0123456789abcdef" not in shown
    assert copy.transform(TEXTS) == blur.transform(TEXTS)
