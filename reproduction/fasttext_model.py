"""fastText as a classifier of labels: `pip install "fasttext-numpy2>=0.10,<1"`.

fastText reads its training texts from a file and its starting vectors from another. Both are
written into a folder that only the owner can read and that is gone when the training is over.

Every word gets a starting vector here, also where nothing was pretrained. Left to itself, fastText
with one thread fills only the first tenth of its table (`DenseMatrix::uniform` of 0.9.2) and
learns from whatever the memory held, which ends in "Encountered NaN" or in another result each run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inkblur import Embedding
from inkblur.errors import InputError
from reproduction.arrays import NULL_ID

_END_OF_LINE = "</s>"  # fastText counts the end of a text as a word
_DIMENSION = 100  # fastText's own, where no vectors are given
_EPOCHS, _RATE = 25, 0.5  # from random vectors: its defaults (5, 0.1) are for far more texts
# From pretrained vectors: its default passes and rate were best of six pairs on a part of the
# tweets' training part (one split: accuracy 0.81, against 0.78 with the values above). Smaller
# collections get more passes, as many as read this many texts; that part was not tuned.
_READ, _LEAST_EPOCHS, _FINE_RATE = 25_000, 5, 0.1


def fasttext_labels(
    train: Sequence[Sequence[str]],
    labels: Sequence[str],
    test: Sequence[Sequence[str]],
    *,
    seed: int,
    embedding: Embedding | None = None,
    epochs: int | None = None,
    rate: float | None = None,
) -> list[str]:
    """The label of each test text; texts are lists of words.

    `epochs` passes at learning rate `rate`; left out, they follow from the number of texts.

    Words of `embedding` start at their vectors, others at small random ones. One thread, because
    two make the result differ from run to run. A text without any word gets the commonest label.
    """
    try:
        import fasttext
    except ImportError:
        raise InputError("fastText is missing: pip install fasttext-numpy2") from None
    names = sorted(set(labels))
    codes = {name: code for code, name in enumerate(names)}  # labels may hold spaces
    commonest = max(names, key=lambda name: (sum(label == name for label in labels), name))
    with tempfile.TemporaryDirectory(prefix="inkblur-") as folder:
        texts = Path(folder, "train.txt")
        with texts.open("w", encoding="utf-8") as file:
            for words, label in zip(train, labels, strict=True):
                file.write(f"__label__{codes[label]} {' '.join(words)}\n")
        vectors = Path(folder, "vectors.vec")
        dimension = _DIMENSION if embedding is None else embedding.dimension
        usual = (_EPOCHS, _RATE)
        if embedding is not None:
            usual = (max(_LEAST_EPOCHS, _READ // len(train)), _FINE_RATE)
        _write(vectors, train, dimension, embedding, seed)
        model = fasttext.train_supervised(
            input=str(texts),
            dim=dimension,
            pretrainedVectors=str(vectors),
            epoch=usual[0] if epochs is None else epochs,
            lr=usual[1] if rate is None else rate,
            thread=1,
            seed=seed % (1 << 31),
            verbose=0,
        )
    answers = []
    for words in test:
        found, _ = model.predict(" ".join(words)) if words else ((), ())
        answers.append(names[int(found[0].removeprefix("__label__"))] if found else commonest)
    return answers


def _write(
    path: Path,
    train: Sequence[Sequence[str]],
    dimension: int,
    embedding: Embedding | None,
    seed: int,
) -> None:
    """A starting vector for every word that occurs, in the text format of word2vec."""
    words = [_END_OF_LINE, *sorted({word for words in train for word in words})]
    start = np.random.default_rng(seed).uniform(-1, 1, (len(words), dimension)) / dimension
    if embedding is not None:
        ids = embedding.ids(words)
        start[ids != NULL_ID] = embedding.vectors[ids[ids != NULL_ID]]
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {dimension}\n")
        for word, row in zip(words, start.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{number:.6g}' for number in row)}\n")
