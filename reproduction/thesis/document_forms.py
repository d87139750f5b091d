"""The six document forms of the thesis (section 5.3), each text read once for all of them."""

from __future__ import annotations

from collections.abc import Container, Sequence

from inkblur.evaluation import content_words as words_without_functions
from reproduction.thesis.published import FORMS
from reproduction.thesis.stop_words import content_words

SIZES = (1000, 500, 200, 50)  # of the topic words that are kept


class Forms:
    """Brings texts into every form; topic words are chosen on labeled postings, once.

    All forms but raw hold words with a vector only. Among the thesis's 3 million nearly all words
    have one; here the others, a tenth of the words, would all become the one word at the
    vocabulary's mean, and a fall would show that word and not the noise.

    >>> made = Forms(["a red cat", "the blue sky"], ["pets", "weather"], {"red", "cat", "sky"})
    >>> made.of(["The cat is red and plump."])["content"]
    ['cat red']
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str], known: Container[str]) -> None:
        self._known = known
        ranked = topic_words(self._content(texts), labels)
        self._kept = {f"bow-{size}": frozenset(ranked[:size]) for size in SIZES}

    def of(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """The texts in each form."""
        content = self._content(texts)
        made = {"raw": list(texts), "content": content}
        for form in FORMS[2:]:
            kept = self._kept[form]
            made[form] = [
                " ".join(word for word in text.split() if word in kept) for text in content
            ]
        return made

    def _content(self, texts: Sequence[str]) -> list[str]:
        return [
            " ".join(word for word in content_words(text) if word in self._known) for text in texts
        ]


def topic_words(texts: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Words by how well they tell the labels apart (chi-squared), best first; equally good ones in
    alphabetical order.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.feature_selection import chi2

    counter = CountVectorizer(analyzer=list)  # documents are words already
    counts = counter.fit_transform([words_without_functions(text) for text in texts])
    scores = chi2(counts, labels)[0]
    words = counter.get_feature_names_out().tolist()
    ranked = sorted(zip(words, scores, strict=True), key=lambda p: (-round(float(p[1]), 9), p[0]))
    return [word for word, _ in ranked]
