"""Rows for the benchmarks of incremental learning."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks.quality_split import load_split, tfidf
from vicinal import datasets
from vicinal._core.arrays import Csr, Features
from vicinal._core.validation import as_csr
from vicinal.datasets.generated import zipf_rows


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows to start from, and rows that come one by one.

    Parameters
    ----------
    name : str
    X : ndarray or csr_array
    Y : csr_array
    n_first : int
        Rows to start from.
    bar : str
        How long learning a row may take.
    metric : str
    """

    name: str
    X: Features
    Y: Csr
    n_first: int
    bar: str = ""
    metric: str = "cosine"

    def row(self, number: int) -> tuple[Features, Csr]:
        """Return a row that comes later, the first of them again when they are used up."""
        place = self.n_first + number % (self.X.shape[0] - self.n_first)
        return self.X[place : place + 1], self.Y[place : place + 1]


def debtags(n_first: int = 24_231) -> Stream:
    """Return the embedded data set: 30,300 rows of 27,005 words, 527 labels."""
    data = datasets.load("debtags")
    is_whole = n_first == 24_231
    name = "debtags" if is_whole else f"debtags, {n_first:,} rows"
    X, Y = sparse.csr_array(data.X), sparse.csr_array(data.Y)
    return Stream(name, X, Y, n_first, "3 ms" if is_whole else "")


def emotions() -> Stream:
    """Return the songs of emotions: 593 dense rows of 72 numbers, 6 labels."""
    data = datasets.load("emotions")
    X = data.X.toarray() if isinstance(data.X, sparse.csr_array) else data.X
    return Stream("emotions (dense)", X, sparse.csr_array(data.Y), 391, metric="euclidean")


def many_labels(is_weighted: bool = False) -> Stream:
    """Return yso-finna-en: 345,252 texts and 10,000 more, 24,953 labels; counts or tf-idf."""
    split = load_split("yso-finna-en")
    both = [as_csr(split.X), as_csr(split.X_test)]
    parts = tfidf(split.X, [split.X_test]) if is_weighted else both
    X, Y = (sparse.csr_array(sparse.vstack(each)) for each in (parts, [split.Y, split.Y_test]))
    return Stream("yso-finna-en", X, Y, split.X.shape[0], "20 ms")


def zipf(n_rows: int, n_features: int, n_labels: int = 1_000) -> Stream:
    """Return the binary rows of the search benchmarks, and labels drawn in the same way.

    Features follow Zipf's law in Mandelbrot's form, 43 per row on average; a quarter of the rarer
    ones belong to the topic of the row (:func:`vicinal.datasets.generated.zipf_rows`). The most
    frequent one is in about 4 of 10 rows. Rows carry 3 labels.
    """
    total = n_rows + 2_000
    X = zipf_rows(total, n_features, seed=1)
    Y = zipf_rows(total, n_labels, seed=2, mean_size=3).astype(np.int32)
    return Stream(f"generated binary {n_rows:,} × {n_features:,}", X, Y, n_rows, "20 ms")


def debtags_like(n_rows: int, seed: int = 0) -> Stream:
    """Return rows of debtags with a tenth of their words replaced, in random order."""
    known = debtags()
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, known.X.shape[0], size=n_rows + 1_000)
    X = sparse.csr_array(known.X[chosen])
    moved = rng.random(X.nnz) < 0.1
    columns = X.indices.copy()
    columns[moved] = rng.choice(columns, size=int(moved.sum()))
    shuffled = sparse.csr_array((X.data, columns, X.indptr), shape=X.shape)
    shuffled.sum_duplicates()
    return Stream("debtags-like", shuffled, known.Y[chosen], n_rows)
