"""Scrubbers remove addresses and leave words."""

from __future__ import annotations

import socket

import pytest

from reproduction.syntf.scrubbing import SCRUBBERS, Scrub, replaced

MODULES = {"scrubadub": "scrubadub", "presidio": "presidio_analyzer"}
TEXT = "Write to kim@example.com or see https://example.org/kim today, my friend."


@pytest.fixture(params=sorted(MODULES))
def scrub(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scrub:
    pytest.importorskip(MODULES[request.param])

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a scrubber reached for the network")

    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    return SCRUBBERS[request.param]()


@pytest.mark.filterwarnings("ignore")
def test_addresses_go_and_words_stay(scrub: Scrub) -> None:
    scrubbed = scrub(TEXT)
    assert "kim@example.com" not in scrubbed
    assert "example.org" not in scrubbed
    assert scrubbed.startswith("Write to ")
    assert scrubbed.endswith("my friend.")


@pytest.mark.filterwarnings("ignore")
def test_names_stay(scrub: Scrub) -> None:
    named = "Dr. Alice Johnson moved from Berlin to Oslo."
    assert scrub(named) == named


def test_findings_are_replaced_once_however_they_overlap() -> None:
    text = "0123456789"
    assert replaced(text, []) == text
    assert replaced(text, [(2, 4, "A", 0.5), (3, 6, "B", 0.9), (8, 10, "C", 0.1)]) == "01<B>67<C>"
    assert replaced(text, [(0, 3, "A", 0.5), (3, 5, "B", 0.5)]) == "<A><B>56789"
