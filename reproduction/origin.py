"""What a number depends on besides seed and data: the source's commit, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def commit() -> str:
    """The commit of the source tree this runs from, with "+" where it was changed; else version."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        tracked = git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(
            tracked and git("status", "--porcelain", "--untracked-files=no", "--", str(here.parent))
        )
    except (OSError, subprocess.CalledProcessError):
        from importlib.metadata import version

        return f"version {version('inkblur')}"


def machine() -> str:
    """Processor, cores and the versions that numbers depend on; no name, no path."""
    import numpy
    import scipy

    return (
        f"{_processor()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
