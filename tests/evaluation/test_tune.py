"""Tuning: the three criteria, and a run that was killed goes on as if nothing had happened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.dataset import Dataset, make_dataset
from inkblur.evaluation.evaluate import PreparedEvaluation
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Releaser
from inkblur.evaluation.tuning.adapted_grid import Candidate
from inkblur.evaluation.tuning.criterion import Criterion, Goal, tune
from inkblur.evaluation.tuning.four_way_split import TextShare
from inkblur.evaluation.tuning.trials import FILE, AttackLeft, Trial
from inkblur.pools import build_pool
from inkblur.pools.store import write_pool
from inkblur.spec import ReleaseSpec, grid
from inkblur.types import choose

from .made import corpus, table

pytest.importorskip("sklearn")
PLAN = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=1)
GRID = grid("laplace", {"epsilon": [0.05, 3.0, 100.0]})


def made() -> Dataset:
    texts, names, labels = corpus()
    return make_dataset(texts, authors=names, labels=labels, seed=5)


def trial(epsilon: float, survival: float, utility: float, *attacks: tuple[float, float]) -> Trial:
    left = tuple(
        AttackLeft("koppel", f"top-{n}", "static", 5, 40, a, 0.2, a, b)
        for n, (a, b) in enumerate(attacks)
    )
    candidate = Candidate(ReleaseSpec("laplace", epsilon))
    rest = (utility / 2, utility, "svm", 90, 2, 0.5, left)
    return Trial(candidate, TextShare.VALIDATION, survival, *rest)


def authors_of_ten() -> Dataset:
    texts = [f"{word} w{number}" for number in range(8) for word in "abcdefghij"]
    labels = ["sea", "sky"] * 40
    return make_dataset(texts, authors=list("abcdefghij") * 8, labels=labels, seed=5)


def test_an_attack_that_was_not_tried_on_true_texts_leaves_no_share(tmp_path: Path) -> None:
    """One classifier cannot be stacked; on a release there are two of it, adaptive and static."""
    plan = replace(PLAN, attacks=("svm", "stacked"))
    (found,) = tune(authors_of_ten(), table(), [ReleaseSpec("laplace", 3.0)], plan, tmp_path)
    assert {each.attack: each.left is None for each in found.attacks} == {
        "svm": False,
        "stacked": True,
    }


@pytest.mark.parametrize("attacks", [("stacked",), ("likelihood",)])
def test_no_setting_is_advised_without_an_attack(
    tmp_path: Path, attacks: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise "attacks name at most 20 %" would hold for every setting."""
    monkeypatch.setattr("inkblur.evaluation.author_attacks.LARGEST_POOL", 1)
    write_pool(tmp_path / "a.pool", build_pool(corpus()[0], table()))
    spec = ReleaseSpec(epsilon=3.0, unit="text", pool=str(tmp_path / "a.pool"))
    with pytest.raises(ParameterError, match="none of the attacks"):
        tune(made(), table(), [spec], replace(PLAN, attacks=attacks), tmp_path / "tuned")


