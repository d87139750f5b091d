"""What evaluate says about reading, repetition, linking, singling out and inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.catalogue import NAMES
from inkblur.evaluation.attacks.inference import infer
from inkblur.evaluation.dataset import make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Released, Releaser
from inkblur.evaluation.reports.html import QUESTIONS
from inkblur.evaluation.reports.tables import glance_table, measured_table
from inkblur.evaluation.results import Evaluation, Measurement, not_measured
from inkblur.guarantees import Guarantee
from inkblur.pools import build_pool
from inkblur.pools.pool import write_pool
from inkblur.rng import Rng, seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric

from .made import corpus, table

pytest.importorskip("sklearn")

DISCLOSED = QUESTIONS["disclosed"]
PLAN = Plan(seed=5, attacks=("svm",), models=(), repeats=1)


def report(*specs: ReleaseSpec, public: int = 0) -> Evaluation:
    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, secrets=labels, seed=5)
    return evaluate(data, table(), specs, PLAN, public=corpus(seed=9)[0][:public])


def value(found: tuple[Measurement, ...], attack: str, measure: str) -> float:
    one = next(d for d in found if d.attack == attack and measure in d.scenario)
    assert one.accuracy.over == "texts"
    return one.accuracy.mean


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
        assert value(faint.measurements, attack, measure) >= shown
        assert value(loud.measurements, attack, measure) <= hidden


SETTINGS = {
    "plain": ReleaseSpec("exponential", epsilon=10.0),
    "cut": ReleaseSpec("exponential", epsilon=10.0, length=5),
    "dropped": ReleaseSpec("exponential", epsilon=10.0, drop=("numbers", "unknown")),
    "kept": ReleaseSpec("exponential", epsilon=10.0, keep=("numbers", "stop-words")),
    "signs kept": ReleaseSpec("exponential", epsilon=10.0, keep=("punctuation", "sentence-ends")),
    "bag": ReleaseSpec("exponential", epsilon=10.0, release="bag"),
    "bag of a size": ReleaseSpec("laplace", epsilon=50.0, release="bag", length=12),
    "tf": ReleaseSpec("exponential", epsilon=10.0, release="tf", length=12),
}


class Given(Releaser):
    """Texts that another tool released."""

    name, guarantee = "given", Guarantee(float("inf"), Metric.NONE, void="nobody knows")

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        return Released(tuple(" ".join(reversed(text.split())) for text in texts))

    def to_json(self) -> dict[str, Any]:
        return {}


def pooled(folder: Path) -> ReleaseSpec:
    place = folder / "a.pool"
    write_pool(place, build_pool(corpus(each=30, seed=11)[0], table(), name="made"))
    return ReleaseSpec(epsilon=8.0, unit="text", pool=str(place))


@pytest.mark.parametrize("setting", [*SETTINGS, "pool", "large pool", "given"])
@pytest.mark.parametrize("known", [True, False], ids=["all is known", "texts alone"])
def test_every_attack_has_a_value_or_a_reason(
    setting: str, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some were left out without a word, and the weaker ones stood for the risk."""
    release: ReleaseSpec | Releaser
    if setting in SETTINGS:
        release = SETTINGS[setting]
    else:
        release = Given() if setting == "given" else pooled(tmp_path)
    if setting == "large pool":
        monkeypatch.setattr("inkblur.evaluation.target.LARGEST_POOL", 1)
    texts, names, labels = corpus()
    texts = [f"{text} the Anna 7." for text in texts]
    facts: dict[str, Any] = {"authors": names, "secrets": labels} if known else {"labels": labels}
    data = make_dataset(texts, **facts, seed=5)
    plan = replace(PLAN, attacks=("svm", "likelihood", "stacked") if known else ())
    public = [f"{text} 7 Anna." for text in corpus(seed=9)[0][:20]] if known else []
    (found,) = evaluate(data, table(), [release], plan, public=public).settings
    tried = {(m.attack, m.scenario) for m in found.measurements if m.status == "measured"}
    missing = {(attack, what) for attack, what, _ in not_measured(found.measurements)}
    assert not tried & missing
    assert all(bool(m.reason) != (m.status == "measured") for m in found.measurements)
    for attack, measures in {
        "reading": ("words recovered",),
        "repetition": ("words recovered from", "released twice", "3 times in an author"),
        "singling out": ("by words", "by words and length", "by the channel"),
        "linking": ("area under the curve",),
        "inference": ("adaptive", "static", "by the channel") if known else ("secret labels",),
    }.items():
        for measure in measures:
            assert any(a.startswith(attack) and measure in m for a, m in tried | missing), measure
    of_authors = [m for a, m in missing if a == "author"]
    for name in NAMES if known else ():
        named = any(name in m.replace(",", "").split() for m in of_authors)
        assert named != any(each.name == name for each in found.attacks), name
    assert known or len(of_authors) == 1
    in_places = setting in SETTINGS and "bag" not in setting and setting != "tf"
    readers = {a for a, _ in tried if a.startswith("reading")}
    assert len(readers) == (1 + known if in_places else 0)
    if known and setting in SETTINGS:
        assert not {m for a, m in missing if a in ("inference", "linking")}
        assert not any("by the channel" in m for _, m in missing)


