"""Do our classifiers reach the Mahalanobis paper's scores on texts as they are (section 5.2)?

Disaster tweets by fastText from pretrained vectors, and SMS spam by a bag of words: 70 % of the
texts to train on, 30 % to score, three splits. Needs the folder that INKBLUR_DATA names, and a file
of word vectors:

    python benchmarks/label_baselines.py glove.ink
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

import inkblur
from inkblur.evaluation import label_answers, make_dataset
from reproduction.corpora import disaster_tweets, sms_spam

SEEDS = (1, 2, 3)


def main(vectors: str) -> None:
    """Print accuracy, and precision and recall of disasters and of spam, beside the paper's."""
    table = inkblur.load_embedding(vectors)
    print(f"{'mean of ' + str(len(SEEDS)) + ' splits':32} accuracy precision recall")
    for corpus, label, models, paper in (
        (disaster_tweets(), "1", ("fasttext", "svm"), (0.78, 0.78, 0.69)),
        (sms_spam(), "spam", ("naive-bayes", "svm"), (0.99, 0.92, 0.99)),
    ):
        show(f"{corpus.name}, the paper", paper)
        for model in models:
            rows = []
            for seed in SEEDS:
                data = make_dataset(corpus.texts, labels=corpus.labels, test_share=0.3, seed=seed)
                train, test = data.train, data.test
                said = label_answers(
                    train.texts, [str(name) for name in train.labels],
                    test.texts, [str(name) for name in test.labels],
                    model=model, seed=seed, embedding=table,
                )  # fmt: skip
                precision, recall = precision_recall_fscore_support(
                    said.truth, said.answers, labels=[label]
                )[:2]
                rows.append((accuracy_score(said.truth, said.answers), precision[0], recall[0]))
            show(f"{corpus.name}, {model}", np.mean(rows, axis=0))


def show(name: str, numbers: Iterable[float]) -> None:
    """One line of the table."""
    print(f"{name:32} {' '.join(f'{number:8.3f}' for number in numbers)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
