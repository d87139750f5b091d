"""Blur texts inside a scikit-learn pipeline: train a classifier on what you would publish."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import inkblur

texts = ["the soup was cold and the waiter rude", "a lovely warm soup and a kind waiter"] * 20
labels = ["bad", "good"] * 20

private = inkblur.TextPrivatizer(mechanism="staircase", epsilon=8.0)
model = make_pipeline(private, TfidfVectorizer(), LogisticRegression())
model.fit(texts, labels)
print(f"accuracy on its own blurred texts: {model.score(texts, labels):.2f}")
print(model[0].guarantee.sentence())
