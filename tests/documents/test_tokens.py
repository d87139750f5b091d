from __future__ import annotations

import pytest

from inkblur.documents.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t stop", [("word", "Don’t"), ("word", "stop")]),
        ("rock'n'roll", [("word", "rock'n'roll")]),
        ("abc12 b2b 4th", [("number", "abc12"), ("number", "b2b"), ("number", "4th")]),
        ("3.50, 1,234.5 12:30", [("number", "3.50"), ("sign", ","), ("number", "1,234.5"), ("number", "12:30")]),
        ("(see www.a.io/b).", [("sign", "("), ("word", "see"), ("address", "www.a.io/b"), ("sign", ")"), ("sentence end", ".")]),
        ("WWW.A.IO Www.a.io", [("address", "WWW.A.IO"), ("address", "Www.a.io")]),
        ("mail a.b+c@d-e.org!", [("word", "mail"), ("address", "a.b+c@d-e.org"), ("sentence end", "!")]),
        ("hi @bob", [("word", "hi"), ("address", "@bob")]),
        ("Wait... what?!", [("word", "Wait"), ("sentence end", "..."), ("word", "what"), ("sentence end", "?!")]),
        ("He said “no.” Then", [("word", "He"), ("word", "said"), ("sign", "“"), ("word", "no"), ("sentence end", "."), ("sign", "”"), ("word", "Then")]),
        ("U.S. a.b", [("word", "U"), ("sign", "."), ("word", "S"), ("sentence end", "."), ("word", "a"), ("sign", "."), ("word", "b")]),
        ("cafe\u0301 नमस्ते", [("word", "cafe\u0301"), ("word", "नमस्ते")]),
        ("שלום עולם", [("word", "שלום"), ("word", "עולם")]),
        ("well-known_name", [("word", "well"), ("sign", "-"), ("word", "known"), ("sign", "_"), ("word", "name")]),
        ("ftp://x.y/z, ok", [("address", "ftp://x.y/z"), ("sign", ","), ("word", "ok")]),
        ("", []),
        (" \n\t", []),
    ],
)  # fmt: skip
def test_classes(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(t.kind.value, t.text) for t in tokenize(text)] == expected


def test_an_emoji_never_shifts_an_offset() -> None:
    text = "😀 one 👨\u200d👩\u200d👧 two"
    found = {t.text: t.start for t in tokenize(text)}
    assert found["one"] == text.index("one") == 2
    assert found["two"] == text.index("two")


def test_a_long_text_without_spaces_takes_linear_time() -> None:
    """A pattern that backtracks would not come back from this."""
    for piece in ("a", "a'", "1", "1.", "@", ".", "a@", "http://"):
        assert sum(len(t.text) for t in tokenize(piece * 100_000)) > 0


@pytest.mark.parametrize("unit", ["a.", ".", "a'", "-", "!?", "www.", "a@", '."'])
def test_no_text_takes_long(unit: str) -> None:
    """With repeated scans of a run these would take hours; one scan takes a moment."""
    text = unit * 300_000 + "1 x@y.zz"
    assert "".join(token.text for token in tokenize(text)).endswith("x@y.zz")
