"""What evaluate says about reading, repetition, linking, singling out and inference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.inference import infer
from inkblur.evaluation.dataset import make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.tables import disclosure_tables, strongest_table
from inkblur.evaluation.results import Disclosure, Evaluation
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec

from .made import corpus, table

pytest.importorskip("sklearn")

PLAN = Plan(seed=5, attacks=("svm",), models=(), repeats=1)


def report(*specs: ReleaseSpec, public: int = 0) -> Evaluation:
    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, secrets=labels, seed=5)
    return evaluate(data, table(), specs, PLAN, public=corpus(seed=9)[0][:public])


def value(found: tuple[Disclosure, ...], attack: str, measure: str) -> float:
    one = next(d for d in found if d.attack == attack and measure in d.measure)
    assert one.value.over == "texts"
    return one.value.mean


def test_much_noise_hides_what_little_noise_shows() -> None:
    faint, loud = report(
        ReleaseSpec("laplace", epsilon=200.0), ReleaseSpec("exponential", epsilon=0.1)
    ).settings
    for attack, measure, shown, hidden in (
        ("reading (unigram)", "words recovered", 0.95, 0.3),
        ("repetition", "words recovered from 10", 0.95, 0.4),
        ("repetition", "content words released twice", 0.95, 0.9),
        ("singling out", ", by words", 0.95, 0.5),
        ("singling out", "by the channel", 0.95, 0.5),
        ("linking", "area", 0.8, 0.75),
        ("inference", "secret labels guessed, adaptive", 0.9, 0.9),
        ("inference", "secret labels guessed, by the channel", 0.9, 0.9),
    ):
        assert value(faint.disclosures, attack, measure) >= shown
        assert value(loud.disclosures, attack, measure) <= hidden


def test_a_public_file_adds_the_trigram_reader() -> None:
    (without,) = report(ReleaseSpec("exponential", epsilon=10.0)).settings
    (beside,) = report(ReleaseSpec("exponential", epsilon=10.0), public=20).settings
    assert "reading (trigram)" not in {d.attack for d in without.disclosures}
    assert "reading (trigram)" in {d.attack for d in beside.disclosures}


def test_reading_is_left_out_where_its_model_of_the_release_is_wrong() -> None:
    found = report(
        ReleaseSpec("exponential", epsilon=10.0, release="bag"),
        ReleaseSpec("exponential", epsilon=10.0, length=5),
        ReleaseSpec("exponential", epsilon=10.0, keep=("numbers",)),
        ReleaseSpec("exponential", epsilon=10.0, names="keep"),  # which are there to be read
    )
    for result in found.settings:
        attacks = {d.attack for d in result.disclosures}
        assert not any(attack.startswith("reading") for attack in attacks)
        assert "singling out" in attacks


def test_what_is_read_is_what_enters() -> None:
    """Anna'll is Anna, who enters as the null word; her name was drawn as a word, and recovered."""
    made = Embedding(["anna", *table().words], [[9.0] * 6, *table().vectors], name="named")
    texts, names, _ = corpus()
    texts = [f"{text} Anna'll Anna'll" for text in texts]
    data = make_dataset(texts, authors=names, seed=5)
    (found,) = evaluate(data, made, [ReleaseSpec("laplace", epsilon=200.0)], PLAN).settings
    assert value(found.disclosures, "reading (unigram)", "words recovered") > 0.8
    assert value(found.disclosures, "reading (unigram)", "names recovered") == 0.0


@pytest.mark.parametrize(
    "options", [{}, {"drop": ("stop-words",)}, {"length": 9}], ids=["plain", "dropped", "cut"]
)
def test_the_length_that_gives_an_original_away_is_the_one_that_is_released(
    options: dict[str, Any],
) -> None:
    """An address is a word once it is released, a dropped word is none, and of texts that are cut to
    a length all may be the original. Whoever counted otherwise looked among the wrong ones, and
    traced fewer texts by words and length than by words alone.
    """
    texts = [
        " ".join([*["see www.example.org"] * (row % 4), "the " * row, "boat"]) for row in range(12)
    ]
    parts = ["train"] * 12 + ["test"] * 12
    data = make_dataset(texts * 2, authors=["a", "b"] * 12, parts=parts, seed=5)
    spec = ReleaseSpec("exponential", epsilon=0.1, **options)
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    words, both = (
        value(found.disclosures, "singling out", measure)
        for measure in ("original among 12, by words", "the same, by words and length")
    )
    lengths = {len(release_of(spec, text)) for text in data.test.texts}
    assert both >= max(words, len(lengths) / 12)


def release_of(spec: ReleaseSpec, text: str) -> list[str]:
    return spec.privatizer(table()).release(text, seeded_rng(1)).text.split()


