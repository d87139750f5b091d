"""Counts for Prometheus: routes, sizes and times, never a text, an id or a caller's name."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """What one server counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "inkblur_requests", "Answers", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "inkblur_request_seconds",
            "Time to answer",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.waiting = Gauge(
            "inkblur_requests_in_progress", "Requests accepted", registry=self._registry
        )
        self.texts = Counter("inkblur_texts_released", "Texts", registry=self._registry)
        self.words = Counter("inkblur_words_released", "Words drawn", registry=self._registry)
        self.batch = Histogram(
            "inkblur_requests_a_batch",
            "Requests drawn together",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self._registry,
        )

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self._registry)
