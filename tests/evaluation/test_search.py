"""Searching for a target: measured on one part, judged on another, and resumable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur.adaptation.adapt import adapt_embedding, usual_alpha
from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.evaluate import PreparedEvaluation
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import releaser
from inkblur.evaluation.results import STATIC
from inkblur.evaluation.tuning import trials as module
from inkblur.evaluation.tuning.adapted_grid import BETA, AdaptedBy, Candidate, Metrics, adapted_grid
from inkblur.evaluation.tuning.four_way_split import (
    FourWaySplit,
    PublicTexts,
    TextShare,
    make_parts,
)
from inkblur.evaluation.tuning.search import Search, search
from inkblur.evaluation.tuning.target import Target
from inkblur.evaluation.tuning.trials import FILE, Trial
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec, grid

from .made import corpus, table

pytest.importorskip("sklearn")
PLAN = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
SETTINGS = grid("laplace", {"epsilon": [0.3, 3.0, 100.0]})
GRID = adapted_grid(SETTINGS, table(), alphas=[0.5, 2.0])


def made(seed: int = 8) -> FourWaySplit:
    texts, _, labels = corpus(each=15, seed=seed)
    others, names, _ = corpus(each=12, seed=9)
    return make_parts([PublicTexts(texts, labels=labels), PublicTexts(others, names)], seed=4)


def found(folder: Path, target: str = "attack<=0.6", **changes: Any) -> Search:
    given: dict[str, Any] = {"candidates": GRID, "plan": PLAN, "parts": made(), **changes}
    return search(
        given["parts"],
        table(),
        given["candidates"],
        Target.parse(target),
        given["plan"],
        folder,
        **({"on_trial": given["on_trial"]} if "on_trial" in given else {}),
    )


def test_the_grid_has_every_metric_at_one_beta() -> None:
    both = adapted_grid(SETTINGS, table(), alphas=[0.5, 2.0], smoothings=[1.0, 10.0])
    assert len(set(both)) == 12
    assert {c.adapted for c in both[:3]} == {AdaptedBy(0.5, 1.0)}  # a metric is learned once
    assert [c.adapted for c in adapted_grid(SETTINGS, table())] == [None] * 3
    usual = adapted_grid(SETTINGS[:1], table(), smoothings=[1.0])[0].adapted
    assert usual is not None
    assert usual.alpha == pytest.approx(usual_alpha(table()), rel=5e-3)
    with pytest.raises(ParameterError, match="twice"):
        adapted_grid(SETTINGS, table(), alphas=[1.0, 1.0])
    with pytest.raises(ParameterError, match="alpha"):
        adapted_grid(SETTINGS, table(), alphas=[0.0])


@pytest.mark.parametrize("candidate", [GRID[0], Candidate(ReleaseSpec("mahalanobis", 2.0))])
def test_candidates_are_read_back(candidate: Candidate) -> None:
    assert Candidate.from_json(candidate.to_json()) == candidate


def test_the_metric_is_learned_from_the_teaching_part_alone() -> None:
    parts = made()
    adapted = Metrics(table(), parts).of(AdaptedBy(0.5, 10.0))
    taught = adapted.adaptations[-1]
    assert (taught.alpha, taught.beta, taught.smoothing) == (0.5, BETA, 10.0)
    assert taught.documents == len(parts.taught)


def test_one_scale_of_alpha_beta_and_epsilon_is_enough() -> None:
    """Why beta is fixed: everything twice as long at half the epsilon is the same release."""
    texts, _, labels = corpus(each=15, seed=8)
    words = np.arange(len(table())).repeat(20)
    for mechanism in ("laplace", "mahalanobis", "component-laplace"):
        released = []
        for scale in (1.0, 2.0):
            metric = adapt_embedding(
                table(), texts, {"topic": labels}, alpha=0.5 * scale, beta=3.0 * scale
            )
            blur = ReleaseSpec(mechanism, 2.0 / scale).mechanism_on(metric)
            assert isinstance(blur, Perturbation)
            released.append(blur.replace(words, seeded_rng(1)).tolist())
        assert released[0] == released[1] != words.tolist()


def test_the_choice_is_judged_once_on_held_out_texts(tmp_path: Path) -> None:
    result = found(tmp_path)
    assert [trial.candidate for trial in result.trials] == list(GRID)
    assert all(trial.part is TextShare.VALIDATION for trial in result.trials)
    assert result.best is not None
    assert result.best.attack <= 0.6
    allowed = [trial for trial in result.trials if trial.attack <= 0.6]
    assert result.best.utility == max(trial.utility for trial in allowed)
    assert result.held_out is not None
    assert result.held_out.part is TextShare.HELD_OUT
    assert result.held_out.candidate == result.best.candidate
    assert result.looks == 1
    weak, strong = result.trials[2], result.trials[0]
    assert strong.attack < weak.attack
    assert weak.utility == pytest.approx(1.0)  # epsilon 100 changes nothing
    assert weak.attack >= result.before.attack  # the attackers are at least as strong as before
    two = pytest.approx(0.5 / result.before.f1)  # labels
    assert result.before.utility_of_guessing == two
    assert [Trial.from_json(t.to_json()) for t in result.trials] == list(result.trials)


def test_the_strongest_attack_counts_on_the_texts_of_the_part(tmp_path: Path) -> None:
    plan = Plan(seed=5, attacks=("koppel", "koppel-cosine"), models=("naive-bayes",), repeats=1)
    result = found(tmp_path, plan=plan, candidates=GRID[:1])
    parts = made()
    release = releaser(GRID[0].setting, Metrics(table(), parts).of(GRID[0].adapted))
    for data, measured in ((parts.validation, result.best), (parts.held_out, result.held_out)):
        bench = PreparedEvaluation(data, table(), replace(plan, analysts=(STATIC,)))
        every = bench.measure(release, promise=False).attacks
        assert {a.attacker for a in every} == {"adaptive", "static"}
        rates = [a.accuracy.mean for a in every]
        assert len(set(rates)) > 1  # so the strongest is not just any
        assert measured is not None
        assert measured.attack == max(rates)


def test_nothing_meets_the_target(tmp_path: Path) -> None:
    result = found(tmp_path, "utility>=1", candidates=GRID[:1])
    assert result.best is None
    assert result.held_out is None
    assert result.looks == 0
    assert result.judgment is None
    assert result.to_json()["judgment"] is None
    assert result.nearest == result.trials[0]
    lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()[1:]
    held_out = [row for row in map(json.loads, lines) if row["part"] == "held-out"]
    assert [row["setting"] for row in held_out] == [None]  # the texts as they are, and no release


def test_held_out_labels_that_nobody_can_tell_are_refused_before_any_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedEvaluation, "measure", lambda *_: pytest.fail("released first"))
    parts = made()
    turned = tuple(
        {"sea": "sky", "sky": "sea"}.get(label or "") for label in parts.held_out.test.labels
    )
    held_out = replace(parts.held_out, test=replace(parts.held_out.test, labels=turned))
    with pytest.raises(
        ParameterError, match=r"on the original held-out texts, .* no better than guess"
    ):
        found(tmp_path, parts=replace(parts, held_out=held_out))


def test_a_killed_search_goes_on_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(tmp_path / "whole")

    def killed(name: str, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(tmp_path / "part", on_trial=killed)
    with (tmp_path / "part" / FILE).open("a", encoding="utf-8") as stream:
        stream.write('{"setting": {"mecha')
    measured = []
    real = PreparedEvaluation.measure

    def watched(self: PreparedEvaluation, *rest: Any, **options: Any) -> Any:
        measured.append(rest)
        return real(self, *rest, **options)

    monkeypatch.setattr(PreparedEvaluation, "measure", watched)
    assert found(tmp_path / "part") == whole
    assert len(measured) == 3  # two candidates and the held-out part
    assert (tmp_path / "part" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()
    found(tmp_path / "part")
    assert len(measured) == 3


def test_every_choice_that_was_judged_is_counted(tmp_path: Path) -> None:
    first = found(tmp_path, "attack<=0.99")  # the setting that keeps most
    assert first.best is not None
    lower = f"attack<={min(trial.attack for trial in first.trials) + 0.0001:.4f}"
    second = found(tmp_path, lower)  # another target measures only its choice, held out
    assert second.trials == first.trials
    assert second.best not in (None, first.best)
    assert second.looks == 2


def test_other_data_and_measures_are_refused(tmp_path: Path) -> None:
    found(tmp_path, candidates=GRID[:1])
    with pytest.raises(InputError, match="another run"):
        found(tmp_path, candidates=GRID[:1], parts=made(seed=6))
    with pytest.raises(InputError, match="another run"):
        found(tmp_path, candidates=GRID[:1], plan=replace(PLAN, repeats=2))
    with (tmp_path / FILE).open("a", encoding="utf-8") as stream:
        stream.write('{"setting": null}\n')
    with pytest.raises(InputError, match="not a result"):
        found(tmp_path, candidates=GRID[:1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": ()}, "no setting"),
        ({"candidates": (Candidate(ReleaseSpec("exponential", 1e9)),)}, "epsilon"),
        ({"plan": Plan(seed=5, attacks=())}, "name an attack"),
        ({"plan": Plan(seed=5, form="bow-50")}, "raw or content"),
        ({"plan": Plan(seed=5, redact=True)}, "nothing redacted"),
    ],
)
def test_wrong_requests_are_refused_before_any_is_measured(
    tmp_path: Path, changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module, "PreparedEvaluation", lambda *_: pytest.fail("measured before refusing")
    )
    with pytest.raises(ParameterError, match=message):
        found(tmp_path, **changes)


def test_vectors_are_searched_too(tmp_path: Path) -> None:
    settings = grid("exponential", {"epsilon": [400]}, length=30, release="tf")
    candidates = adapted_grid(settings, table(), alphas=[1.0])
    result = found(tmp_path, "utility>=0.1", candidates=candidates)
    assert result.best is not None
    assert result.best.utility > 0.5


def test_one_file_has_both(tmp_path: Path) -> None:
    texts, names, labels = corpus(each=20)
    parts = make_parts([PublicTexts(texts, names, labels)], seed=4)
    result = found(tmp_path, parts=parts, candidates=GRID[1:3])
    assert result.trials[1].attack >= result.trials[0].attack