def test_length_is_not_looked_at_where_words_are_copied() -> None:
    """How many it shows then depends on more than how many enter."""
    (found,) = report(ReleaseSpec("exponential", epsilon=10.0, keep=("numbers",))).settings
    assert not any("by words and length" in each.measure for each in found.disclosures)


def test_a_consistent_release_is_not_traced_as_if_its_words_were_drawn_one_by_one() -> None:
    spec = ReleaseSpec("staircase", epsilon=3.0)
    plain, consistent = report(spec, spec.varied(consistent=True)).settings
    measures = [[d.measure for d in each.disclosures] for each in (plain, consistent)]
    assert any("by the channel and" in measure for measure in measures[0])
    assert not any("by the channel and" in measure for measure in measures[1])


def test_without_reading_the_other_attacks_through_the_channel_are_tried_all_the_same() -> None:
    """They went with it, and the weaker ones by words alone stood for the risk."""
    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, secrets=labels, seed=5)
    spec = ReleaseSpec("staircase", epsilon=3.0)
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    measures = [each.measure for each in found.disclosures]
    assert not any(each.attack.startswith("reading") for each in found.disclosures)
    assert any("by the channel and" in measure for measure in measures)
    assert any("guessed, by the channel" in measure for measure in measures)


def test_a_sample_of_a_file_in_order_of_authors_has_texts_of_both() -> None:
    """The first 500 were one author's, so that linking was left out without a word."""
    texts, names, _ = corpus(each=610, authors=2)
    parts = ["train" if row % 610 < 10 else "test" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, parts=parts, seed=5)
    plan = replace(PLAN, meaning_texts=0, read_texts=0)
    (found,) = evaluate(data, table(), [ReleaseSpec("laplace", epsilon=200.0)], plan).settings
    assert value(found.disclosures, "linking", "area") > 0.7


def test_the_page_leads_with_the_strongest_attack_and_shows_every_disclosure() -> None:
    found = report(ReleaseSpec("laplace", epsilon=5.0))
    (lead,) = strongest_table(found)
    worst = found.settings[0].strongest()
    assert worst is not None
    assert lead.rows[0].cells[1].text == f"{worst.attack}, {worst.attacker}"
    (shown,) = disclosure_tables(found)
    assert len(shown.rows) == len(found.settings[0].disclosures) > 10
    assert any("estimated" in row.cells[1].text for row in shown.rows)  # vector noise says so
    (linked,) = [row.cells for row in shown.rows if row.cells[0].text == "linking"]
    assert linked[3].text == "0.500"  # like the area beside it, no share


def test_who_infers_a_secret_knows_which_is_common() -> None:
    """A rare label that noise hides is hardly ever named, so that nobody does worse than by guessing
    the common one; an attack through the channel did.
    """
    texts, names, _ = corpus(each=30)
    secrets = ["rare" if row % 10 == 0 else "common" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, secrets=secrets, seed=5)
    spec = ReleaseSpec("exponential", epsilon=0.1)
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    guessed = [each for each in found.disclosures if each.attack == "inference"]
    assert len(guessed) == 3
    for each in guessed:
        assert each.chance is not None
        assert each.value.mean >= each.chance - 0.1, each.measure


def test_nothing_is_said_by_an_empty_text_but_the_commonest_secret() -> None:
    known, secrets = ["a boat", "a cloud", "boats sail"], ["sea", "sky", "sea"]
    found = infer(known, secrets, ["", "cloud"], ["sea", "sky"], seed=1)
    assert found.accuracy == 1.0


def test_a_secret_may_be_a_number() -> None:
    texts, names, _ = corpus()
    secrets: list[Any] = [row % 2 for row in range(len(texts))]
    data = make_dataset(texts, authors=names, secrets=secrets, seed=5)
    assert set(data.train.secrets) == {"0", "1"}
    assert infer(data.train.texts, data.train.secrets, data.test.texts, data.test.secrets, seed=1)


@pytest.mark.parametrize(
    ("secrets", "message"),
    [(["x"] * 32, "1 different value "), (["x", "y"] * 12 + ["z"] * 8, "secret that the training")],
)
def test_secrets_that_cannot_be_inferred_are_refused_before_any_attack(
    secrets: list[str], message: str
) -> None:
    texts = corpus()[0]
    parts = ["train"] * 24 + ["test"] * 8
    with pytest.raises(ParameterError, match=message):
        make_dataset(texts, secrets=secrets, authors=["a", "b"] * 16, parts=parts, seed=5)


def test_public_texts_that_teach_nothing_are_refused_before_any_attack() -> None:
    texts, names, _ = corpus()
    data = make_dataset(texts, authors=names, seed=5)
    steps: list[str] = []
    with pytest.raises(ParameterError, match="no text of three words"):
        evaluate(
            data,
            table(),
            [ReleaseSpec("staircase", epsilon=3.0)],
            PLAN,
            public=["two words"],
            on_step=lambda what, done, total: steps.append(what),
        )
    assert steps == []
