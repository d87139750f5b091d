"""Scrubbers of personal data beside SynTF (its section 4.3.1).

Both run offline, and neither recognizes names of people or places here. scrubadub 2 runs its own
default detectors; its detectors of names (on by default in version 1, which SynTF ran) need
downloads. Presidio runs its recognizers of patterns (addresses, numbers, accounts, dates) on a
blank spaCy model: recognizers that need a trained model are left out, because such models are
downloads.

    pip install "presidio-analyzer>=2.2.366,<3" "scrubadub>=2.0.1,<3"
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

Scrub = Callable[[str], str]


def _scrubadub() -> Scrub:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies', about their own future
        import scrubadub  # type: ignore[import-untyped, import-not-found, unused-ignore]
    scrubber = scrubadub.Scrubber()

    def scrub(text: str) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it calls its own deprecated method
            return str(scrubber.clean(text))

    return scrub


def _presidio() -> Scrub:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import spacy  # type: ignore[import-not-found, unused-ignore]
        import tldextract  # type: ignore[import-not-found, unused-ignore]
        from presidio_analyzer import (  # type: ignore[import-not-found, unused-ignore]
            AnalyzerEngine,
            RecognizerRegistry,
        )
        from presidio_analyzer import predefined_recognizers as recognizers
        from presidio_analyzer.nlp_engine import (  # type: ignore[import-not-found, unused-ignore]
            SpacyNlpEngine,
        )
    # Its own way to check an address's domain would fetch a list from the network.
    domains = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    class OfflineEmail(recognizers.EmailRecognizer):  # type: ignore[misc, unused-ignore]
        def validate_result(self, pattern_text: str) -> bool:
            return bool(domains(pattern_text).suffix)

    engine = SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}  # type: ignore[assignment, unused-ignore]
    names = ("CreditCard", "Crypto", "Date", "Iban", "Ip", "Phone", "Url", "UsSsn", "UsBank")
    chosen = [getattr(recognizers, f"{name}Recognizer")() for name in names]
    registry = RecognizerRegistry(recognizers=[OfflineEmail(), *chosen])
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])

    def scrub(text: str) -> str:
        found = analyzer.analyze(text, language="en")
        return replaced(text, [(r.start, r.end, r.entity_type, r.score) for r in found])

    return scrub


def replaced(text: str, findings: Sequence[tuple[int, int, str, float]]) -> str:
    """The text with `<KIND>` for each finding (start, end, kind, score); of findings that overlap
    the surest wins, then the longest, and all of their text goes.

    >>> replaced("mail a@b.org now", [(5, 12, "EMAIL", 1.0), (7, 12, "URL", 0.5)])
    'mail <EMAIL> now'
    """
    joined: list[list[tuple[int, int, str, float]]] = []
    for finding in sorted(findings):
        if joined and finding[0] < max(other[1] for other in joined[-1]):
            joined[-1].append(finding)
        else:
            joined.append([finding])
    parts, end = [], 0
    for group in joined:
        start, stop = group[0][0], max(other[1] for other in group)
        kind = max(group, key=lambda f: (f[3], f[1] - f[0], f[2]))[2]
        parts += [text[end:start], f"<{kind}>"]
        end = stop
    return "".join([*parts, text[end:]])


# By name: what makes one, or raises ImportError where its library is not installed.
SCRUBBERS: dict[str, Callable[[], Scrub]] = {"scrubadub": _scrubadub, "presidio": _presidio}
