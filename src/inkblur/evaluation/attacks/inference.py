"""Inference: a label that was meant to be hidden, guessed from released texts.

The attacker has texts whose label is known, released in the same way (adaptive) or as they were
written (static), learns what tells the labels apart, and names those of other released texts. The
attack is one on authors, with labels in their place; but the attacker knows how common each label
is, and names the commonest where a text says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.evaluation.attacks.base import DONT_KNOW, Attack
from inkblur.evaluation.attacks.likelihood import Likelihood, PoolLikelihood, likelihood_of
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.dataset import checked_secrets
from inkblur.evaluation.measures.intervals import over_repeated_texts
from inkblur.evaluation.results import ADAPTIVE, STATIC, Measurement
from inkblur.evaluation.target import Target
from inkblur.types import Ids


@dataclass(frozen=True, slots=True)
class Inferred:
    """What was said of each text whose label the known texts have too."""

    truth: Ids
    answers: Ids
    chance: float  # always naming the label that is commonest among the known texts

    @property
    def accuracy(self) -> float:
        """Share of the labels guessed."""
        return float((self.truth == self.answers).mean())


def infer(
    known: Sequence[str],
    known_labels: Sequence[str | None],
    texts: Sequence[str],
    labels: Sequence[str | None],
    *,
    seed: int,
    attack: Attack | None = None,
) -> Inferred:
    """Learn labels from the known texts and name those of others; texts without one are left out.

    `attack` is the `svm` attack where none is given.

    >>> found = infer(["a boat", "a cloud", "boats sail", "clouds rain"], ["sea", "sky"] * 2,
    ...               ["boat", "cloud"], ["sea", "sky"], seed=1)
    >>> found.accuracy, found.chance
    (1.0, 0.5)
    """
    names = checked_secrets(known_labels, labels)
    number = {name: place for place, name in enumerate(names)}
    studied = [row for row, label in enumerate(known_labels) if label is not None]
    asked = [row for row, label in enumerate(labels) if label in number]
    classes = np.array([number[str(known_labels[row])] for row in studied])
    truth = np.array([number[str(labels[row])] for row in asked])
    learned = attack if attack is not None else LinearSvm(seed=seed)
    learned.fit([known[row] for row in studied], classes)
    unnamed = [texts[row] for row in asked]
    times = np.bincount(classes)
    if isinstance(learned, Likelihood | PoolLikelihood):
        # Which does not know how common a label is.
        answers = learned.named(unnamed, learned.scores(unnamed) + np.log(times / times.sum()))
    else:
        answers = learned.predict(unnamed)
    commonest = int(times.argmax())
    answers = np.where(answers == DONT_KNOW, commonest, answers)
    return Inferred(truth, answers, float((truth == commonest).mean()))


def measure_inference(target: Target) -> Iterator[Measurement]:
    """How many secrets are guessed by one who studied released texts, true ones, or the channel."""
    data, known = target.data, target.known
    guessed = "secret labels guessed"
    if not data.has_secrets:
        yield Measurement("inference", "", guessed, reason="no text has a secret label")
        return
    attacks: list[tuple[str, Sequence[str], Attack | None]] = [
        (ADAPTIVE, target.released_train.texts, None),
        (STATIC, target.data.train.texts, None),
    ]
    if not isinstance(known, str):
        attacks.append(
            ("by the channel", target.data.train.texts, likelihood_of(target.releaser, known))
        )
    for kind, studied, attack in attacks:
        said = infer(
            studied,
            data.train.secrets,
            target.released_test.texts,
            data.test.secrets,
            seed=target.plan.seed,
            attack=attack,
        )
        plan = target.plan
        spread = over_repeated_texts(
            said.truth, [said.answers], confidence=plan.confidence, seed=plan.seed
        )
        yield Measurement(
            "inference",
            "",
            f"{guessed}, {kind}",
            value=spread["accuracy"],
            chance=said.chance,
            by_chance="the commonest label",
        )
    if isinstance(known, str):
        yield Measurement("inference", "", f"{guessed}, by the channel", reason=known)
