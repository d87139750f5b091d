"""Inference: a label that was meant to be hidden, guessed from released texts.

The attacker has texts whose label is known, released in the same way (adaptive) or as they were
written (static), learns what tells the labels apart, and names those of other released texts. The
attack is one on authors, with labels in their place; but the attacker knows how common each label
is, and names the commonest where a text says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW, Attack
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.pool_likelihood import PoolLikelihood
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.types import Ids, counted


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


def checked_secrets(known: Sequence[str | None], asked: Sequence[str | None]) -> list[str]:
    """The different labels that the known texts have, or an error where none can be inferred."""
    names = sorted({label for label in known if label is not None})
    if len(names) < 2:
        raise ParameterError(
            f"the secret column has {counted(len(names), 'different value')} in the training part, "
            "at least 2 are needed"
        )
    if not set(names) & set(asked):
        raise ParameterError("no test text has a secret that the training part has too")
    return names
