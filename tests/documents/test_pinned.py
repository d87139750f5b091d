"""Releases under a fixed key are what they have always been: faster code may not change a byte."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
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
    ("laplace", {"epsilon": 1.5}, {}, "f30151e6a073608e"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.5}, {}, "9c1d779c4aa75c59"),
    ("mahalanobis", {"epsilon": 0.7, "lam": 1.0}, {"release": "bag"}, "b19686b50222d326"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.0}, {"length": 4}, "2ec7016b5b8dd4d1"),
    ("mahalanobis", {"epsilon": 2.0, "lam": 0.3}, {"release": "bag", "length": 9}, "099a20e32ad1ef4e"),
    ("component-laplace", {"epsilon": 1.0}, {}, "fe704ae97a36a6f4"),
    ("exponential", {"epsilon": 6.0}, {}, "c54ff7e06945c29c"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["unknown", "numbers"], "length": 6}, "11991761b050e4d0"),
    ("laplace", {"epsilon": 3.0}, {"keep": ["addresses", "punctuation"]}, "7dc729264e1cc939"),
    ("laplace", {"epsilon": 3.0}, {"drop": ["punctuation", "unknown", "numbers"]}, "3e9ff8d8b71e1815"),
    ("laplace", {"epsilon": 3.0}, {"drop": ["addresses", "stop-words"], "keep": ["punctuation"]}, "d8c55562561f30b6"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "release", "expected"), SETTINGS)
def test_release_under_a_fixed_key(
    toy: Embedding, name: str, parameters: dict[str, Any], release: dict[str, Any], expected: str
) -> None:
    options = dict(release)
    policies = TokenPolicies.of(keep=options.pop("keep", ()), drop=options.pop("drop", ()))
    blur = Privatizer(
        make_mechanism(name, toy, **parameters), policies=policies, **{"length": "exact", **options}
    )
    records = [Record(str(place), text) for place, text in enumerate(TEXTS)]
    released = blur.release_batch(records, keyed_rng(KEY))
    facts = repr((released.texts, sorted(released.counts.items())))
    assert hashlib.sha256(facts.encode()).hexdigest()[:16] == expected
