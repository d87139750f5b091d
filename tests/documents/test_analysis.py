"""Reading piece by piece, from memory, is reading token by token."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.documents import TokenPolicies
from inkblur.documents import analysis as module
from inkblur.documents.analysis import Analyst, Slot, assemble, folded
from inkblur.documents.policies import is_name
from inkblur.documents.tokens import TokenClass, tokenize, written_words
from inkblur.embeddings.table import Embedding
from inkblur.ledger.events import normalized

# Letters, digits, ends of sentences, what closes and what opens, parts of addresses, a combining
# mark and a joiner, an emoji, and white space of every kind: \x1c and \x85 are white space too.
ALPHABET = "aabBd1.!?…,;'’\"”()[]@:/w-_<é\u0301\u200d😀 \n\t\x1c\x85\u2028\u3000"
WORDS = [
    "a",
    "b",
    "bad",
    "the",
    "it's",
    "www.a.b",
    "x://y",
    "a@b.d",
    "1.5",
    "?!",
    '."',
    "the.",
    "bad.",
]
pieces = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
jumble = st.lists(st.one_of(st.text(ALPHABET, max_size=6), st.sampled_from([*WORDS, " ", "\n"])))
words_alone = st.lists(st.sampled_from(["a", "b", "bad", "the"]), max_size=9).map(" ".join)
texts = st.one_of(pieces, words_alone, jumble.map("".join))

POLICIES = [
    TokenPolicies(),
    TokenPolicies.of(drop=["stop-words", "numbers", "unknown"]),
    TokenPolicies.of(keep=["numbers", "unknown"], drop=["addresses"]),
    TokenPolicies.of(drop=["punctuation"], keep=["addresses", "stop-words"]),
    TokenPolicies.of(keep=["punctuation"]),
    TokenPolicies.of(keep=["sentence-ends"], drop=["stop-words"]),
]


@settings(deadline=None)
@given(texts)
def test_no_token_crosses_white_space(text: str) -> None:
    whole = [(token.kind, token.text) for token in tokenize(text)]
    pieces = chain.from_iterable(tokenize(piece) for piece in text.split())
    assert [(token.kind, token.text) for token in pieces] == whole
    words = [text for kind, text in whole if kind is TokenClass.WORD]
    assert written_words(text) == words
    assert written_words(text) == words  # now from memory


@pytest.mark.parametrize("policies", POLICIES, ids=lambda p: f"{p.kept} {p.stop_words}")
@given(st.lists(texts, min_size=1, max_size=8))
@settings(deadline=None)
def test_what_is_remembered_changes_nothing(policies: TokenPolicies, documents: list[str]) -> None:
    table = Embedding(["a", "b", "bad", "the"], [[0.0], [1.0], [2.0], [3.0]], name="toy")
    analyst = Analyst(table, policies)
    for text in [*documents, *documents]:  # the second time from memory
        ids: list[int] = []
        slots: list[Slot] = []
        counted: list[str] = []
        Analyst(table, policies)._read_on(text, ids, slots, counted)
        read = analyst.read(text)
        assert (read.ids, read.slots) == (ids, slots)
        classes = dict(read.counts)
        assert classes.pop("read") == len(counted)
        assert classes == Counter(counted)


usual = st.lists(st.sampled_from([module._PLAIN, module._FULL_STOP]))
unusual = st.lists(
    st.sampled_from([module._PLAIN, module._FULL_STOP, Slot(" ", None, "names null"), Slot("", "")])
)


@given(st.sampled_from([module._FIRST, Slot(" "), Slot("", "1")]), st.one_of(usual, usual, unusual))
def test_words_and_full_stops_are_put_together_as_anything_else(
    first: Slot, rest: list[Slot]
) -> None:
    """The quick way for the usual text against the general one, which a kept slot asks for."""
    slots = [first, *rest]
    words = [f"w{i}" for i, slot in enumerate(slots) if slot.copied is None]
    other_way = [*slots, Slot("", "|")]
    assert assemble(slots, words) + "|" == assemble(other_way, words)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 3)
    table = Embedding(["a", "b"], [[0.0], [1.0]], name="toy")
    analyst = Analyst(table, TokenPolicies())
    long = "b" * (module._REMEMBERED_LETTERS + 1)
    text = f"a {long} a b, a. b; c d e f"
    assert analyst.read(text) == analyst.read(text)
    assert len(analyst._pieces) == 3
    assert len(analyst._judged) == 3
    assert long not in analyst._pieces


def test_a_copy_remembers_nothing_of_the_texts() -> None:
    """A pickle must not carry words, numbers and addresses of true texts."""
    analyst = Analyst(Embedding(["a", "b"], [[0.0], [1.0]], name="toy"), TokenPolicies())
    text = "a secret: 0815 bob@b.org"
    read = analyst.read(text)
    kept = pickle.dumps(analyst)
    assert analyst._pieces
    assert not any(piece in kept for piece in (b"secret", b"0815", b"bob"))
    assert pickle.loads(kept).read(text) == read


def test_marks_without_end_take_linear_time() -> None:
    """Unicode sorts the marks of one letter by pairs: 250,000 of them, in a C function that nobody
    can interrupt, took a minute and a half, in which a server answered nobody.
    """
    word = "a" + "\u0301" * 60_000 + "\u0323" * 60_000
    began = time.process_time()
    assert folded(word) != word  # composed, as any other
    assert not is_name(word)
    assert normalized(word) == normalized(f" {word} ")
    assert time.process_time() - began < 2
    assert normalized("e\u0301" * 60) == normalized("\u00e9" * 60)
