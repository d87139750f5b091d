"""What an evaluation measures, however the release is made."""

from __future__ import annotations

from dataclasses import dataclass

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.catalogue import NAMES, USUAL
from inkblur.evaluation.dataset import scenario_size
from inkblur.evaluation.measures.intervals import checked_confidence
from inkblur.evaluation.measures.utility import UtilityClassifier
from inkblur.types import choose, whole


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, however the release is made."""

    seed: int
    attacks: tuple[str, ...] = USUAL
    scenarios: tuple[str, ...] = ("all",)
    models: tuple[str, ...] = ("logistic",)  # of labels; the first says what texts teach
    repeats: int = 3
    confidence: float = 0.95
    meaning_texts: int = 100  # texts whose movement is measured; Earth Mover's takes its time
    examples: int = 10
    read_texts: int = 40  # test texts that are read word by word; 0: none

    def __post_init__(self) -> None:
        whole(self.repeats, "repeats")
        for name in ("meaning_texts", "examples", "read_texts"):
            if getattr(self, name) < 0:  # which would mean all texts but so many
                raise ParameterError(f"`{name}=` must not be negative, got {getattr(self, name)}")
        checked_confidence(self.confidence)
        for name in self.attacks:
            if name not in NAMES:
                raise ParameterError(f"unknown attack {name!r}; choose one of: {', '.join(NAMES)}")
        for model in self.models:
            choose(UtilityClassifier, model, "model")
        for scenario in self.scenarios:
            scenario_size(scenario)
        for column in (self.attacks, self.scenarios, self.models):
            if len(set(column)) != len(column):
                raise ParameterError(f"{', '.join(column)} names something twice")
