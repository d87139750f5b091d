"""What else does a metric that knows the task allow, and does any of it win?

Each variant of `[alpha x word vector ; beta x label profile]` runs at several noise levels; what is
compared is the topic accuracy left where Koppel's attack names a given share of the authors. Topics
are those of 20 Newsgroups, authors those of Reuters C50; content words, GloVe's 30,000 most
frequent words, as in the experiment adapted/frontier. Noise comes from PyTorch's generator and the
search is float32: this compares variants, it releases nothing.

    python benchmarks/adapted_metric.py prepare adapted.npz        (needs INKBLUR_DATA)
    python benchmarks/adapted_metric.py run adapted.npz --runs 5 --json adapted.jsonl

The second step takes some five minutes on one H200 with 16 cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 30_000
KNOWN = 20  # texts an author that the adaptive attacker releases
BETA = 3.0
LEVELS = (0.25, 0.15)  # attack success at which variants are compared
NOISE = (0.13, 0.17, 0.22, 0.28)  # a coordinate's noise, as a share of the words' own spread
HALVES = 40  # of Koppel's attack: fewer than its 100, for there are thousands of attacks


def prepare(out: Path) -> None:
    """Tokens as numbers, so that the second step needs neither the data folder nor a tokenizer."""
    from inkblur.evaluation import content_words
    from reproduction.corpora import Corpus
    from reproduction.datasets import Datasets
    from reproduction.newsgroups import stripped

    datasets = Datasets()
    words = datasets.glove.words[:WORDS]
    place = {word: number for number, word in enumerate(words)}

    def tokens(name: str, texts: Sequence[str]) -> dict[str, Any]:
        ids = [[place.get(word, -1) for word in content_words(text)] for text in texts]
        return {
            name: np.array([number for text in ids for number in text], np.int32),
            f"{name}_sizes": np.array([len(text) for text in ids], np.int32),
        }

    def bare(corpus: Corpus) -> list[str]:
        return [stripped(text) for text in corpus.texts]

    groups, c50 = datasets.newsgroups, datasets.c50
    unknown = c50.test.first_of_each_author(10)
    number = {label: i for i, label in enumerate(sorted(set(groups.train.labels or ())))}
    np.savez_compressed(
        out,
        words=np.array(words),
        vectors=datasets.glove.vectors[:WORDS].astype(np.float16),
        **tokens("taught", bare(groups.train)),
        taught_labels=np.array([number[label] for label in groups.train.labels or ()]),
        taught_authors=np.asarray(groups.train.authors),
        **tokens("asked", bare(groups.test)),
        asked_labels=np.array([number[label] for label in groups.test.labels or ()]),
        **tokens("studied", c50.train.texts),
        studied_authors=np.asarray(c50.train.authors),
        **tokens("unknown", unknown.texts),
        unknown_authors=np.asarray(unknown.authors),
    )


class Attackers:
    """Koppel's attack on token numbers, in a process of its own."""

    def __init__(self, file: Path) -> None:
        data = np.load(file)
        self.words = data["words"].astype(object)
        self.studied, self.unknown = data["studied_authors"], data["unknown_authors"]
        self.sizes = data["unknown_sizes"]
        texts = self._written(data["studied"], data["studied_sizes"])
        self._static = [self._fitted(texts, self.studied, w) for w in ("share", "log-tf-idf")]

    def success(self, unknown: Any, known: Any, sizes: Any, authors: Any) -> dict[str, float]:
        """Share of the unknown texts whose author is named, by the static and the adaptive one."""
        texts = self._written(unknown, self.sizes)
        adaptive = self._fitted(self._written(known, sizes), authors, "log-tf-idf")
        return {
            "static": max(self._share(attack.predict(texts)) for attack in self._static),
            "adaptive": self._share(adaptive.predict(texts)),
        }

    def _written(self, ids: Any, sizes: Any) -> list[str]:
        parts = np.split(ids, np.cumsum(sizes)[:-1])
        return [" ".join(self.words[part[part >= 0]]) for part in parts]

    @staticmethod
    def _fitted(texts: list[str], authors: Any, weighting: str) -> Any:
        from inkblur.evaluation import Koppel

        return Koppel(seed=1, similarity="cosine", weighting=weighting, halves=HALVES).fit(
            texts, authors
        )

    def _share(self, answers: Any) -> float:
        return float((answers == self.unknown).mean())


