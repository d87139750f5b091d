"""Where results that can be computed again are kept between runs."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """The user's cache folder for Inkblur: on Linux `$XDG_CACHE_HOME/inkblur`."""
    return user_cache_path("inkblur", appauthor=False)
