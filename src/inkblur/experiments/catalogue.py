"""The experiments by name: what each repeats, and the function that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from inkblur.errors import ParameterError
from inkblur.experiments.result import Outcome
from inkblur.experiments.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Experiment:
    """One entry; `mahalanobis/privacy` is done by `run` in `experiments/mahalanobis/privacy.py`."""

    name: str  # paper/what
    repeats: str  # which tables and figures
    question: str  # one line

    def run(self, work: Workshop) -> Outcome:
        """Do it. Its file is loaded only now: experiments use the heavy libraries."""
        module = import_module(f"{__package__}.{self.name.replace('/', '.').replace('-', '_')}")
        outcome: Outcome = module.run(work)
        return outcome


EXPERIMENTS: Mapping[str, Experiment] = {
    entry.name: entry
    for entry in (
        Experiment(
            "mahalanobis/privacy",
            "Mahalanobis paper, Tables 1 to 4, Figures 2 to 5",
            "How often does a word survive, and how many stand in for it, as lambda grows?",
        ),
        Experiment(
            "mahalanobis/utility",
            "Mahalanobis paper, Figures 6 and 7",
            "What do classifiers of messages lose, and does lambda cost anything?",
        ),
        Experiment(
            "mahalanobis/density",
            "Mahalanobis paper, Table 5",
            "How uneven are the vocabularies of the two collections?",
        ),
        Experiment(
            "thesis/topics",
            "thesis, Table 5.3",
            "Can the topic still be told, in six document forms and at three noise scales?",
        ),
        Experiment(
            "thesis/authors",
            "thesis, Table 5.4",
            "Can the author still be named, in the same forms and scales?",
        ),
        Experiment(
            "thesis/angular",
            "thesis, section 4.2, mechanism 1 (which it could not run)",
            "What does angular noise give beside component-wise noise at equal survival?",
        ),
        Experiment(
            "thesis/metrics",
            "thesis, Figure 5.1",
            "Do Word Mover's distance and the Ruzicka metric of authorship go together?",
        ),
        Experiment(
            "earthmovers/inference",
            "Earth Mover's paper, Table 1",
            "Do attacks on the author fall while the topic holds?",
        ),
        Experiment(
            "earthmovers/snippets",
            "Earth Mover's paper, Tables 2 and 3",
            "What do words and a text become under each epsilon?",
        ),
        Experiment(
            "earthmovers/utility-bound",
            "Earth Mover's paper, Theorem 3",
            "Does the utility bound hold as printed, and as corrected?",
        ),
        Experiment(
            "syntf/analyst-attacker",
            "SynTF, Table 3, Figures 3 and 5",
            "Does the attacker lose more than the analyst, and more than under scrubbing?",
        ),
        Experiment(
            "syntf/parameters",
            "SynTF, Table 2, Figure 4",
            "Which parameters are best, and does the bigram factor turn the advantage?",
        ),
        Experiment(
            "syntf/bounds",
            "SynTF, Figure 1 and the effective loss of section 3.4",
            "How far below epsilon is the loss that really occurs?",
        ),
        Experiment(
            "joined/frontier",
            "none of the papers",
            "Does a metric that knows the topic keep it while the author is blurred?",
        ),
        Experiment(
            "joined/pairs",
            "none of the papers",
            "Does it so on collections that took no part in its design?",
        ),
        Experiment(
            "race",
            "none of the papers",
            "Which mechanism keeps most at equal attack success, and at equal proved loss?",
        ),
    )
}


def chosen(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of these names in the catalogue's order; `all` means all."""
    if not names:
        raise ParameterError("name an experiment, or all; --list shows them")
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            raise ParameterError(
                f"unknown experiment {name!r}; choose all, or some of: {', '.join(EXPERIMENTS)}"
            )
    wanted = set(EXPERIMENTS) if "all" in names else set(names)
    return tuple(entry for name, entry in EXPERIMENTS.items() if name in wanted)