@pytest.mark.parametrize(
    "options",
    [
        {"length": 20},
        {"length": 6},
        {"drop": ("numbers", "stop-words")},
        {"keep": ("sentence-ends", "punctuation")},
        {"keep": ("numbers", "stop-words")},
        {"keep": ("numbers", "stop-words"), "length": 20},
    ],
    ids=["filled", "cut", "dropped", "signs kept", "kept", "kept and filled"],
)
def test_an_attacker_who_knows_the_setting_reads_and_traces_what_little_noise_shows(
    options: dict[str, Any],
) -> None:
    """With a length nobody was traced by the channel, so that 0.00 stood for singling out."""
    texts, names, labels = corpus()
    texts = [f"7 and {text.replace(' ', ', the 12 ', 3)}." for text in texts]
    data = make_dataset(texts, authors=names, secrets=labels, seed=5)
    loud = ReleaseSpec("exponential", epsilon=0.1, **options)
    faint = ReleaseSpec("laplace", epsilon=200.0, **options)
    shown, hidden = (
        each.measurements for each in evaluate(data, words(), [faint, loud], PLAN).settings
    )
    kept = 8 / 20 if "numbers" in options.get("keep", ()) else 0.0  # of the words are copied
    for attack, measure, most in (
        ("reading (unigram)", "words recovered", 0.3 + kept),
        ("repetition", "words recovered from 10", 0.4 + kept),
        ("singling out", "by the channel", 0.5),
        ("inference", "guessed, by the channel", 0.9),
    ):
        # Numbers that are not copied enter as null words.
        entering = 0.9 if kept or "singling" in attack else 0.5
        assert value(shown, attack, measure) >= entering, measure
        assert value(hidden, attack, measure) <= most, measure


@pytest.mark.parametrize("length", [None, 9])
def test_what_is_copied_is_read_and_gives_the_original_away(length: int | None) -> None:
    texts = [f"{row} boats, the Anna and fish" for row in range(24)]
    data = make_dataset(texts, authors=["a", "b"] * 12, seed=5)
    kept = ReleaseSpec("exponential", epsilon=0.1, keep=("numbers",), length=length)
    named = kept.varied(keep=(), names="keep")
    traced, read = evaluate(data, words(), [kept, named], PLAN).settings
    for attack, measure, most in (
        ("reading (unigram)", "numbers recovered", 0.0),
        ("singling out", "by the channel", 0.5),
    ):
        assert value(traced.measurements, attack, measure) == 1.0
        assert value(read.measurements, attack, measure) <= most
    assert value(read.measurements, "reading (unigram)", "names recovered") == 1.0
    assert value(traced.measurements, "reading (unigram)", "names recovered") == 0.0


def words() -> Embedding:
    """The made table and three words that stop."""
    vectors = np.vstack([table().vectors, -9.0 * np.eye(6)[:3]])
    return Embedding([*table().words, "the", "and", "of"], vectors, name="words")


@pytest.mark.parametrize("setting", ["bag", "bag of a size", "tf", "text pool"])
def test_texts_without_places_are_traced_by_the_channel_all_the_same(
    setting: str, tmp_path: Path
) -> None:
    least = 0.8
    if setting == "text pool":
        faint, least = pooled(tmp_path).varied(epsilon=30.0), 0.15
        texts, names, _ = corpus(each=30, seed=11)  # each stands in the pool
    else:
        faint = SETTINGS[setting].varied(epsilon=2e2)
        texts, names, _ = corpus()
    data = make_dataset(texts, authors=names, seed=5)
    plan = replace(PLAN, attacks=())
    (found,) = evaluate(data, table(), [faint], plan).settings
    assert value(found.measurements, "singling out", "by the channel") > least