_attackers: Attackers


def _begin(file: Path) -> None:
    global _attackers
    _attackers = Attackers(file)


def _attack(*arguments: Any) -> dict[str, float]:
    return _attackers.success(*arguments)


@dataclass(frozen=True)
class Variant:
    """One way to make a space, to shape the noise in it and to decode."""

    name: str
    space: Any  # (words, dimension) tensor
    noise: tuple[float, ...] = NOISE
    shaped: bool = False  # noise by the space's covariance (Mahalanobis, lambda 1)
    own_metric: bool = False  # decode by the shaped noise's own metric
    outputs: Any = None  # ids that may come out; None: all
    prior: Any = None  # added to the log-likelihood of every word that may come out


@dataclass
class Study:
    """The collections on the device, and what the variants are made of."""

    file: Path
    torch: Any
    device: str
    data: Any = field(init=False)

    def __post_init__(self) -> None:
        torch, device = self.torch, self.device
        self.data = np.load(self.file)
        self.vectors = torch.tensor(self.data["vectors"].astype(np.float32), device=device)
        counts = self.counts("taught")
        self.frequency = torch.tensor(counts.sum(axis=0).A1, dtype=torch.float32, device=device)
        self.seen = self._by_label(counts > 0)  # texts of a label that have a word
        self.often = self._by_label(counts)  # occurrences under a label
        rows = self.data["studied_authors"]
        self.known = np.concatenate([np.flatnonzero(rows == a)[:KNOWN] for a in np.unique(rows)])
        self.parts = ("asked", "unknown", "known")
        self.tokens = {
            "asked": self.data["asked"],
            "unknown": self.data["unknown"],
            "known": self._rows("studied", self.known),
        }
        used = np.concatenate([ids[ids >= 0] for ids in self.tokens.values()])
        shares = np.bincount(used, minlength=WORDS) / len(used)
        self.shares = torch.tensor(shares, dtype=torch.float32, device=device)

    def counts(self, part: str, ids: Any = None) -> Any:
        """(texts, words) as a sparse matrix with matrix sums."""
        from scipy.sparse import csr_matrix

        ids = self.data[part] if ids is None else ids
        sizes = self.data[f"{part}_sizes"]
        rows = np.repeat(np.arange(len(sizes)), sizes)
        kept = ids >= 0
        return csr_matrix((np.ones(kept.sum()), (rows[kept], ids[kept])), (len(sizes), WORDS))

    def _rows(self, part: str, rows: Any) -> Any:
        pieces = np.split(self.data[part], np.cumsum(self.data[f"{part}_sizes"])[:-1])
        return np.concatenate([pieces[row] for row in rows])

    def _by_label(self, counts: Any) -> Any:
        labels = self.data["taught_labels"]
        sums = [counts[labels == label].sum(axis=0).A1 for label in np.unique(labels)]
        return np.stack(sums, axis=1)

    def profile(self, smoothing: float, counts: Any = None) -> Any:
        """Centered log-odds of the labels, as in inkblur.adaptation.profiles."""
        from scipy.linalg import helmert

        found = self.seen if counts is None else counts
        labels = found.shape[1]
        share = found.sum(axis=0) / found.sum()
        odds = np.log(
            (found + smoothing * labels * share)
            / ((found.sum(axis=1, keepdims=True) + smoothing * labels) * share)
        )
        return self.torch.tensor((odds @ helmert(labels).T).astype(np.float32), device=self.device)

    def author_directions(self, strength: float) -> Any:
        """A map of word vectors that shrinks what tells public newsgroup authors apart."""
        torch = self.torch
        counts = self.counts("taught")
        means = counts @ self.vectors.cpu().numpy() / np.maximum(counts.sum(axis=1), 1)
        means, labels = np.asarray(means), self.data["taught_labels"]
        for label in np.unique(labels):
            means[labels == label] -= means[labels == label].mean(axis=0)
        authors, sizes = np.unique(self.data["taught_authors"], return_counts=True)
        frequent = [a for a, n in zip(authors, sizes, strict=True) if a >= 0 and n >= 8]
        of_authors = np.stack(
            [means[self.data["taught_authors"] == author].mean(axis=0) for author in frequent]
        )
        between = of_authors.T @ of_authors
        between *= len(between) / np.trace(between)
        values, axes = np.linalg.eigh(np.eye(len(between)) + strength * between)
        shrink = (axes * values**-0.5) @ axes.T
        return self.vectors @ torch.tensor(shrink.astype(np.float32), device=self.device)


