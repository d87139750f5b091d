"""Releasing a source without a spec, an account or a file that describes it."""

from __future__ import annotations

import time
from typing import Any

from inkblur.files import run as running
from inkblur.files.doors import Sink
from inkblur.files.records import Source
from inkblur.files.summary import RunSummary, summarize
from inkblur.release import Columns, Release
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec


def run(
    source: Source, sink: Sink, made: Any, rng: Rng, *, skip_public: bool = False, **options: Any
) -> RunSummary:
    """What `made` releases of all records of `source`, in `sink`."""
    spec = ReleaseSpec(epsilon=1.0, skip_public=skip_public)
    began, layout = time.perf_counter(), source.layout
    columns = Columns(source.layout.columns, layout.id_column, layout.person_column)
    stream = Release(made, rng, spec).stream(columns)
    running.run(stream, source, sink, **options)
    shows = source.shows(hides_length=made.hides_length)
    names = source.copied, source.not_copied
    return summarize(stream, *names, shows, time.perf_counter() - began)