def test_a_folder_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attacks may be others: their results do not belong side by side."""
    tune(made(), table(), GRID[:1], PLAN, tmp_path, words=10)
    monkeypatch.setattr("inkblur.evaluation.tuning.trials.version", lambda name: "0.0.9")
    with pytest.raises(InputError, match="inkblur differs"):
        tune(made(), table(), GRID[:1], PLAN, tmp_path, words=10)


def mislabeled(right: int) -> Dataset:
    """Of forty test texts so many have the label that their words say."""
    texts, names, labels = corpus(each=40)
    tested = [row for row in range(len(texts)) if row % 4 > 1][:40]
    parts = ["test" if row in tested else "train" for row in range(len(texts))]
    for row in tested[right:]:
        labels[row] = "sky" if labels[row] == "sea" else "sea"
    return make_dataset(texts, authors=names, labels=labels, parts=parts, seed=5)


def test_labels_that_nobody_can_tell_choose_nothing(tmp_path: Path) -> None:
    """A release kept "100 % of the utility" where the classifier had only guessed before it."""
    with pytest.raises(
        ParameterError, match=r"no better than guessing \(F1 0\.4\d+, guessing 0\.5"
    ):
        tune(mislabeled(18), table(), GRID[:1], PLAN, tmp_path, words=10)
    assert not (tmp_path / FILE).read_text(encoding="utf-8").splitlines()[1:]


def test_labels_that_are_hardly_told_come_with_a_warning(tmp_path: Path) -> None:
    (found,) = tune(mislabeled(23), table(), GRID[:1], PLAN, tmp_path, words=10)
    assert "hardly better than guessing (F1 0.5" in found.doubt
    assert Trial.from_json(found.to_json()) == found
    (clear,) = tune(mislabeled(40), table(), GRID[:1], PLAN, tmp_path / "clear", words=10)
    assert clear.doubt == ""


def chosen(trials: list[Trial], criterion: str, **floors: float) -> float | None:
    best = Goal(Criterion(criterion), **floors).best(trials)
    return None if best is None or best.candidate is None else best.candidate.setting.epsilon


def test_least_survival_keeps_the_utility_floor() -> None:
    trials = [trial(1, 5, 0.3), trial(2, 30, 0.8), trial(3, 20, 0.85), trial(4, 90, 1.0)]
    assert chosen(trials, "least-survival", utility_floor=0.8) == 3
    assert chosen(trials, "least-survival", utility_floor=0.1) == 1
    assert chosen(trials[:3], "least-survival", utility_floor=1) is None


def test_most_utility_keeps_the_privacy_floors() -> None:
    trials = [
        trial(1, 5, 0.3, (0.1, 0.1)),
        trial(2, 30, 0.8, (0.2, 0.2), (0.5, 0.5)),
        trial(3, 40, 0.9, (0.3, 0.3)),
    ]
    assert chosen(trials, "most-utility", most_survival=35) == 2
    assert chosen(trials, "most-utility", most_attack=0.4) == 3  # the worst scenario counts
    assert chosen(trials, "most-utility", most_attack=0.4, most_survival=35) == 1
    assert chosen(trials, "most-utility", most_survival=1) is None


def test_what_was_not_measured_meets_no_privacy_floor() -> None:
    unattacked = trial(1, 5, 0.9)
    assert chosen([unattacked], "most-utility", most_survival=10) == 1
    assert chosen([unattacked], "most-utility", most_attack=0.4) is None
    uncounted = replace(trial(1, 5, 0.9, (0.1, 0.1)), survival=None)
    assert chosen([uncounted], "most-utility", most_attack=0.4) == 1
    assert chosen([uncounted], "most-utility", most_survival=10) is None


def test_largest_gap_is_the_largest_of_the_smallest() -> None:
    trials = [
        trial(1, 5, 0.9, (0.1, 0.1), (0.1, 0.8)),  # gaps 0.8 and 0.1
        trial(2, 5, 0.7, (0.1, 0.4), (0.1, 0.4)),  # 0.3 and 0.3
        trial(3, 5, 0.2, (0.1, 0.1), (0.1, 0.1)),
    ]
    assert [round(t.gap or 0, 6) for t in trials] == [0.1, 0.3, 0.1]
    assert chosen(trials, "largest-gap") == 2
    assert trial(1, 5, 0.9).gap is None


@pytest.mark.parametrize(
    ("criterion", "floors", "message"),
    [
        ("least-survival", {}, "utility floor"),
        ("largest-gap", {"utility_floor": 0.5}, "utility floor"),
        ("most-utility", {}, "privacy floor"),
        ("largest-gap", {"most_attack": 0.5}, "privacy floor"),
        ("most-utility", {"most_attack": 20}, "share of the texts, at least 0 and below 1.* 20$"),
        ("most-utility", {"most_attack": 1}, "most_attack=` .* below 1, such as 0.2; got 1$"),
        ("most-utility", {"most_attack": float("nan")}, "below 1.* got nan"),
        ("most-utility", {"most_survival": -1}, "number of 100 runs, at least 0 and below 100"),
        ("most-utility", {"most_survival": 100}, "most_survival=` .* such as 20; got 100$"),
        ("most-utility", {"most_survival": float("nan")}, "below 100.* got nan"),
        ("least-survival", {"utility_floor": 0}, "utility_floor=` is a share .* above 0.* got 0$"),
        ("least-survival", {"utility_floor": 80}, "at most 1, such as 0.8; got 80$"),
        ("least-survival", {"utility_floor": float("nan")}, "at most 1.* got nan$"),
        ("magic", {}, "unknown criterion"),
    ],
)
def test_goals_that_make_no_sense_are_refused(
    criterion: str, floors: dict[str, float], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Goal(choose(Criterion, criterion, "criterion"), **floors)


def test_the_grid_is_every_combination() -> None:
    settings = grid(
        "exponential",
        {
            "epsilon": [1, 2],
            "bigram": [0, 0.3],
            "length": [10, 20],
            "morphology": ["lower", "as-is"],
        },
        release="tf",
    )
    assert len(set(settings)) == 16
    assert {s.parameters["bigram"] for s in settings} == {0, 0.3}
    with pytest.raises(ParameterError, match="twice"):
        grid("laplace", {"epsilon": [1, 1]})
    with pytest.raises(ParameterError, match="no epsilon"):
        grid("laplace", {"epsilon": []})


def test_trials_are_measured_and_repeat(tmp_path: Path) -> None:
    trials = tune(made(), table(), GRID, PLAN, tmp_path, words=10)
    assert [t.candidate for t in trials] == [Candidate(setting) for setting in GRID]
    survivals = [t.survival or 0.0 for t in trials]
    assert survivals[0] < survivals[1] <= survivals[2] == 100.0
    assert trials[2].utility == pytest.approx(1.0)
    assert trials[2].attacks[0].left == pytest.approx(1.0)
    assert [t.utility_of_guessing for t in trials] == [
        pytest.approx(0.5 / (trials[2].f1 / trials[2].utility))  # of two labels, as they are
    ] * 3
    assert trials[0].attack < trials[2].attack
    again = tune(made(), table(), GRID, PLAN, tmp_path, words=10)
    assert trials == again


def test_a_killed_run_goes_on_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    part.mkdir()
    tune(made(), table(), GRID, PLAN, whole, words=10)
    expected = (whole / FILE).read_bytes()

    def killed(name: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(made(), table(), GRID, PLAN, part, words=10, on_trial=killed)
    file = part / FILE
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"setting": {"mechanism": "lapl')  # the line that was being written
    measured: list[str] = []
    real = PreparedEvaluation.measure

    def watched(self: PreparedEvaluation, release: Releaser, **options: Any) -> Any:
        measured.append(release.name)
        return real(self, release, **options)

    monkeypatch.setattr(PreparedEvaluation, "measure", watched)
    tune(made(), table(), GRID, PLAN, part, words=10)
    assert measured == [GRID[2].name]
    assert file.read_bytes() == expected


def test_a_wider_grid_measures_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(made(), table(), GRID[:2], PLAN, tmp_path, words=10)
    count = len((tmp_path / FILE).read_text(encoding="utf-8").splitlines())
    tune(made(), table(), GRID, PLAN, tmp_path, words=10)
    assert len((tmp_path / FILE).read_text(encoding="utf-8").splitlines()) == count + 1


def test_other_data_other_measures_and_other_files_are_refused(tmp_path: Path) -> None:
    tune(made(), table(), GRID[:1], PLAN, tmp_path, words=10)
    texts, names, labels = corpus(seed=4)
    other = make_dataset(texts, authors=names, labels=labels, seed=5)
    with pytest.raises(InputError, match="other data or with other measures"):
        tune(other, table(), GRID[:1], PLAN, tmp_path, words=10)
    with pytest.raises(InputError, match="other data or with other measures"):
        tune(made(), table(), GRID[:1], PLAN, tmp_path, words=11)
    file = tmp_path / FILE
    for held, message in (
        ('{"a": 1}\n', "another run"),
        ("a,b\n", "choose another folder"),
        (file.read_text(encoding="utf-8") + '{"a": 1}\n', "not a result"),
    ):
        file.write_text(held, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            tune(made(), table(), GRID[:1], PLAN, tmp_path, words=10)


def test_wrong_settings_are_refused_before_any_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        PreparedEvaluation, "measure", lambda *_: pytest.fail("measured before refusing")
    )
    with pytest.raises(ParameterError, match="epsilon"):
        tune(made(), table(), [*GRID, ReleaseSpec("exponential", 1e9)], PLAN, tmp_path)


def test_vectors_are_tuned_too(tmp_path: Path) -> None:
    settings = grid("exponential", {"epsilon": [60], "bigram": [0, 0.3]}, length=30, release="tf")
    plain, disliked = tune(made(), table(), settings, PLAN, tmp_path, words=5)
    assert (plain.survival or 0) > (disliked.survival or 0)  # a word is spelled most like itself
    line = (
        (tmp_path / FILE).read_text(encoding="utf-8").splitlines()[2]
    )  # the first is the run, the second the texts as they are
    assert Trial.from_json(json.loads(line)) == plain
