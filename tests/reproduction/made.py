"""A made-up experiment and a data folder that holds nothing."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from reproduction import experiments
from reproduction.context import Context
from reproduction.estimate import Estimate
from reproduction.experiments import Experiment
from reproduction.result import Claim, Drawing, Outcome, Passage, Reading

NAME = "made/up"


def outcome(values: dict[str, float]) -> Outcome:
    readings = tuple(
        Reading(
            "Table 9",
            {"epsilon": 5.0 * place, "data": name},
            measure,
            Estimate(v, v - 1, v + 1),
            2.5,
        )
        for place, (name, v) in enumerate(values.items(), start=1)
        for measure in ("N_w", "S_w")
    )
    claim = Claim(
        "rises", "It rises <fast>.", "section 9", "difference", Estimate(3.0, 2.0, 4.0), 0.0
    )
    return Outcome(
        readings,
        (claim,),
        (Drawing("N_w | S_w", "Table 9", "N_w", "epsilon", line="data"),
         Drawing("frontier", "Table 9", "N_w", "S_w", panel="data")),
        (Passage("Words", (("before", "a | b"), ("after", "<c>"))),),
        ("Made up.",),
    )  # fmt: skip


class Made:
    """Registers the experiment; counts how often each step was really done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.stop_at: str | None = None
        module = ModuleType("reproduction.made.up")
        module.run = self.run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "reproduction.made", ModuleType("made"))
        monkeypatch.setitem(sys.modules, "reproduction.made.up", module)
        entry = Experiment(NAME, "Table 9", "Does it run?", ())
        monkeypatch.setitem(experiments.EXPERIMENTS, NAME, entry)

    def run(self, work: Context) -> Outcome:
        return outcome({name: work.step(name, self.measure, work, name) for name in ("a", "b")})

    def measure(self, work: Context, name: str) -> float:
        if name == self.stop_at:
            raise KeyboardInterrupt
        self.done.append(name)
        return work.size(10.0, 1.0) + float(work.rng(name).rows(1, 1)[0, 0])