def test_what_is_read_is_what_enters() -> None:
    """Anna'll is Anna, who enters as the null word; her name was drawn as a word, and recovered."""
    made = Embedding(["anna", *table().words], [[9.0] * 6, *table().vectors], name="named")
    texts, names, _ = corpus()
    texts = [f"{text} Anna'll Anna'll" for text in texts]
    data = make_dataset(texts, authors=names, seed=5)
    (found,) = evaluate(data, made, [ReleaseSpec("laplace", epsilon=200.0)], PLAN).settings
    assert value(found.measurements, "reading (unigram)", "words recovered") > 0.8
    assert value(found.measurements, "reading (unigram)", "names recovered") == 0.0


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
    spec = ReleaseSpec("exponential", epsilon=0.1, **{"length": "exact", **options})
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    words, both = (
        value(found.measurements, "singling out", measure)
        for measure in ("original among 12, by words", "the same, by words and length")
    )
    lengths = {len(release_of(spec, text)) for text in data.test.texts}
    assert both >= max(words, len(lengths) / 12)


def release_of(spec: ReleaseSpec, text: str) -> list[str]:
    return str(spec.privatizer(table()).release(text, seeded_rng(1)).text).split()


def test_the_length_of_a_release_with_copied_words_gives_its_original_away() -> None:
    texts = ["12 " * (3 * row) + "boat" for row in range(12)]
    parts = ["train"] * 12 + ["test"] * 12
    data = make_dataset(texts * 2, authors=["a", "b"] * 12, parts=parts, seed=5)
    spec = ReleaseSpec("exponential", epsilon=0.1, keep=("numbers",))
    (found,) = evaluate(data, table(), [spec], PLAN).settings
    assert value(found.measurements, "singling out", "by words and length") == 1.0


def test_without_reading_the_other_attacks_through_the_channel_are_tried_all_the_same() -> None:
    """They went with it, and the weaker ones by words alone stood for the risk."""
    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, secrets=labels, seed=5)
    spec = ReleaseSpec("staircase", epsilon=3.0)
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    measures = [m.scenario for m in found.measurements if m.value]
    assert not any(m.question == "reading" for m in found.measurements if m.value)
    assert any("by the channel and" in measure for measure in measures)
    assert any("guessed, by the channel" in measure for measure in measures)


def test_a_sample_of_a_file_in_order_of_authors_has_texts_of_both() -> None:
    """The first 500 were one author's, so that linking was left out without a word."""
    texts, names, _ = corpus(each=610, authors=2)
    parts = ["train" if row % 610 < 10 else "test" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, parts=parts, seed=5)
    plan = replace(PLAN, meaning_texts=0, read_texts=0)
    (found,) = evaluate(data, table(), [ReleaseSpec("laplace", epsilon=200.0)], plan).settings
    assert value(found.measurements, "linking", "area") > 0.7


def test_the_page_leads_with_the_strongest_attack_and_shows_every_disclosure() -> None:
    found = report(ReleaseSpec("laplace", epsilon=5.0))
    worst = found.settings[0].largest_risk()
    assert worst is not None
    assert glance_table(found).rows[0].cells[2].text == f"{worst.accuracy.mean:.1%}"
    shown = measured_table(found, *DISCLOSED)
    result = found.settings[0]
    missing = [m for m in not_measured(result.measurements) if m[0] != "author"]
    elsewhere = "author", "labels", "meaning"
    measured = [m for m in result.measurements if m.value and m.question not in elsewhere]
    assert len(shown.rows) == len(measured) + len(missing) > 10
    assert any("estimated" in row.cells[2].text for row in shown.rows)  # vector noise says so
    (linked,) = [row.cells for row in shown.rows if row.cells[1].text == "linking"]
    assert linked[4].text == "0.500"  # like the area beside it, no share


def test_who_infers_a_secret_knows_which_is_common() -> None:
    """A rare label that noise hides is hardly ever named, so that nobody does worse than by guessing
    the common one; an attack through the channel did.
    """
    texts, names, _ = corpus(each=30)
    secrets = ["rare" if row % 10 == 0 else "common" for row in range(len(texts))]
    data = make_dataset(texts, authors=names, secrets=secrets, seed=5)
    spec = ReleaseSpec("exponential", epsilon=0.1)
    (found,) = evaluate(data, table(), [spec], replace(PLAN, read_texts=0)).settings
    guessed = [m for m in found.measurements if m.question == "inference" and m.value]
    assert len(guessed) == 3
    for each in guessed:
        assert each.chance is not None
        assert each.accuracy.mean >= each.chance - 0.1, each.scenario


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
