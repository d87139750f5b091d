"""Why a claim does not hold: for every one that fails or stays open, where the reason lies.

- paper: what the paper did or prints cannot be as it says, or means something else;
- data: the paper's collection or vectors are not public or not at hand, and ours differ;
- sample: the number is on the right side, or near the line, and so few texts do not decide;
- ours: a claim that no paper makes was too bold.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from reproduction.result import Claim, Verdict


class Cause(Enum):
    """Where the reason lies."""

    PAPER = "paper"
    DATA = "data"
    SAMPLE = "sample"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why claims of one experiment do not hold."""

    experiment: str  # its name, as a pattern: "syntf/*"
    claims: str  # their names, as a pattern
    cause: Cause
    text: str

    def fits(self, experiment: str, claim: Claim) -> bool:
        """Whether it is about this claim."""
        return fnmatchcase(experiment, self.experiment) and fnmatchcase(claim.name, self.claims)


# The first that fits counts.
REASONS = (
    Reason(
        "mahalanobis/privacy",
        "*-word2vec",
        Cause.DATA,
        "7,895 of the 3,000,000 words of Google News are at hand, so at a small epsilon the noise "
        "reaches beyond all the words there are",
    ),
    Reason(
        "mahalanobis/privacy",
        "*percentile*",
        Cause.PAPER,
        "at epsilon 5 next to nothing survives with either lambda, so ends of both distributions "
        "coincide; in the paper a quarter survives, by another noise than it states "
        "(mahalanobis/rescaling)",
    ),
    Reason(
        "mahalanobis/utility",
        "no-utility-lost-by-lambda-at-epsilon-?0-*",  # at 5 next to nothing survives either way
        Cause.PAPER,
        "at one epsilon fewer words survive with lambda 1, in its own Tables 1 and 3 too (30 "
        "against 69 of 100 at epsilon 10), and a classifier that sees fewer true words loses; its "
        "noise is not the one it states (mahalanobis/rescaling)",
    ),
    Reason(
        "thesis/topics",
        "topic-holds-*",
        Cause.OURS,
        "the thesis claims no such share; its own means are .904 and .715",
    ),
    Reason(
        "thesis/authors",
        "author-falls-more-than-topic-*-as-printed",
        Cause.DATA,
        "its scales are for word2vec's short vectors; on GloVe, which is longer, they change "
        "hardly a word",
    ),
    Reason(
        "thesis/authors",
        "topic-holds-*",
        Cause.OURS,
        "the thesis claims no such share; its own means are .904 and .715",
    ),
    Reason(
        "thesis/metrics",
        "relation-more-apparent-in-raw-texts",
        Cause.DATA,
        "measured on Reuters C50; the thesis's collections differ, and it judges by eye",
    ),
    Reason(
        "earthmovers/inference",
        "topic-holds*",
        Cause.PAPER,
        "where most words are replaced the topic cannot stay; in the paper it is kept by words "
        "outside the vocabulary, which pass as they are (earthmovers/unknown-words)",
    ),
    Reason(
        "earthmovers/inference",
        "author-falls-pan*",
        Cause.SAMPLE,
        "20 authors and 100 attacked texts in all runs together, of which few are named even "
        "before",
    ),
    Reason(
        "earthmovers/inference",
        "unknown-words-betray",
        Cause.SAMPLE,
        "of 20 authors as many are named with the words as without",
    ),
    Reason(
        "earthmovers/inference",
        "adaptive-attacker-stronger",
        Cause.OURS,
        "one released text an author teaches less than one true text",
    ),
    Reason(
        "earthmovers/utility-bound",
        "bound-as-printed*",
        Cause.PAPER,
        "Theorem 3 has n where nN belongs (a bag of N words has nN noisy components)",
    ),
    Reason(
        "syntf/*",
        "attack-falls-more-than-utility-*",
        Cause.DATA,
        "vectors, tagger and word lists are others than the paper's; on untouched postings analyst "
        "and attacker reach its numbers, on SynTF's vectors our attacker keeps .87 to 1.06 of its "
        "F1 (Top 10/Any) where the paper's keeps .66",
    ),
    Reason(
        "syntf/*",
        "beats-scrubbing-*",
        Cause.DATA,
        "as for the attack alone: our attacker is stronger on SynTF's vectors than the paper's, "
        "while scrubbing costs both what it costs there",
    ),
    Reason(
        "syntf/*",
        "analyst-ahead-with-bigrams",
        Cause.DATA,
        "as for the attack alone: our attacker is stronger on SynTF's vectors than the paper's",
    ),
)

_UNDECIDED = "the interval has both sides of the line"
UNEXPLAINED = "not explained yet"


def reason(experiment: str, claim: Claim) -> str:
    """Cause and text for a claim that does not hold; empty for one that does.

    >>> from reproduction.estimate import Estimate
    >>> reason("made/up", Claim("rises", "", "", "", Estimate(1.0, -1.0, 3.0), 0.0))
    'sample: the interval has both sides of the line'
    """
    if claim.verdict is Verdict.HOLDS:
        return ""
    for one in REASONS:
        if one.fits(experiment, claim):
            return f"{one.cause.value}: {one.text}"
    if claim.undecided:
        return f"{Cause.DATA.value}: {claim.undecided}"
    if claim.verdict is Verdict.OPEN:
        return f"{Cause.SAMPLE.value}: {_UNDECIDED}"
    return UNEXPLAINED
