"""`python -m inkblur`: the command line."""

from __future__ import annotations

from inkblur.cli import main

if __name__ == "__main__":
    main()
