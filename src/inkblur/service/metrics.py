"""Counts for Prometheus: routes, sizes and times, never a text, an id or a caller's name."""

from __future__ import annotations

import math
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

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

    def text(self, *, coarse: bool) -> bytes:
        """The page that Prometheus reads; `coarse` where its counts are of several callers."""
        if not coarse:
            return generate_latest(self._registry)
        rounded = CollectorRegistry()
        rounded.register(_Coarse(self._registry))
        return generate_latest(rounded)


class _Coarse(Collector):
    """Every figure as the power of two below it, and nothing of when it was first counted."""

    def __init__(self, exact: CollectorRegistry) -> None:
        self._exact = exact

    def collect(self) -> Iterator[Metric]:
        for family in self._exact.collect():
            family.samples = [
                sample._replace(value=math.ldexp(0.5, math.frexp(sample.value)[1]))
                if sample.value
                else sample
                for sample in family.samples
                if not sample.name.endswith("_created")
            ]
            yield family