def variants(study: Study) -> Iterator[Variant]:
    """The plain metrics, the adapted one, and everything else that was tried."""
    torch, vectors = study.torch, study.vectors
    usual = study.profile(10.0)

    def join(alpha: float, profile: Any = usual, left: Any = vectors) -> Any:
        return torch.cat([alpha * left, BETA * profile], dim=1)

    yield Variant("word vectors, Laplace", vectors, (0.2, 0.24, 0.28, 0.32))
    yield Variant("word vectors, Mahalanobis", vectors, (0.16, 0.19, 0.22, 0.26), shaped=True)
    for alpha in (3.0, 1.0, 0.3, 0.15, 0.1, 0.05, 0.015):
        noise = (0.17, 0.2, 0.24, 0.28) if alpha > 0.5 else NOISE
        yield Variant(f"adapted, alpha {alpha:g}", join(alpha), noise)
    for smoothing in (0.5, 2.0, 5.0, 20.0, 40.0):
        yield Variant(f"smoothing {smoothing:g}", join(0.1, study.profile(smoothing)))
    yield Variant("profiles by occurrences", join(0.1, study.profile(10.0, study.often)))
    axes = torch.linalg.svd(usual * torch.sqrt(study.shares)[:, None], full_matrices=False)[2].T
    spread = torch.sqrt((study.shares[:, None] * (usual @ axes) ** 2).sum(dim=0))
    weighted = usual @ axes * spread / spread.mean()
    yield Variant(
        "axes weighted by how well they separate", join(0.1, weighted), (0.07, 0.1, 0.14, 0.19)
    )
    for count in (5, 10, 15):
        yield Variant(f"{count} of 19 profile axes", join(0.1, usual @ axes[:, :count]))
    centered = vectors - vectors.mean(dim=0)
    main = torch.linalg.svd(centered, full_matrices=False)[2].T
    for count in (0, 20, 50):
        yield Variant(f"{count} of 300 vector axes", join(0.1, usual, centered @ main[:, :count]))
    shaped = (0.05, 0.07, 0.1, 0.14)
    yield Variant("Mahalanobis noise", join(0.1), shaped, shaped=True)
    yield Variant("Mahalanobis noise, decoded by its own metric", join(0.1), shaped, True, True)
    for count in (1_000, 3_000):
        frequent = torch.topk(study.frequency, count).indices
        yield Variant(f"decoded to {count:,} frequent words", join(0.1), outputs=frequent)
    for weight in (0.1, 0.3, 1.0):
        prior = weight * torch.log(study.frequency + 1)
        yield Variant(f"decoded with {weight:g} x log frequency", join(0.1), prior=prior)
    for strength in (3.0, 30.0):
        left = study.author_directions(strength)
        yield Variant(f"author directions shrunk, strength {strength:g}", join(0.1, usual, left))


def draw(study: Study, variant: Variant, epsilon: float, generator: Any, ids: Any) -> Any:
    """Noisy vectors of these words, decoded."""
    torch, space = study.torch, variant.space
    dimension = space.shape[1]
    null = space.mean(dim=0)
    root = unroot = None
    if variant.shaped:
        about = space - null
        covariance = (about.T @ about).double()
        values, axes = torch.linalg.eigh(covariance * dimension / torch.trace(covariance))
        values = values.clamp(min=1e-9)
        root = ((axes * values**0.5) @ axes.T).float()
        unroot = ((axes * values**-0.5) @ axes.T).float()
    seen_as = unroot if variant.own_metric else None
    outputs = space if variant.outputs is None else space[variant.outputs]
    outputs = outputs @ seen_as if seen_as is not None else outputs
    half = (outputs**2).sum(dim=1) / 2
    found = []
    for part in torch.split(torch.tensor(ids, dtype=torch.int64, device=study.device), 1 << 14):
        centers = torch.where((part >= 0)[:, None], space[part.clamp(min=0)], null)
        noise = torch.randn(centers.shape, generator=generator, device=study.device)
        noise /= noise.norm(dim=1, keepdim=True)
        shape = torch.full((len(part), 1), float(dimension), device=study.device)
        radius = torch._standard_gamma(shape, generator=generator) / epsilon
        noisy = centers + radius * (noise if root is None else noise @ root)
        noisy = noisy @ seen_as if seen_as is not None else noisy
        scores = noisy @ outputs.T - half
        if variant.prior is not None:
            squares = (noisy**2).sum(dim=1, keepdim=True) - 2 * scores
            scores = variant.prior - epsilon * torch.sqrt(squares.clamp(min=0))
        best = scores.argmax(dim=1)
        found.append(best if variant.outputs is None else variant.outputs[best])
    return torch.cat(found).cpu().numpy()


