"""Scrubbers as releases: they remove addresses, keep style, promise nothing."""

from __future__ import annotations

import socket
import sys

import pytest

from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.dataset import make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.scrubbing import Scrubber, replaced
from inkblur.spec import ReleaseSpec

from .made import corpus, table

MODULES = {"scrubadub": "scrubadub", "presidio": "presidio_analyzer"}
TEXT = "Write to kim@example.com or see https://example.org/kim today, my friend."


@pytest.fixture(params=sorted(MODULES))
def scrubber(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scrubber:
    pytest.importorskip(MODULES[request.param], reason="needs the extra pii")

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a scrubber reached for the network")

    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    return Scrubber(request.param)


@pytest.mark.filterwarnings("ignore")
def test_addresses_go_and_words_stay(scrubber: Scrubber) -> None:
    scrubbed, nothing = scrubber.release([TEXT, ""]).texts
    assert "kim@example.com" not in scrubbed
    assert "example.org" not in scrubbed
    assert scrubbed.startswith("Write to ")
    assert scrubbed.endswith("my friend.")
    assert nothing == ""


@pytest.mark.filterwarnings("ignore")
def test_names_stay_and_every_place_says_so(scrubber: Scrubber) -> None:
    named = "Dr. Alice Johnson moved from Berlin to Oslo."
    assert scrubber.release([named]).texts == (named,)
    assert "names stay" in scrubber.name
    assert "names of people and places stay" in scrubber.guarantee.statement()
    assert scrubber.to_json()["recognizes_names"] is False


@pytest.mark.filterwarnings("ignore")
def test_a_scrubber_stands_beside_a_mechanism_in_the_same_table(scrubber: Scrubber) -> None:
    pytest.importorskip("sklearn")
    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, labels=labels, seed=5)
    plan = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
    report = evaluate(data, table(), [ReleaseSpec("laplace", 0.05), scrubber], plan)
    blurred, scrubbed = report.settings
    assert scrubbed.epsilon is None
    assert scrubbed.attacks[0].accuracy.mean == report.before.attacks[0].accuracy.mean
    assert scrubbed.attacks[0].accuracy.mean > blurred.attacks[0].accuracy.mean
    assert scrubbed.guarantee is not None
    assert not scrubbed.guarantee.private
    assert "proves nothing" in scrubbed.guarantee.statement()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_extra_is_named_where_it_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[name], None)
    with pytest.raises(MissingExtra, match=r"'\.\[pii\]'"):
        Scrubber(name).require()
    with pytest.raises(ParameterError, match="scrubadub, presidio"):
        Scrubber("soap")


def test_findings_are_replaced_once_however_they_overlap() -> None:
    text = "0123456789"
    assert replaced(text, []) == text
    assert replaced(text, [(2, 4, "A", 0.5), (3, 6, "B", 0.9), (8, 10, "C", 0.1)]) == "01<B>67<C>"
    assert replaced(text, [(0, 3, "A", 0.5), (3, 5, "B", 0.5)]) == "<A><B>56789"
