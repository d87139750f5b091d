"""The experiments by name: what each repeats, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from inkblur import ParameterError
from reproduction.context import Context
from reproduction.result import Outcome


@dataclass(frozen=True, slots=True)
class Experiment:
    """One entry; `mahalanobis/privacy` is done by `run` in `mahalanobis/privacy.py`."""

    name: str  # paper/what
    repeats: str  # which tables and figures
    question: str  # one line
    needs: tuple[str, ...]  # names in `datasets.SOURCES`; others are refused

    def load(self) -> Callable[[Context], Outcome]:
        """What does it. Its file is loaded only now: experiments use the heavy libraries."""
        module = import_module(f"{__package__}.{self.name.replace('/', '.').replace('-', '_')}")
        run: Callable[[Context], Outcome] = module.run
        return run


EXPERIMENTS: Mapping[str, Experiment] = {
    entry.name: entry
    for entry in (
        Experiment(
            "mahalanobis/privacy",
            "Mahalanobis paper, Tables 1 to 4, Figures 2 to 5",
            "How often does a word survive, and how many stand in for it, as lambda grows?",
            ("glove", "word2vec", "sms", "tweets"),
        ),
        Experiment(
            "mahalanobis/rescaling",
            "Mahalanobis paper, Tables 3 and 4",
            "Which noise would give the paper's numbers?",
            ("glove", "sms", "tweets"),
        ),
        Experiment(
            "mahalanobis/utility",
            "Mahalanobis paper, Figures 6 and 7",
            "What do classifiers of messages lose, and does lambda cost anything?",
            ("glove", "sms", "tweets"),
        ),
        Experiment(
            "mahalanobis/density",
            "Mahalanobis paper, Table 5",
            "How uneven are the vocabularies of the two collections?",
            ("glove", "word2vec", "sms", "tweets"),
        ),
        Experiment(
            "thesis/topics",
            "thesis, Table 5.3",
            "Can the topic still be classified, in six document forms and at three noise scales?",
            ("glove", "newsgroups"),
        ),
        Experiment(
            "thesis/authors",
            "thesis, Table 5.4",
            "Can the author still be named, in the same forms and scales?",
            ("glove", "newsgroups", "c50", "pan18"),
        ),
        Experiment(
            "thesis/angular",
            "thesis, section 5.3.1, mechanism 1 (which it could not run)",
            "What does angular noise give beside component-wise noise at equal survival?",
            ("glove", "newsgroups"),
        ),
        Experiment(
            "thesis/examples",
            "thesis, Tables 4.1, 5.1, 5.2 and 5.5, section 3.4.2",
            "What do its examples look like on our vectors and collections?",
            ("glove", "newsgroups", "c50", "pan18"),
        ),
        Experiment(
            "thesis/metrics",
            "thesis, Figure 5.1",
            "Do Word Mover's distance and the Ruzicka metric of authorship go together?",
            ("glove", "c50"),
        ),
        Experiment(
            "earthmovers/inference",
            "Earth Mover's paper, Table 1",
            "Do attacks on the author fall while the topic holds?",
            ("glove", "word2vec", "newsgroups", "c50", "pan18"),
        ),
        Experiment(
            "earthmovers/unknown-words",
            "Earth Mover's paper, section 6 and Appendix B.2",
            "How much of the topic do words outside the vocabulary keep?",
            ("glove", "newsgroups"),
        ),
        Experiment(
            "earthmovers/snippets",
            "Earth Mover's paper, Tables 2 and 3",
            "What do words and a text become under each epsilon?",
            ("glove", "c50"),
        ),
        Experiment(
            "earthmovers/utility-bound",
            "Earth Mover's paper, Theorem 3",
            "Does the utility bound hold as printed, and as corrected?",
            ("glove",),
        ),
        Experiment(
            "syntf/analyst-attacker",
            "SynTF, Table 3, Figures 3 and 5",
            "Does the attacker lose more than the analyst, and more than under scrubbing?",
            ("glove", "newsgroups"),
        ),
        Experiment(
            "syntf/parameters",
            "SynTF, Table 2, Figure 4",
            "Which parameters are best, and does the bigram factor turn the advantage?",
            ("glove", "newsgroups"),
        ),
        Experiment(
            "syntf/bounds",
            "SynTF, Figure 1 and the effective loss of section 3.4",
            "How far below epsilon is the loss that really occurs?",
            ("glove",),
        ),
    )
}


def chosen(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of these names in the catalogue's order; a paper's name means all of its
    experiments, `all` means all.
    """
    if not names:
        raise ParameterError("name an experiment, or all; --list shows them")
    wanted = set()
    for name in names:
        found = {one for one in EXPERIMENTS if name in ("all", one, one.partition("/")[0])}
        if not found:
            raise ParameterError(
                f"unknown experiment {name!r}; choose all, or some of: {', '.join(EXPERIMENTS)}"
            )
        wanted |= found
    return tuple(entry for name, entry in EXPERIMENTS.items() if name in wanted)