def analyst(study: Study) -> Callable[[Any], float]:
    """A linear SVM on tf-idf that learned from true postings; gives its accuracy on others."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    machine = make_pipeline(TfidfTransformer(), LinearSVC(C=1.0, random_state=1))
    machine.fit(study.counts("taught"), study.data["taught_labels"])
    truth = study.data["asked_labels"]
    return lambda ids: float((machine.predict(study.counts("asked", ids)) == truth).mean())


def run(file: Path, runs: int, out: Path | None) -> None:
    """Every variant at every noise level, so many times; then the table."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    study = Study(file, torch, device)
    generator = torch.Generator(device=device).manual_seed(1)
    told = analyst(study)
    untouched = told(study.data["asked"])
    cut = np.cumsum([len(study.tokens[part]) for part in study.parts])[:-1]
    ids = np.concatenate([study.tokens[part] for part in study.parts])
    sizes = study.data["studied_sizes"][study.known]
    authors = study.data["studied_authors"][study.known]
    context = multiprocessing.get_context("spawn")
    jobs: list[tuple[dict[str, Any], Future[dict[str, float]]]] = []
    with ProcessPoolExecutor(mp_context=context, initializer=_begin, initargs=(file,)) as pool:
        for variant in variants(study):
            middle = (study.shares[:, None] * variant.space).sum(dim=0)
            squares = (study.shares * ((variant.space - middle) ** 2).sum(dim=1)).sum()
            spread = float(torch.sqrt(2 * squares))
            for noise in variant.noise:
                epsilon = variant.space.shape[1] ** 0.5 / (spread * noise)
                for number in range(runs):
                    drawn = draw(study, variant, epsilon, generator, ids)
                    asked, unknown, known = np.split(drawn, cut)
                    row = {
                        "variant": variant.name,
                        "epsilon": epsilon,
                        "run": number,
                        "unchanged": float((unknown == study.tokens["unknown"]).mean()),
                        "left": told(asked) / untouched,
                    }
                    jobs.append((row, pool.submit(_attack, unknown, known, sizes, authors)))
        rows = [{**row, **job.result()} for row, job in jobs]
    if out is not None:
        out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"untouched topic accuracy {untouched:.3f}\n")
    print(table(rows))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Topic left at equal attack, best first, with 95 % intervals over the runs."""
    from reproduction.attack_vs_label import at_attack
    from reproduction.estimate import Estimate

    lines = []
    for name in dict.fromkeys(row["variant"] for row in rows):
        cells = []
        for attacker in ("static", "adaptive"):
            for level in LEVELS:
                values = []
                for number in sorted({row["run"] for row in rows}):
                    mine = [r for r in rows if r["variant"] == name and r["run"] == number]
                    attacks = [
                        r["static"] if attacker == "static" else max(r["static"], r["adaptive"])
                        for r in mine
                    ]
                    left = at_attack(
                        [np.array([attack]) for attack in attacks],
                        [np.array([r["left"]]) for r in mine],
                        level,
                    )
                    values.append(float("nan") if left is None else float(left[0]))
                cells.append(Estimate.of_runs(values))
        lines.append((cells[1].value, name, cells))
    lines.sort(key=lambda line: -np.nan_to_num(line[0]))
    heads = [f"{who} {level:.0%}" for who in ("static", "worse of both") for level in LEVELS]
    text = [f"| variant | {' | '.join(heads)} |", "|---|---:|---:|---:|---:|"]
    for _, name, cells in lines:
        shown = (
            "-" if np.isnan(c.value) else f"{c.value:.1%} ({c.low:.1%} to {c.high:.1%})"
            for c in cells
        )
        text.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(text)


def main() -> None:
    """Prepare or run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if asked.what == "prepare":
        prepare(asked.file)
    else:
        run(asked.file, asked.runs, asked.json)


if __name__ == "__main__":
    main()
