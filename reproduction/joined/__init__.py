"""Experiments with a metric that knows the task: word vectors joined with label profiles."""
