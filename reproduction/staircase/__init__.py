"""What the staircase mechanism reaches, measured: `python -m reproduction.staircase`."""
