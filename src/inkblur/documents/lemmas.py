"""Dictionary forms of English words, by simplemma (extra `lemma`): went -> go, mice -> mouse."""

from __future__ import annotations

from functools import lru_cache

from inkblur.errors import needs


@lru_cache(maxsize=1 << 18)
def lemma(word: str) -> str:
    """The dictionary form of a word in lower case; a word that is not in the dictionary stays.

    The dictionary is simplemma's, so it is public and the same for every text.
    """
    with needs("lemmas need simplemma", "lemma", "choose morphology lower"):
        import simplemma
    return str(simplemma.lemmatize(word, lang="en")).lower()
