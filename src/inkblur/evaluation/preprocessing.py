"""The forms a document is given before it is blurred (thesis, section 5.2).

    raw         the text as it is
    content     its words that are no function words (Inkblur's own public list), in order
    bow-N       of those, the N that tell the labels apart best by chi-squared; the thesis's
                datasets have N = 1000, 500, 200, 50

The words of bow-N are chosen on the training part alone. They come from labeled texts, so a
release in this form is private towards texts that took no part in the choice: in practice, choose
them on public labeled texts.

Proper nouns are redacted by this rule, which needs no tagger. Inside a sentence, a word with a
capital first letter counts as a name, unless it is a function word (I, for one) or the sentence
has no small letter (a headline, shouting). A word is known as a name when it stands inside
sentences of the training part with a capital more often than without. Removed are words that count
as a name where they stand, and known names with a capital at the start of a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Self

from inkblur.documents.analysis import folded
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import Token, TokenClass, tokenize, written_words
from inkblur.errors import ParameterError, needs
from inkblur.types import whole

_BOW = re.compile(r"bow-([0-9]+)")


class Form:
    """Brings texts into a form; this one leaves them as they are."""

    name = "raw"

    def fit(self, texts: Sequence[str], labels: Sequence[str | None]) -> Self:
        """Learn from the labeled texts of the training part; most forms have nothing to learn."""
        return self

    def transform(self, texts: Sequence[str]) -> list[str]:
        """The texts in this form."""
        return list(texts)


class ContentWords(Form):
    """Words that are no function words, folded, in order.

    >>> ContentWords().transform(["The cat sat on 3 mats."])
    ['cat sat mats']
    """

    name = "content"

    def transform(self, texts: Sequence[str]) -> list[str]:
        """Content words with a space between."""
        return [" ".join(content_words(text)) for text in texts]


class TopicWords(Form):
    """Content words that are among the `size` best for telling labels apart."""

    def __init__(self, size: int) -> None:
        self.size = whole(size, "size")
        self.name = f"bow-{size}"
        self.words: tuple[str, ...] = ()  # best first

    def fit(self, texts: Sequence[str], labels: Sequence[str | None]) -> Self:
        """Choose the words; equally good ones in alphabetical order."""
        pairs = [
            (content_words(text), label)
            for text, label in zip(texts, labels, strict=True)
            if label is not None
        ]
        if len({label for _, label in pairs}) < 2:
            raise ParameterError(f"{self.name} needs training texts of at least 2 labels")
        with needs(f"{self.name} needs scikit-learn", "evaluation"):
            from sklearn.feature_extraction.text import CountVectorizer
            from sklearn.feature_selection import chi2
        counter = CountVectorizer(analyzer=list)  # documents are words already
        try:
            counts = counter.fit_transform([words for words, _ in pairs])
        except ValueError:  # an empty vocabulary
            return self
        scores = chi2(counts, [label for _, label in pairs])[0]
        words = counter.get_feature_names_out().tolist()
        ranked = sorted(
            zip(words, scores, strict=True), key=lambda p: (-round(float(p[1]), 9), p[0])
        )
        self.words = tuple(word for word, _ in ranked[: self.size])
        return self

    def transform(self, texts: Sequence[str]) -> list[str]:
        """Topic words with a space between; a text may be left without any."""
        if not self.words:
            raise ParameterError("no words were chosen yet: call fit first")
        kept = frozenset(self.words)
        return [" ".join(w for w in content_words(text) if w in kept) for text in texts]


def make_form(name: str) -> Form:
    """A form by its name.

    >>> make_form("bow-200").name
    'bow-200'
    """
    for form in (Form, ContentWords):
        if name == form.name:
            return form()
    found = _BOW.fullmatch(name)
    if found is None:
        raise ParameterError(f"unknown form {name!r}; choose raw, content or bow-N, as in bow-200")
    return TopicWords(int(found[1]))


def content_words(text: str) -> list[str]:
    """The words of a text that are no function words, folded."""
    words = map(folded, written_words(text))
    return [word for word in words if word not in STOP_WORDS]


class ProperNouns:
    """Removes names by the rule at the top of this file.

    >>> nouns = ProperNouns().fit(["Then Harry ran. We saw Harry run."])
    >>> nouns.transform(["Harry ran to Hogwarts. Then we ran, I think."])
    ['ran to. Then we ran, I think.']
    """

    def fit(self, texts: Sequence[str]) -> Self:
        """Learn which words are names from training texts."""
        capital: Counter[str] = Counter()
        small: Counter[str] = Counter()
        for text in texts:
            for token, inside, _ in _placed(text):
                if inside:
                    (capital if token.text[0].isupper() else small)[folded(token.text)] += 1
        self.names = frozenset(
            word for word, n in capital.items() if n > small[word] and word not in STOP_WORDS
        )
        return self

    def transform(self, texts: Sequence[str]) -> list[str]:
        """The texts without their names, and without the spaces before these."""
        return [self._redacted(text) for text in texts]

    def _redacted(self, text: str) -> str:
        parts, end = [], 0
        for token, inside, first in _placed(text):
            word = folded(token.text)
            named = inside or (first and word in self.names)
            if named and token.text[0].isupper() and word not in STOP_WORDS:
                parts.append(text[end : token.start].rstrip())
                end = token.end
        parts.append(text[end:])
        return "".join(parts).lstrip() if len(parts) > 1 else text


def _placed(text: str) -> Iterator[tuple[Token, bool, bool]]:
    """Each word, whether it stands inside a sentence in mixed case, and whether it begins one."""
    sentence: list[Token] = []
    for token in [*tokenize(text), None]:
        if token is not None and token.kind is not TokenClass.SENTENCE_END:
            sentence.append(token)
            continue
        words = [t for t in sentence if t.kind is TokenClass.WORD]
        mixed = any(character.islower() for word in words for character in word.text)
        for place, word in enumerate(words):
            yield word, mixed and place > 0, place == 0
        sentence = []
