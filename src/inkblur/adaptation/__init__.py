"""Word vectors whose metric knows a task."""
