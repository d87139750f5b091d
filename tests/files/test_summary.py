"""The report adds up, whatever the texts and the policies."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur import Privatizer, load_embedding
from inkblur.documents import TokenPolicies, Treatment
from inkblur.documents.tokens import tokenize
from inkblur.embeddings.table import Embedding
from inkblur.files.summary import Fate, Summary
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.staircase import Staircase
from inkblur.mechanisms.strengths import epsilon_for, typical_loss
from inkblur.rng import seeded_rng
from inkblur.types import Record, Strength

TABLE = Embedding(
    ["alpha", "beta", "the", "of", "doctor", "john"],
    [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [0, 2]],
    name="six",
)
PIECES = ["alpha", "Beta", "the", "of", "doctor", "John", "Garcia's", "12", "x@y.org", "zork", "."]
PIECES += ["!?", "…", "😀", "(", "\U000e0041", "don't", "\n", "\u2003"]
texts = st.lists(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=12).map(" ".join),
    max_size=4,
)
CLOSED = {
    "punctuation": ["drop", "keep"],
    "sentence_ends": ["drop", "keep"],
    "names": ["blur", "null", "keep"],
}
policies = st.fixed_dictionaries(
    {
        field.name: st.sampled_from(
            [Treatment(v) for v in CLOSED.get(field.name, ["blur", "drop", "keep"])]
        )
        for field in fields(TokenPolicies)
    }
).map(lambda given: TokenPolicies(**cast(Any, given)))


def summarized(blur: Privatizer, documents: list[str]) -> Summary:
    records = [Record(str(place), text) for place, text in enumerate(documents)]
    released = blur.release_batch(records, seeded_rng(3))
    typical = typical_loss(blur.mechanism)
    return Summary(
        privatizer=blur,
        guarantee=blur.guarantee,
        typical=typical,
        documents=len(records),
        counts=released.counts,
        seconds=1.0,
        fate=Fate(("text",)),
        lengths=Counter(released.words),
    )


@given(texts, policies, st.none() | st.integers(1, 9), st.sampled_from(["sequence", "bag"]))
@settings(deadline=None, max_examples=300)
def test_the_totals_add_up(
    documents: list[str], chosen: TokenPolicies, length: int | None, kind: str
) -> None:
    if kind == "bag" and chosen.kept:
        chosen = TokenPolicies()
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), release=kind, policies=chosen, length=length)
    report: dict[str, Any] = summarized(blur, documents).to_json()["tokens"]
    assert report["total"] == sum(len(list(tokenize(text))) for text in documents)
    assert report["total"] == (
        report["known_words"]
        + report["null_words"]
        + sum(report["copied"].values())
        + sum(report["dropped"].values())
        + report["cut"]
    )
    assert report["drawn"] == report["known_words"] + report["null_words"] + report["padding"]
    assert report["known_words"] == report["unchanged"] + report["replaced"]
    assert 0 <= report["content_unchanged"] <= report["content_words"] <= report["known_words"]
    assert report["content_unchanged"] <= report["unchanged"]
    assert 0 <= report["names_as_null_words"] <= report["null_words"]
    if length is not None:
        assert report["drawn"] == length * len(documents)
    counts = [report[name] for name in ("known_words", "null_words", "cut", "padding", "drawn")]
    assert min([*counts, *report["copied"].values(), *report["dropped"].values()]) >= 0


def test_padding_and_null_words_do_not_lower_the_share() -> None:
    """With `length=200` a text of which every word survives was called 5 % unchanged."""
    text = "the alpha of 12 garcia"
    for length in (None, 200):
        sure = Privatizer(Laplace(TABLE, epsilon=500.0), length=length)
        survival = summarized(sure, [text]).survival
        assert (survival.known, survival.unchanged) == (3, 3)
        assert (survival.content, survival.content_unchanged) == (1, 1)


def test_a_bag_counts_the_words_it_shows_wherever_they_were() -> None:
    sure = Privatizer(Laplace(TABLE, epsilon=500.0), release="bag", length=9)
    survival = summarized(sure, ["alpha beta alpha doctor"]).survival
    assert (survival.known, survival.unchanged) == (4, 4)


@pytest.mark.parametrize(("epsilon", "hides"), [(0.01, True), (500.0, False)])
def test_the_owner_is_told_what_comes_out(epsilon: float, hides: bool) -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=epsilon), length="exact")
    summary = summarized(blur, ["alpha beta doctor the of"] * 40)
    told = "\n".join(summary.lines())
    assert "% of the content words) are unchanged" in told
    assert ("does not hide the texts" in told) is not hides
    assert summary.to_json()["tokens"]["hides_the_texts"] is hides


def test_of_no_words_nothing_is_said() -> None:
    """A file without texts was told that 0 % of its words are unchanged."""
    blur = Privatizer(Laplace(TABLE, epsilon=500.0), length="exact")
    for documents in ([], ["", "12"]):
        summary = summarized(blur, documents)
        assert "unchanged" not in "\n".join(summary.lines())
        assert summary.to_json()["tokens"]["sentences"] == []
    told = "\n".join(summarized(blur, ["the of"]).lines())
    assert "100% of the words are unchanged" in told  # and nothing of content words: none is there
    assert "content words" not in told


def test_words_that_are_copied_come_out() -> None:
    """Of these eight words seven are copied: "0 % come out" would be what happened to one."""
    kept = TokenPolicies.of(keep=["stop-words", "unknown"], names="keep")
    blur = Privatizer(Laplace(TABLE, epsilon=0.01), policies=kept, length="exact")
    summary = summarized(blur, ["the of the doctor John Garcia zork zork 12"] * 50)
    tokens = summary.to_json()["tokens"]
    assert tokens["known_words"] == tokens["unchanged"] + tokens["replaced"] == 50
    assert tokens["unchanged_share"] == pytest.approx((350 + tokens["unchanged"]) / 400, abs=1e-3)
    assert tokens["content_unchanged_share"] > 0.8
    assert not tokens["hides_the_texts"]
    assert "more than half of the words are unchanged: this does not hide" in "\n".join(
        summary.lines()
    )


def test_names_are_counted() -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), length="exact")
    summary = summarized(blur, ["John Garcia and zork 12"])
    assert summary.counts["names null"] == 2
    assert "2 names of people" in "\n".join(summary.lines())
    kept = Privatizer(
        Laplace(TABLE, epsilon=1.0), policies=TokenPolicies.of(names="keep"), length="exact"
    )
    assert "copied, not protected: 2 names" in "\n".join(summarized(kept, ["John Garcia"]).lines())


def test_the_report_says_that_it_is_not_for_publication() -> None:
    report = summarized(
        Privatizer(Laplace(TABLE, epsilon=1.0), length="exact"), ["alpha"]
    ).to_json()
    assert report["note"].endswith("not protected: do not publish this report.")


def test_counts_are_sums_over_documents() -> None:
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), length=4)
    documents = ["alpha beta the of doctor x 12.", "John alpha", ""]
    total: Counter[str] = Counter()
    for place, text in enumerate(documents):
        total += blur.release_batch([Record(str(place), text)], seeded_rng(3)).counts
    assert +total == +summarized(blur, documents).counts


ENGLISH = "the doctor said that nobody should worry about the weather before the end of spring " * 2
FOREIGN = {
    "German": "Der Arzt sagte, niemand solle sich vor dem Ende des Frühlings um das Wetter sorgen, "
    "denn der Regen komme ohnehin erst mit den letzten warmen Tagen im Herbst zurück.",
    "French": "Le médecin a dit que personne ne devait se soucier du temps avant la fin du "
    "printemps, car la pluie ne reviendrait de toute façon qu'avec les derniers beaux jours.",
    "Spanish": "El médico dijo que nadie debería preocuparse por el tiempo antes del final de la "
    "primavera, porque la lluvia no volvería hasta los últimos días cálidos del otoño.",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_a_table_of_another_language_is_questioned(language: str) -> None:
    blur = Privatizer(Laplace(load_embedding(), epsilon=50.0), length="exact")
    summary = summarized(blur, [FOREIGN[language]] * 2)
    assert "are not in the English vocabulary: is that the texts' language" in "\n".join(
        summary.lines()
    )
    report = summary.to_json()["vocabulary"]
    assert report["unknown_share"] > 0.3
    assert not report["fits_the_texts"]


def test_english_texts_fit_the_bundled_table() -> None:
    blur = Privatizer(Laplace(load_embedding(), epsilon=50.0), length="exact")
    summary = summarized(blur, [ENGLISH] * 2)
    assert "are not in the vocabulary" not in "\n".join(summary.lines())
    assert summary.to_json()["vocabulary"]["fits_the_texts"]


@pytest.mark.parametrize("unknown", ["blur", "drop", "keep"])
def test_other_tables_are_questioned_in_their_own_terms(unknown: str) -> None:
    """Whatever becomes of unknown words, and however English the stop words are."""
    chosen = TokenPolicies(unknown=Treatment(unknown))
    blur = Privatizer(Laplace(TABLE, epsilon=1.0), policies=chosen, length="exact")
    summary = summarized(blur, ["the zork of alpha and the blarg of zonk doctor"] * 5)
    assert (summary.coverage.known, summary.coverage.unknown) == (10, 15)
    told = "\n".join(summary.lines())
    assert "60% of the content words are not in the vocabulary: is that the texts' language" in told
    few = summarized(blur, ["zork alpha"])
    assert few.coverage.fits  # two words say nothing about a language


@pytest.mark.parametrize("words", [94, 510])
def test_the_risks_are_those_of_half_of_the_texts(words: int) -> None:
    """And of none where nobody attacked texts of that length."""
    epsilon = epsilon_for(Strength.MEDIUM, "staircase", load_embedding())
    blur = Privatizer(Staircase(load_embedding(), epsilon=epsilon))
    summary = summarized(blur, ["the doctor " * (words // 2), "the", "of a doctor " * words])
    assert summary.risks.measured == (words == 94)
    assert [risk.words for risk in summary.risks.risks] == [words if words == 94 else None] * 3
    kept = summary.to_json()["risks"]
    assert [risk["name"] for risk in kept["risks"]] == [risk.name for risk in summary.risks.risks]
    void = replace(summary, guarantee=summary.guarantee.voided("its key is public"))
    assert not void.risks.measured
