"""Releases under a fixed key are what they have always been: faster code may not change a byte."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from inkblur.documents import Privatizer, TokenPolicies
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms import make_mechanism
from inkblur.rng import keyed_rng
from inkblur.types import Record

KEY = bytes(range(32))
TEXTS = (
    "Wordab met WORDAC, wordad and wordae's cousin. He didn't pay 3.50! Why?",
    "",
    "  \t\n",
    "...?! “Wordaf.” (wordag) wordah_wordai-wordaj/wordak abc12 12:30 a.b U.S.",
    "Mail a.b+c@d-e.org or @bob, see www.a.io/b). http://x.y/z?q=1, ftp://x; wordal://",
    "Wordam’s cafe\u0301 नमस्ते שלום 😀 👨\u200d👩\u200d👧 ² ½ x² 日本語。 Wordan…",
    "the wordao of wordap\r\nis\u2028not\u00a0wordaq" + " wordar, Wordas!" * 40,
    "wordat wordau wordav wordaw wordax",
    "no known thing here, none.",
)
SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("laplace", {"epsilon": 1.5}, {}, "908b2d50a5914758"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.5}, {}, "5e8d25634aac5907"),
    ("mahalanobis", {"epsilon": 0.7, "lam": 1.0}, {"release": "bag"}, "0c1fdf10e93a4690"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.0}, {"length": 4}, "7b36fffa8b62df11"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.3}, {"release": "bag", "length": 9}, "758efe2c642c5606"),
    ("component-laplace", {"epsilon": 1.0}, {}, "1823e2e25e89d924"),
    ("exponential", {"epsilon": 6.0}, {}, "90b01e300e65f785"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["stop-words", "capitals"]}, "9e394b4b3af3f2b3"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["unknown", "numbers"], "length": 6}, "88b8a9b47c6d5d64"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["addresses", "punctuation"]}, "722c66bc3513d880"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["punctuation", "spaces", "capitals"], "length": 3}, "e32b775bfb98d9dd"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["spaces", "unknown"], "drop": ["stop-words"]}, "048d0b56e1a902c3"),
    ("laplace", {"epsilon": 3.0}, {"drop": ["punctuation", "unknown", "numbers"]}, "2015e40ed4d7b6c7"),
    ("laplace", {"epsilon": 3.0}, {"drop": ["addresses", "stop-words"], "keep": ["punctuation"]}, "dbeb0d820a90bad9"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "release", "expected"), SETTINGS)
def test_release_under_a_fixed_key(
    toy: Embedding, name: str, parameters: dict[str, Any], release: dict[str, Any], expected: str
) -> None:
    options = dict(release)
    policies = TokenPolicies.of(keep=options.pop("keep", ()), drop=options.pop("drop", ()))
    blur = Privatizer(make_mechanism(name, toy, **parameters), policies=policies, **options)
    records = [Record(str(place), text) for place, text in enumerate(TEXTS)]
    released = blur.release_batch(records, keyed_rng(KEY))
    facts = repr((released.texts, sorted(released.counts.items())))
    assert hashlib.sha256(facts.encode()).hexdigest()[:16] == expected
