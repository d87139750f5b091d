"""20 Newsgroups as SynTF uses it: the figures of its Table 1, and scikit-learn's stripping."""

import os

import numpy as np
import pytest

from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.dataset import Dataset
from reproduction import corpora
from reproduction.newsgroups import SCENARIOS, stripped, suspects, syntf_newsgroups

needs_data = pytest.mark.skipif(
    not os.environ.get(corpora.VARIABLE), reason=f"set {corpora.VARIABLE} to the data folder"
)
POSTING = (
    "From: kim@example.org\nSubject: s\n\nIn article 7:\n> old\n| older\nnew\n\nlast\n---\nKim"
)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return syntf_newsgroups()


@needs_data
@pytest.mark.parametrize(
    ("scenario", "train", "test"),
    [("top-5", 35, 17), ("top-10", 28, 9), ("top-5-multi", 29, 9), ("top-10-multi", 21, 8)],
)
def test_suspects_have_the_postings_of_table_1(
    data: Dataset, scenario: str, train: int, test: int
) -> None:
    assert scenario in SCENARIOS
    chosen = suspects(data, scenario)
    assert len(chosen) == int(scenario.split("-")[1])
    assert min((data.train.authors == author).sum() for author in chosen) == train
    assert min((data.test.authors == author).sum() for author in chosen) == test
    groups = [
        {label for a, label in zip(data.train.authors, data.train.labels, strict=True) if a == s}
        for s in chosen
    ]
    assert min(map(len, groups)) == (2 if scenario.endswith("multi") else 1)


@needs_data
def test_all_postings_are_there_with_their_groups(data: Dataset) -> None:
    assert (data.facts.train, data.facts.test) == (11314, 7532)
    assert (data.facts.labels, data.facts.without_label) == (20, 0)
    known = data.test.authors[data.test.authors != DONT_KNOW]
    assert np.unique(known, return_counts=True)[1].min() == 8


@needs_data
def test_stripping_is_that_of_scikit_learn() -> None:
    reference = pytest.importorskip("sklearn.datasets._twenty_newsgroups")
    for posting in corpora.newsgroups().test.texts:
        bare = reference.strip_newsgroup_footer(reference.strip_newsgroup_header(posting))
        assert stripped(posting, quotes=False) == bare
        assert stripped(posting) == reference.strip_newsgroup_quoting(bare)


@needs_data
def test_no_text_begins_with_its_headers_and_no_sender_is_shown(data: Dataset) -> None:
    split = corpora.newsgroups()
    senders = [corpora.posting_from(posting) for posting in split.test.texts]
    addresses = [word for s in senders for word in s.split() if "@" in word and len(word) > 8]
    for sender, address in zip(senders[::200], addresses[::200], strict=False):
        assert sender not in data.names.masked(f"so {sender} said")
        assert address.strip("<>()") not in data.names.masked(f"write to {address} now")


def test_what_is_stripped() -> None:
    assert stripped(POSTING) == "new\n\nlast"
    assert stripped(POSTING, quotes=False) == "In article 7:\n> old\n| older\nnew\n\nlast"
    assert stripped("From: x\n\nonly line") == "only line"
    assert stripped("no empty line at all") == ""
