"""Experiments with a metric that knows the task: word vectors and label profiles side by side."""
