"""The six document forms of the thesis (section 5.3), each text read once for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from inkblur.evaluation.forms import THESIS_SIZES, ContentWords, TopicWords
from inkblur.experiments.thesis.published import FORMS


class Forms:
    """Brings texts into every form; topic words are chosen on labelled postings, once.

    >>> made = Forms(["a red cat", "the blue sky"], ["pets", "weather"])
    >>> made.of(["The cat is red."])["content"]
    ['cat red']
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        ranked = TopicWords(max(THESIS_SIZES)).fit(texts, labels).words  # best first
        self._kept = {f"bow-{size}": frozenset(ranked[:size]) for size in THESIS_SIZES}

    def of(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """The texts in each form."""
        content = ContentWords().transform(texts)
        made = {"raw": list(texts), "content": content}
        for form in FORMS[2:]:
            kept = self._kept[form]
            made[form] = [
                " ".join(word for word in text.split() if word in kept) for text in content
            ]
        return made
